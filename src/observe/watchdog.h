/*
 * The watchdog: reports tasks that run for long, and a pool without progress.
 *
 * The watchdog costs the workers nothing: the clock thread checks twice within the limit. A task
 * found by two checks has been running at least for the time between them.
 *
 * A task is recognized by its ticket, since its block may be reused. A giver and a receiver share a
 * ticket, and the receiver follows at once. Two attempts of one task count as one run. The role's
 * holder copies each task's description while finished blocks are retained (census.h).
 *
 * Progress is checked without the role, whose holder may be stuck. A pool has made no progress if
 * the number of finished tasks and each thread's task are the same as at the last check.
 *
 * Measured times are never too long: a task was found before the moment stored, and again after the
 * moment compared with it.
 */
#ifndef LANEPOOL_SRC_OBSERVE_WATCHDOG_H
#define LANEPOOL_SRC_OBSERVE_WATCHDOG_H

#include "route/census.h"
#include "sched/thread_record.h"

/* Owned by the clock thread once that has started. A check that is due at 0 is due at once. */
typedef struct lanepool_i_watchdog {
    lanepool_i_vector running; /* tasks that ran at the last check, by ticket */
    uint64_t slow_check_ns;    /* when the next check for slow tasks is due */
    uint64_t stall_check_ns;   /* when the next check for a stall is due */
    uint64_t finished;         /* finished tasks at the last check */
    uint64_t still_since_ns;   /* last check with progress, or nothing pending */
    bool stall_reported;       /* the present stall is reported */
} lanepool_i_watchdog;

/* Starts the clock thread if the options ask for a watchdog; called before the workers start. */
lanepool_status lanepool_i_watchdog_start(lanepool_pool *pool);
void lanepool_i_watchdog_fini(lanepool_i_watchdog *watchdog);

#endif
