/*
 * The watch over blocks of tasks that finish while a census is taken; see census.h.
 */
#ifndef LANEPOOL_SRC_ROUTE_WATCH_H
#define LANEPOOL_SRC_ROUTE_WATCH_H

#include "sched/thread_record.h"

/* The pool's word about it. */
#define LANEPOOL_I_WATCHED       1u /* blocks of finished tasks are kept */
#define LANEPOOL_I_NO_MEMBARRIER 2u /* always: who finishes a task must order its looks itself */

/* Guard: A atomic. */
typedef struct lanepool_i_watch {
    _Atomic uint32_t word;           /* A: R writes */
    _Atomic(lanepool_i_task *) kept; /* A: finished, linked through their second entry's place */
} lanepool_i_watch;

void lanepool_i_watch_init(lanepool_i_watch *watch, bool has_barrier);

/* Whoever has finished a task: true, the block is kept, and is not the caller's any more. */
bool lanepool_i_watch_keeps(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task);

/* Role's holder: from here on blocks are kept; and the end of that: those that were. */
void lanepool_i_watch_begin(lanepool_i_watch *watch);
lanepool_i_task *lanepool_i_watch_end(lanepool_i_watch *watch);
/* The next of them. */
lanepool_i_task *lanepool_i_watch_next(lanepool_i_task *kept);

#endif
