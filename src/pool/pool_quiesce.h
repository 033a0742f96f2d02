/*
 * Quiescing: waiting for what was accepted before, while later tasks go on.
 *
 * Time is cut into epochs. A quiesce is a message in the inbox; when it is
 * routed a new epoch begins, and the quiesce is done when every epoch before
 * it is: as many tasks of it have finished as were routed. The counters of
 * LANEPOOL_I_EPOCHS epochs are kept; while the oldest of them is not done no
 * further epoch can begin, and a quiesce then waits for some later tasks too.
 *
 * Epochs are numbered from 0; counters are used in turn and never reset.
 */
#ifndef LANEPOOL_SRC_POOL_POOL_QUIESCE_H
#define LANEPOOL_SRC_POOL_POOL_QUIESCE_H

#include "route/router.h"

typedef struct lanepool_i_quiesce lanepool_i_quiesce;

/* Guard: R role's holder. */
typedef struct lanepool_i_quiesces {
    lanepool_i_quiesce *first; /* R: those that are not done */
    uint64_t oldest;           /* R: the oldest epoch that is not done */
} lanepool_i_quiesces;

/* Role's holder: nothing goes on any more by itself; tells those that wait. */
void lanepool_i_quiesce_notify_parked(lanepool_pool *pool);
/* Role's holder: ends those that are done. */
void lanepool_i_quiesce_look(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
