/*
 * The watchdog: tells of tasks that run for long, and of a pool that does not get on.
 *
 * It costs the workers nothing, for it measures no task: the clock thread looks twice in the time
 * given. A task that it sees, and sees again so much later, has been running for so long at least.
 * A task is known by its ticket, since its block may be another's by then; of two that share one,
 * a task and its heir, one follows the other at once. Two attempts at one task are not told apart.
 * What a task is, is copied while the pool is watched (census.h), by the role's holder.
 *
 * Progress is seen without the role, which may just be what is stuck: in the sum of tasks that have
 * finished, and in what each thread runs. Two looks that find the same have nothing between them.
 *
 * Moments are taken to the watchdog's disadvantage: a task was seen before the moment that is
 * written down, and seen again after the moment that it is compared with.
 */
#ifndef LANEPOOL_SRC_OBSERVE_WATCHDOG_H
#define LANEPOOL_SRC_OBSERVE_WATCHDOG_H

#include "route/census.h"
#include "sched/thread_record.h"

/* All of it is the clock thread's, once that has begun. A look that is due at 0 is due at once. */
typedef struct lanepool_i_watchdog {
    lanepool_i_vector running; /* tasks that ran at the last look, by ticket */
    uint64_t slow_look_ns;     /* the next look at what runs is due */
    uint64_t stall_look_ns;    /* the next look at the progress */
    uint64_t finished;         /* tasks, at the last look */
    uint64_t still_since_ns;   /* nothing has moved since, or nothing needed to */
    bool stall_told;           /* of what has not moved since */
} lanepool_i_watchdog;

/* Before the workers: the clock thread, if the options ask for a watchdog. */
lanepool_status lanepool_i_watchdog_start(lanepool_pool *pool);
void lanepool_i_watchdog_fini(lanepool_i_watchdog *watchdog);

/* Clock thread, holding nothing: looks if it is time to; returns when it will be next. */
uint64_t lanepool_i_watchdog_look(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
