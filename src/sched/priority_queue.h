/*
 * The ready tasks of a pool with priorities: a list for each level, first in first out. They are in
 * the place of the workers' rings and of the spill, so that there is one order for all workers, and
 * whoever takes a task takes the highest that is ready at that moment.
 *
 * A ready task that was lent something moves to the end of its new level. So does, one level up,
 * whoever has stood in its level for as long as the age: nothing starves. A task that was taken out
 * and is put back keeps how high it had risen; one that is tried again begins anew.
 *
 * *Bound.* Let d be the longest time between two takings. Taking looks at the oldest of each level,
 * and they stand in the order of their times there, so a task rises no later than d after its age.
 * A task of priority p is therefore at the top after (max - p) * (age + d) at most; from then on
 * nothing that becomes ready later comes before it.
 *
 * All is under the spill's lock. Cost: adding and raising O(1); taking O(levels), and O(1) for each
 * task that rises, which it does seven times at most.
 */
#ifndef LANEPOOL_SRC_SCHED_PRIORITY_QUEUE_H
#define LANEPOOL_SRC_SCHED_PRIORITY_QUEUE_H

#include "task/rank.h"

/* Guards: I immutable, P the spill's lock. */
typedef struct lanepool_i_priority_queue {
    struct {
        lanepool_i_rank *first;
        lanepool_i_rank *last;
    } lists[LANEPOOL_I_LEVELS]; /* P */
    size_t count;               /* P */
    uint64_t age_ns;            /* I: LANEPOOL_FOREVER: nothing rises by waiting */
    size_t rank_at;             /* I: where ranks stand in blocks; 0: the block says where */
} lanepool_i_priority_queue;

void lanepool_i_priority_queue_init(lanepool_i_priority_queue *queue, uint64_t age_ns,
                                    size_t rank_at);

static inline lanepool_i_rank *
lanepool_i_priority_queue_rank_of(const lanepool_i_priority_queue *queue, lanepool_i_task *task)
{
    if (queue->rank_at != 0)
        return (lanepool_i_rank *)((char *)task + queue->rank_at);
    return task->as.wide.rank;
}

/* A task has become ready, or is put back. */
void lanepool_i_priority_queue_add(lanepool_i_priority_queue *queue, lanepool_i_task *task,
                                   uint64_t now_ns);
/* The first of the highest level; NULL: there is none. */
lanepool_i_task *lanepool_i_priority_queue_take(lanepool_i_priority_queue *queue, uint64_t now_ns);
/* The task's level is now this one, which is higher than before. */
void lanepool_i_priority_queue_raise(lanepool_i_priority_queue *queue, lanepool_i_rank *rank,
                                     uint8_t level, uint64_t now_ns);
/* Highest first. */
void lanepool_i_priority_queue_each(const lanepool_i_priority_queue *queue,
                                    void (*found)(lanepool_i_task *task, void *context),
                                    void *context);

#endif
