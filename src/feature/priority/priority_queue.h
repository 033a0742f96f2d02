/*
 * The ready tasks of a pool with priorities: a first-in first-out list for each level. It replaces
 * the workers' rings and the overflow list, so there is one order for all workers: a worker takes
 * the first task of the highest level.
 *
 * A ready task that inherits a level moves to the end of the list of that level. A task that has
 * been in its level for the *age* moves one level up, so no task starves. A task that was taken out
 * and is put back keeps the level to which it had risen. A task that is retried starts anew.
 *
 * Bound. Let d be the longest time between two takes. Each take checks the oldest task of every
 * level, and the tasks of a level are in the order of their times. So a task rises at most d after
 * its age, and a task of priority p is at the top level after at most (max - p) * (age + d). From
 * then on no task that becomes ready later is taken before it.
 *
 * The ages are checked once for each moment of the clock.
 *
 * The overflow list's lock guards everything. Adding and raising are O(1). Taking is O(1), plus
 * O(levels) for each moment of the clock, and O(1) for each task that rises; a task rises seven
 * times at most.
 */
#ifndef LANEPOOL_SRC_FEATURE_PRIORITY_PRIORITY_QUEUE_H
#define LANEPOOL_SRC_FEATURE_PRIORITY_PRIORITY_QUEUE_H

#include "base/driver.h"
#include "feature/priority/rank.h"

/* Guards: I immutable, P the overflow list's lock. */
typedef struct lanepool_i_priority_queue {
    struct {
        lanepool_i_rank *first;
        lanepool_i_rank *last;
    } lists[LANEPOOL_I_LEVELS]; /* P */
    size_t count;               /* P */
    uint32_t levels;            /* P: a bit for each level that has a task */
    uint64_t checked_ns;        /* P: when the ages were last checked */
    uint64_t age_ns;            /* I: LANEPOOL_FOREVER: no task rises by waiting */
} lanepool_i_priority_queue;    /* all zero but for the age: empty */

/* Adds a task that has become ready, or is put back. */
void lanepool_i_priority_queue_add(lanepool_i_priority_queue *queue, lanepool_i_rank *rank,
                                   uint64_t now_ns);
/* Takes the first task of the highest level. With a driver, takes one that the driver draws from
 * that level. Returns NULL if there is none, or if a task of this urgency (sched/worker.h) would
 * precede it. */
lanepool_i_task *lanepool_i_priority_queue_take(lanepool_i_priority_queue *queue, uint64_t now_ns,
                                                uint32_t urgent);
lanepool_i_task *lanepool_i_priority_queue_draw(lanepool_i_priority_queue *queue,
                                                lanepool_i_driver *driver);
/* Returns one more than the highest level of a task in the queue; 0 if there is none. */
static inline uint32_t lanepool_i_priority_queue_highest(const lanepool_i_priority_queue *queue)
{
    return queue->levels == 0 ? 0 : 32 - (uint32_t)__builtin_clz(queue->levels);
}
/* Sets the task's level, which must be higher than before. */
void lanepool_i_priority_queue_raise(lanepool_i_priority_queue *queue, lanepool_i_rank *rank,
                                     uint8_t level, uint64_t now_ns);
/* Calls `found` for each task, highest level first. */
void lanepool_i_priority_queue_each(const lanepool_i_priority_queue *queue,
                                    void (*found)(lanepool_i_task *task, void *context),
                                    void *context);

#endif
