/*
 * Owns how a worker chooses its next task where all ready tasks are in one order; see worker.h.
 *
 * After each task the worker takes the first of all ready tasks. One hold of the lock publishes
 * what its last task made ready, and takes the next one.
 *
 * Tasks that were accepted and are not routed yet may precede all ready ones. So the worker routes
 * before it chooses, but only if one of them is *urgent*: has a higher priority than the level of
 * the first ready task. Other tasks that are not routed could not change the choice: neither they,
 * nor the tasks that inherit their priorities, would be the first. They are routed once a quantum,
 * so that their ages count.
 *
 * `urgent`. An appender raises it after its append. The role's holder sets it to 0, and then takes
 * what was appended. Appender: (1) move the inbox's tail, (2) read `urgent`, and raise it if it is
 * lower. Holder: (3) set `urgent` to 0, (4) read the tail. All four are in the total order. If (2)
 * finds the old value, high enough, then (2) is before (3), so (4) sees the append. If the holder
 * stops at a missing link, or finds no head, it sets `urgent` to the maximum: it cannot know what
 * is behind the link.
 */
#include "sched/worker.h"

/* Publishes `ready`, and takes the first task unless one of this urgency would precede it.
 *
 * While the count stays above 0, its store need not be in the total order. A worker that is about
 * to sleep then reads this count or an earlier one above 0, or one from before the store that
 * raised the count from 0. The thread of that store applies the wake rule. */
static lanepool_i_task *publish_and_take(lanepool_i_workers *workers, lanepool_i_tasks *ready,
                                         uint32_t urgent)
{
    size_t added = ready->count;
    if (added == 0 && load_relaxed(&workers->overflow_count) == 0)
        return NULL;
    lanepool_i_word_lock_lock(&workers->overflow_lock);
    size_t before = load_relaxed(&workers->overflow_count);
    if (added != 0)
        workers->order->add(workers->order, ready);
    lanepool_i_task *task = workers->order->take(workers->order, urgent);
    size_t left = before + added - (task != NULL);
    if (before == 0 && left != 0)
        store_seq(&workers->overflow_count, left);
    else
        store_relaxed(&workers->overflow_count, left);
    lanepool_i_word_lock_unlock(&workers->overflow_lock);
    if (added != 0 && left != 0)
        workers->work->ready_left(workers->owner);
    return task;
}

static lanepool_i_task *choose_ready_task(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    uint32_t urgent = load_seq(&workers->urgent);
    lanepool_i_task *task = publish_and_take(workers, &worker->kept, urgent);
    if (task == NULL && urgent != 0) {
        workers->work->route_all(workers->owner, worker);
        task = publish_and_take(workers, &worker->kept, 0);
    }
    return task;
}

lanepool_i_task *lanepool_i_worker_next_in_order(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    if (!lanepool_i_worker_quantum_is_over(worker) && load_relaxed(&workers->halt) == 0)
        return lanepool_i_worker_unless_halted(worker, choose_ready_task(worker));
    lanepool_i_workers_put(workers, worker->index, &worker->kept);
    workers->work->ready_left(workers->owner);
    return NULL;
}

lanepool_i_task *lanepool_i_worker_find_in_order(lanepool_i_worker *worker)
{
    lanepool_i_workers *workers = worker->workers;
    if (lanepool_i_worker_quantum_is_over(worker)) {
        worker->ran = 0;
        worker->quantum_start_ns = worker->now_ns;
        workers->work->trim_busy(workers->owner, worker);
        workers->work->bring_ready(workers->owner, worker);
    }
    lanepool_i_task *task = choose_ready_task(worker);
    if (task == NULL) {
        workers->work->bring_ready(workers->owner, worker);
        task = publish_and_take(workers, &worker->kept, 0);
    }
    return lanepool_i_worker_unless_halted(worker, task);
}
