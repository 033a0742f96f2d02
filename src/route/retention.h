/*
 * Retention: while a census is taken, the blocks of tasks that finish are not reused, so that the
 * census can read them.
 *
 * Threads that finish tasks push to the list of retained blocks, which is open only then. Only the
 * role's holder, which takes the census, empties it.
 *
 * A finishing thread removes the task from its list of running tasks (1) and then reads the pool's
 * word (2). The census sets the word (3) and then reads the lists of running tasks (4). No block
 * that the census sees at (4) may be missed at (2). The census pays for the order: between (3) and
 * (4) it calls membarrier(). The barrier in the finishing thread falls before or after (2):
 *   - Before: the thread sees the word at (2), and retains the block.
 *   - After: it also falls after (1), so the census does not see the task at (4).
 * If the system has no membarrier(), the total order of `seq` operations does the same. For that
 * the word is never 0. Finishing threads then always store the head of their list once more, and
 * read whether the list of retained blocks is open, both in the total order.
 */
#ifndef LANEPOOL_SRC_ROUTE_RETENTION_H
#define LANEPOOL_SRC_ROUTE_RETENTION_H

#include "sched/thread_record.h"

/* Bits of the pool's word. */
#define LANEPOOL_I_RETAINING     1u /* blocks of finished tasks are retained */
#define LANEPOOL_I_NO_MEMBARRIER 2u /* never cleared: finishing threads order (1) before (2) */

/* Guard: A atomic. */
typedef struct lanepool_i_retention {
    _Atomic uint32_t word;            /* A: R writes */
    _Atomic(lanepool_i_task *) first; /* A: retained, linked through the links of second entries */
} lanepool_i_retention;

void lanepool_i_retention_init(lanepool_i_retention *retention, bool has_barrier);

/* Called by the thread that has finished a task, if the word is not 0. Returns true if the block is
 * retained; then it is no longer the caller's. */
bool lanepool_i_retain_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task);

/* Role's holder: opens the list. */
void lanepool_i_retention_begin(lanepool_i_retention *retention);
/* Role's holder: closes the list. Returns the first retained block; they are the caller's now. */
lanepool_i_task *lanepool_i_retention_end(lanepool_i_retention *retention);
/* Returns the retained block behind this one, or NULL. */
lanepool_i_task *lanepool_i_retention_next(lanepool_i_task *retained);

#endif
