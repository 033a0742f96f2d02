/*
 * The end of a task. run.c ends plain tasks that have succeeded, where no feature has room in them;
 * run_end.c ends all others. run.c has the order of the steps.
 */
#ifndef LANEPOOL_SRC_CORE_RUN_END_H
#define LANEPOOL_SRC_CORE_RUN_END_H

#include "base/planted.h"
#include "core/call_record.h"
#include "core/run.h"

/* The parts of a task that are needed after it has left its lanes. */
typedef struct lanepool_i_ending {
    lanepool_future *future;
    lanepool_result result;
    lanepool_i_call_record *call; /* set with RETURNED_WITH_RECORD */
} lanepool_i_ending;

typedef enum lanepool_i_outcome {
    LANEPOOL_I_CALLED,               /* the function is to be called now */
    LANEPOOL_I_PLAIN_SUCCEEDED,      /* a plain task's function has returned 0 */
    LANEPOOL_I_SIMPLE_SUCCEEDED,     /* a simple task's has (task.h); the result is in `ending` */
    LANEPOOL_I_ENDED,                /* the task ends now, with the result in `ending` */
    LANEPOOL_I_ENDED_UNCALLED,       /* as ENDED, and this attempt has not called the function */
    LANEPOOL_I_RETURNED_WITH_RECORD, /* the function has returned; its call has a record */
    LANEPOOL_I_WAS_CANCELLED,        /* the task was cancelled; only its entries are left */
    LANEPOOL_I_VISITS,               /* a cut or a visitor has visits to make */
    LANEPOOL_I_VISIT_ABANDONED       /* a visitor's visit has ended its thread */
} lanepool_i_outcome;

/* Comes after everything else that is done for the task. Release: a thread that adds up the
 * counters sees what the task did. In two cases the store is in the total order:
 *
 * - With an exact limit, a blocked submitter raises `waiting` and then reads the counters; this
 *   thread stores the counter and then reads `waiting`. At least one of them sees the other's
 *   store.
 * - A thread that is not a worker reads `attention` next. Either it sees that the counters are
 *   wanted, or the holder that wants them sees this count. A worker checks again before it sleeps.
 */
static inline void lanepool_i_run_count_finished(lanepool_pool *pool,
                                                 lanepool_i_thread_record *record, uint64_t word)
{
    size_t epoch = (size_t)(word & LANEPOOL_I_EPOCH_MASK) >> LANEPOOL_I_EPOCH_SHIFT;
    _Atomic uint64_t *finished = &record->finished[epoch];
    uint64_t count = load_relaxed(finished) + 1;
    if (lanepool_i_admission_is_exact(&pool->admission) || record->worker == NULL)
        store_seq(finished, count);
    else
        store_release(finished, count);
    lanepool_i_admission_serve_after_finish(&pool->admission);
}

/* `word` is a copy of the task's word, since the block cannot be read after it is given back. */
static inline void lanepool_i_run_give_back(lanepool_pool *pool, lanepool_i_thread_record *record,
                                            lanepool_i_task *task, uint64_t word, size_t class)
{
    /* Read after the task has left the thread's running list; see census.h. */
    if (__builtin_expect(load_seq(&pool->retention.word) == 0, 1) || PLANTED(UNRETAINED) ||
        !lanepool_i_retain_block(pool, record, task))
        lanepool_i_slab_give(&pool->slab, &record->cache, class, task);
    lanepool_i_run_count_finished(pool, record, word);
}

/* Ends a task by its outcome, which is not CALLED. Leaves the tasks that became ready in the
 * grants, unless a callback might delay them. */
void lanepool_i_run_end(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_task *task, lanepool_i_outcome outcome, lanepool_i_ending *end,
                        lanepool_i_grants *grants);

#endif
