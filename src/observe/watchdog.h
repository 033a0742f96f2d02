/*
 * The watchdog: reports tasks that run for long, and a pool without progress.
 *
 * The watchdog costs the workers nothing, because it does not time tasks. Instead the clock thread
 * checks twice within the limit. A task found running by two checks has been running at least for
 * the time between them.
 *
 * A task is recognized by its ticket, since its block may belong to another task by the next check.
 * A giver and a receiver share a ticket, but the receiver starts as soon as the giver has ended.
 * Two attempts of one task count as one run. The role's holder copies the description of each task
 * while finished blocks are retained (census.h).
 *
 * Progress is checked without the role, because the role's holder may be what is stuck. The check
 * compares the number of finished tasks and what each thread runs. If neither has changed since the
 * last check, the pool has made no progress.
 *
 * Measured times are never too long. A task was found running before the moment that is stored, and
 * found again after the moment that is compared with it.
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
    uint64_t still_since_ns;   /* the last check that found progress, or nothing pending */
    bool stall_reported;       /* the present stall has been reported */
} lanepool_i_watchdog;

/* Starts the clock thread if the options ask for a watchdog. Called before the workers start. */
lanepool_status lanepool_i_watchdog_start(lanepool_pool *pool);
void lanepool_i_watchdog_fini(lanepool_i_watchdog *watchdog);

/* Clock thread, holding no lock: runs the checks that are due, and returns when the next one is
 * due; UINT64_MAX if none is. */
uint64_t lanepool_i_watchdog_look(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
