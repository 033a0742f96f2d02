/*
 * Held lanes. A handle stands for its key from the start, and for the lane
 * itself from the first time that the router meets it; from then until its
 * release the lane is not swept. The release is a message in the inbox: tasks
 * submitted with the handle before it are routed before it.
 *
 * The key stays as it was made until the release, bytes included, so that tasks
 * which ask by a handle compare keys, on their own threads, whether the router has
 * met it or is just meeting it. If the lane was made for the handle it has taken
 * its bytes over, and keeps them for as long as it is held.
 */
#ifndef LANEPOOL_SRC_ROUTE_LANE_HANDLE_H
#define LANEPOOL_SRC_ROUTE_LANE_HANDLE_H

#include "route/router.h"

/* Guards: I immutable, R role's holder. */
struct lanepool_lane {
    lanepool_i_message message;   /* the release */
    lanepool_pool *pool;          /* I */
    lanepool_i_lane_quota *quota; /* I: the key's, kept; NULL: lanes have no limits */
    lanepool_i_key key;           /* I */
    lanepool_i_lane *lane;        /* R: NULL until the router meets it */
    bool has_own_bytes;           /* R: the key's are not the lane's */
};

/* Role's holder: the lane that a handle stands for. */
lanepool_i_lane *lanepool_i_handle_lane(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_lane *handle);

#endif
