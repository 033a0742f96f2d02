/*
 * The watch over blocks of tasks that finish while a census is taken; see census.h.
 */
#ifndef LANEPOOL_SRC_ROUTE_RETENTION_H
#define LANEPOOL_SRC_ROUTE_RETENTION_H

#include "sched/thread_record.h"

/* The pool's word about it. */
#define LANEPOOL_I_RETAINING     1u /* blocks of finished tasks are kept */
#define LANEPOOL_I_NO_MEMBARRIER 2u /* always: who finishes a task must order its looks itself */

/* Guard: A atomic. */
typedef struct lanepool_i_retention {
    _Atomic uint32_t word;            /* A: R writes */
    _Atomic(lanepool_i_task *) first; /* A: finished, linked through their second entry's place */
} lanepool_i_retention;

void lanepool_i_retention_init(lanepool_i_retention *retention, bool has_barrier);

/* Whoever has finished a task: true, the block is kept, and is not the caller's any more. */
bool lanepool_i_retain_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task);

/* Role's holder: from here on blocks are kept; and the end of that: those that were. */
void lanepool_i_retention_begin(lanepool_i_retention *retention);
lanepool_i_task *lanepool_i_retention_end(lanepool_i_retention *retention);
/* The next of them. */
lanepool_i_task *lanepool_i_retention_next(lanepool_i_task *retained);

#endif
