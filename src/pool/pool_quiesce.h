/*
 * Quiescing: waiting until everything accepted before has finished, while later tasks run.
 *
 * Tickets are cut into epochs. A quiesce is a message in the inbox. When it is routed, a new epoch
 * begins. The quiesce is done when every earlier epoch is done: as many of its tasks have finished
 * as were routed. A cancelled task counts only when its canceller has called it.
 *
 * There are counters for LANEPOOL_I_EPOCHS epochs. While the oldest of these is not done, no
 * further epoch can begin, and a quiesce waits for some later tasks, too.
 *
 * Epochs are numbered from 0; their counters are used in turn and never reset.
 */
#ifndef LANEPOOL_SRC_POOL_POOL_QUIESCE_H
#define LANEPOOL_SRC_POOL_POOL_QUIESCE_H

#include "base/list.h"
#include "route/router.h"

/* Guard: R role's holder. */
typedef struct lanepool_i_quiesces {
    lanepool_i_list pending; /* R: the quiesces that are not done */
    uint64_t oldest;         /* R: the oldest epoch that is not done */
} lanepool_i_quiesces;

/* Role's holder: notifies all quiesces that only parked tasks are left, and tasks behind them. */
void lanepool_i_quiesce_notify_parked(lanepool_pool *pool);
/* Role's holder: ends the quiesces that are done. */
void lanepool_i_quiesce_check(lanepool_pool *pool);

#endif
