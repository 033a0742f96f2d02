/*
 * Owns pumps: their ready tasks, and the threads that run these.
 *
 * A thread that waits inside a task of a pump is the one that has to run the pump's other tasks. So
 * it also searches the pump for tasks that it needs (future_wait.c).
 *
 * A thread in a pump counts as a worker that has not left its loop, so the pool's end waits for it.
 * Once the pool stops, the thread takes no more tasks. The hand-back, which follows, takes those
 * that are left in pumps.
 */
#include "lanepool/schedule.h"

#include "base/deadline.h"
#include "core/run.h"
#include "feature/pump.h"
#include "future/member.h"
#include "future/pump.h"
#include "route/pool.h"

#include <string.h>

/* --- ready tasks --- */

void lanepool_i_pump_update_flag_locked(lanepool_pump *pump)
{
    lanepool_i_ready_flag_put_locked(&pump->ready_flag, pump->ready.count > 0);
}

static void put_locked(lanepool_pump *pump, lanepool_i_task *task)
{
    lanepool_i_tasks_add(&pump->ready, task);
    lanepool_i_pump_update_flag_locked(pump);
    LANEPOOL_I_EACH(lanepool_i_pool_waiter, waiter, &pump->pool->waits.waiters, waiter.link)
        if (waiter->pump == pump)
            lanepool_i_pool_waiter_post_locked(waiter);
}

/* A thread inside the pool cannot enter a pump, so a pump's task is its thread's outermost call. */
lanepool_pump *lanepool_i_pump_of(const lanepool_run *run)
{
    while (run->outer != NULL)
        run = run->outer;
    return lanepool_i_task_is_for_pump(run->task) ? lanepool_i_task_member(run->task)->pump : NULL;
}

static lanepool_i_task *take_ready_locked(lanepool_pump *pump)
{
    lanepool_i_task *task = lanepool_i_tasks_take(&pump->ready);
    if (task != NULL)
        lanepool_i_pump_update_flag_locked(pump);
    return task;
}

bool lanepool_i_pump_add_ready(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_pump *pump = lanepool_i_task_member(task)->pump;
    lanepool_i_mutex_lock(&pool->waits.lock);
    bool is_there = !pump->destroyed && !lanepool_i_task_is_tombstone(task);
    if (is_there)
        put_locked(pump, task);
    lanepool_i_mutex_unlock(&pool->waits.lock);
    return is_there;
}

/* Returns true if the pool was stopped or has drained. */
static bool is_pump_over(const lanepool_pump *pump)
{
    return lanepool_i_workers_are_stopped(&pump->pool->workers);
}

static lanepool_i_task *take_ready(lanepool_pump *pump)
{
    lanepool_i_waits *waits = &pump->pool->waits;
    lanepool_i_mutex_lock(&waits->lock);
    lanepool_i_task *task = is_pump_over(pump) ? NULL : take_ready_locked(pump);
    lanepool_i_mutex_unlock(&waits->lock);
    return task;
}

/* --- all pumps of a pool --- */

bool lanepool_i_pumps_have_ready(lanepool_i_waits *waits)
{
    bool have = false;
    lanepool_i_mutex_lock(&waits->lock);
    LANEPOOL_I_EACH(const lanepool_pump, pump, &waits->pumps, link)
        have |= pump->ready.count > 0;
    lanepool_i_mutex_unlock(&waits->lock);
    return have;
}

void lanepool_i_pumps_each_ready_locked(const lanepool_i_waits *waits,
                                        void (*found)(lanepool_i_task *task, void *context),
                                        void *context)
{
    LANEPOOL_I_EACH(const lanepool_pump, pump, &waits->pumps, link)
        lanepool_i_tasks_each(&pump->ready, found, context);
}

void lanepool_i_pumps_take_all(lanepool_i_waits *waits, lanepool_i_tasks *tasks)
{
    lanepool_i_mutex_lock(&waits->lock);
    LANEPOOL_I_EACH(lanepool_pump, pump, &waits->pumps, link) {
        lanepool_i_task *task;
        while ((task = take_ready_locked(pump)) != NULL)
            lanepool_i_tasks_add(tasks, task);
    }
    lanepool_i_mutex_unlock(&waits->lock);
}

static void take_tombstones_locked(lanepool_pump *pump, lanepool_i_tasks *tombstones)
{
    lanepool_i_tasks all = pump->ready;
    lanepool_i_task *task;
    pump->ready = (lanepool_i_tasks){ NULL, NULL, 0 };
    while ((task = lanepool_i_tasks_take(&all)) != NULL)
        lanepool_i_tasks_add(lanepool_i_task_is_tombstone(task) ? tombstones : &pump->ready, task);
}

/* lanepool_i_pump_add_ready() detects tombstones that reach a pump after this. */
void lanepool_i_pumps_move_tombstones(lanepool_pool *pool)
{
    lanepool_i_tasks tombstones = { NULL, NULL, 0 };
    if (!lanepool_i_waits_have_callers(&pool->waits))
        return;
    lanepool_i_mutex_lock(&pool->waits.lock);
    LANEPOOL_I_EACH(lanepool_pump, pump, &pool->waits.pumps, link) {
        if (pump->ready.count == 0)
            continue;
        take_tombstones_locked(pump, &tombstones);
        lanepool_i_pump_update_flag_locked(pump);
    }
    lanepool_i_mutex_unlock(&pool->waits.lock);
    if (tombstones.count > 0)
        lanepool_i_router_put_to_workers(pool, NULL, &tombstones);
}

/* --- creation and end --- */

lanepool_status lanepool_pump_create(lanepool_pool *pool, lanepool_pump **pump)
{
    if (pump == NULL)
        return LANEPOOL_INVALID;
    *pump = NULL;
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_pump *created = lanepool_i_memory_alloc(sizeof *created);
    if (created == NULL)
        return LANEPOOL_NOMEM;
    memset(created, 0, sizeof *created);
    created->pool = pool;
    atomic_init(&created->pending, 0);
    atomic_init(&created->references, 1);
    lanepool_i_waits *waits = &pool->waits;
    lanepool_i_mutex_lock(&waits->lock);
    lanepool_i_list_add(&waits->pumps, &created->link);
    lanepool_i_waits_count_caller_locked(waits, 1);
    lanepool_i_mutex_unlock(&waits->lock);
    *pump = created;
    return LANEPOOL_OK;
}

/* All tasks of the pump have ended, so the rest are tombstones. Any worker can dispose of them. */
static void give_rest(lanepool_pump *pump)
{
    if (pump->ready.count > 0)
        lanepool_i_router_put_to_workers(pump->pool, NULL, &pump->ready);
}

/* Acquire: the thread that ended the last task uses nothing of the pump but its reference. */
lanepool_status lanepool_pump_destroy(lanepool_pump *pump)
{
    if (pump == NULL)
        return LANEPOOL_OK;
    if (lanepool_i_pool_is_forked(pump->pool))
        return LANEPOOL_FORKED;
    lanepool_i_waits *waits = &pump->pool->waits;
    lanepool_i_mutex_lock(&waits->lock);
    pump->destroyed = load_acquire(&pump->pending) == 0;
    if (pump->destroyed) {
        lanepool_i_unlink(&pump->link);
        lanepool_i_waits_count_caller_locked(waits, -1);
    }
    lanepool_i_mutex_unlock(&waits->lock);
    if (!pump->destroyed)
        return LANEPOOL_BUSY;
    give_rest(pump);
    lanepool_i_ready_flag_fini(&pump->ready_flag);
    lanepool_i_pump_release(pump);
    return LANEPOOL_OK;
}

/* --- running --- */

/* A thread that waits in a pump for the first task; on its stack. */
struct pump_wait {
    lanepool_i_pool_waiter waiter;
    lanepool_i_task *task; /* or NULL */
};

static bool has_taken_or_is_over(lanepool_i_pool_waiter *waiter)
{
    struct pump_wait *wait = (struct pump_wait *)waiter;
    if (wait->task == NULL)
        wait->task = take_ready(waiter->pump);
    return wait->task != NULL || is_pump_over(waiter->pump);
}

/* Returns OK with a task, or why there is none. */
static lanepool_status wait_for_one(lanepool_pump *pump, lanepool_i_thread_record *record,
                                    uint64_t deadline_ns, lanepool_i_task **task)
{
    struct pump_wait wait = { .waiter.pump = pump };
    if (!lanepool_i_pool_waiter_enter(&wait.waiter, pump->pool, record, deadline_ns))
        return LANEPOOL_NO_RESOURCE;
    (void)lanepool_i_pool_waiter_wait(&wait.waiter, has_taken_or_is_over,
                                      lanepool_i_pool_waiter_route);
    (void)lanepool_i_pool_waiter_leave(&wait.waiter);
    lanepool_i_waiter_fini(&wait.waiter.waiter);
    *task = wait.task;
    if (wait.task != NULL)
        return LANEPOOL_OK;
    return is_pump_over(pump) ? LANEPOOL_SHUT_DOWN : LANEPOOL_TIMED_OUT;
}

static lanepool_status run_ready(lanepool_pump *pump, lanepool_i_thread_record *record,
                                 size_t task_count_max, uint64_t deadline_ns, size_t *count)
{
    lanepool_status status = LANEPOOL_OK;
    lanepool_i_task *task = take_ready(pump);
    if (task == NULL)
        status = wait_for_one(pump, record, deadline_ns, &task);
    while (task != NULL) {
        lanepool_i_run_alone(pump->pool, record, task, NULL);
        task = ++*count < task_count_max ? take_ready(pump) : NULL;
    }
    return status;
}

lanepool_status lanepool_pump_run(lanepool_pump *pump, size_t task_count_max, uint64_t wait_max_ns,
                                  size_t *task_count)
{
    size_t count = 0;
    if (task_count != NULL)
        *task_count = 0;
    if (pump == NULL || task_count_max == 0)
        return LANEPOOL_INVALID;
    lanepool_pool *pool = pump->pool;
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (lanepool_i_thread_is_inside_pool(record))
        return LANEPOOL_DEADLOCK;
    fetch_add_seq(&pool->lifecycle.workers_left, 1);
    lanepool_status status =
        run_ready(pump, record, task_count_max,
                  lanepool_i_driver_deadline(pool->driver, wait_max_ns), &count);
    lanepool_i_lifecycle_count_out(pool, record);
    if (task_count != NULL)
        *task_count = count;
    return status;
}

lanepool_status lanepool_pump_fd(lanepool_pump *pump, int *fd)
{
    if (pump == NULL || fd == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pump->pool))
        return LANEPOOL_FORKED;
    return lanepool_i_ready_flag_fd(&pump->ready_flag, &pump->pool->waits.lock, fd);
}
