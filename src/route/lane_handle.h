/*
 * Handles. A handle stands for its key from the start, and for the key's lane from the first time
 * that the router meets the handle. From then until the handle's release the lane is not swept. The
 * release is a message in the inbox: tasks submitted with the handle before are routed before.
 *
 * The key, bytes included, does not change until the release. A running task that names a lane by a
 * handle compares keys, on its own thread, even while the router meets the handle. If the router
 * makes the lane for the handle, the lane takes over the key's bytes. It has them at least as long
 * as the handle exists.
 */
#ifndef LANEPOOL_SRC_ROUTE_LANE_HANDLE_H
#define LANEPOOL_SRC_ROUTE_LANE_HANDLE_H

#include "base/quarantine.h"
#include "route/router.h"

/* Guards: I immutable, R role's holder. */
struct lanepool_lane {
    lanepool_i_message message;   /* the release */
    lanepool_pool *pool;          /* I */
    lanepool_i_lane_quota *quota; /* I: the key's; the handle keeps it alive; or NULL: no limits */
    lanepool_i_key key;           /* I */
    lanepool_i_lane *lane;        /* R: NULL until the router meets the handle */
    bool has_own_bytes;           /* R: the handle frees the key's bytes, not the lane */
#if defined(LANEPOOL_CHECKED)
    lanepool_i_quarantined quarantined; /* I until the end */
#endif
};

/* Role's holder: returns the lane that the handle stands for. */
lanepool_i_lane *lanepool_i_handle_lane(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_lane *handle);

#endif
