/*
 * Owns pools without threads: the order of their ready tasks, and how the threads that wait for
 * such a pool run its tasks, step by step.
 *
 * The pool has one worker. The thread that makes a step acts as this worker: meanwhile it uses the
 * worker's record in place of its own. Between two steps the worker counts as busy, so no thread
 * tries to wake it, and waits inside tasks route and run what they need themselves.
 *
 * A step depends only on the seed and on what the program has done before. It reads no clock and
 * compares no addresses. So the ready tasks are listed by their tickets, and the seed draws a
 * position in this list. While there are ready tasks, the seed also draws whether a step routes
 * first. Later tasks may then become ready before or after the next start.
 */
#include "feature/pool_step.h"

#include "base/driver.h"
#include "route/pool.h"

/* Guards: I immutable, A atomic, P the overflow list's lock, D the thread that has set `driven`. */
struct steps {
    lanepool_i_ready_order order; /* must be first */
    lanepool_i_driver driver;     /* I */
    lanepool_pool *pool;          /* I */
    lanepool_i_tasks ready;       /* P: by ticket */
    uint64_t random;              /* P */
    _Atomic uint32_t driven;      /* A: 1 while a thread makes a step */
};

/* SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t draw_locked(struct steps *steps)
{
    uint64_t value = steps->random += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return value ^ (value >> 31);
}

/* --- the order of the ready tasks --- */

/* Returns the task behind which a task with this ticket belongs; NULL if it is the first. */
static lanepool_i_task *find_before(const lanepool_i_tasks *ready, uint64_t ticket)
{
    lanepool_i_task *before = NULL;
    lanepool_i_task *task = ready->first;
    for (size_t left = ready->count; left > 0; left--) {
        if (!lanepool_i_ticket_before(lanepool_i_task_ticket(task), ticket))
            break;
        before = task;
        task = load_relaxed(&task->next);
    }
    return before;
}

/* Takes the task behind `before` out, or the first one. */
static lanepool_i_task *take_behind(lanepool_i_tasks *ready, lanepool_i_task *before)
{
    if (before == NULL)
        return lanepool_i_tasks_take(ready);
    lanepool_i_task *task = load_relaxed(&before->next);
    if (task == ready->last)
        ready->last = before;
    store_relaxed(&before->next, load_relaxed(&task->next));
    ready->count--;
    return task;
}

static void put_behind(lanepool_i_tasks *ready, lanepool_i_task *before, lanepool_i_task *task)
{
    if (ready->count == 0 || before == ready->last) {
        lanepool_i_tasks_add(ready, task);
        return;
    }
    store_relaxed(&task->next, before != NULL ? load_relaxed(&before->next) : ready->first);
    if (before != NULL)
        store_relaxed(&before->next, task);
    else
        ready->first = task;
    ready->count++;
}

static void add_by_ticket(lanepool_i_ready_order *order, lanepool_i_tasks *ready)
{
    struct steps *steps = (struct steps *)order;
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(ready)) != NULL)
        put_behind(&steps->ready, find_before(&steps->ready, lanepool_i_task_ticket(task)), task);
}

static lanepool_i_task *take_drawn(lanepool_i_ready_order *order)
{
    struct steps *steps = (struct steps *)order;
    if (steps->ready.count == 0)
        return NULL;
    lanepool_i_task *before = NULL;
    for (uint64_t at = draw_locked(steps) % steps->ready.count; at > 0; at--)
        before = before == NULL ? steps->ready.first : load_relaxed(&before->next);
    return take_behind(&steps->ready, before);
}

static void visit_by_ticket(lanepool_i_ready_order *order,
                            void (*found)(lanepool_i_task *task, void *context), void *context)
{
    lanepool_i_tasks_each(&((const struct steps *)order)->ready, found, context);
}

/* --- steps --- */

bool lanepool_i_step_routes(lanepool_pool *pool)
{
    struct steps *steps = (struct steps *)pool->workers.order;
    lanepool_i_mutex_lock(&pool->workers.overflow_lock);
    bool routes = steps->ready.count == 0 || draw_locked(steps) % 2 == 0;
    lanepool_i_mutex_unlock(&pool->workers.overflow_lock);
    return routes;
}

/* A thread has one record for each pool, so its own one leaves its list for the step. */
static bool run_step(lanepool_pool *pool, lanepool_i_thread_record *own)
{
    if (own != NULL)
        lanepool_i_thread_record_leave(own);
    bool ran = lanepool_i_worker_step(&pool->workers.all[0]);
    if (own != NULL)
        lanepool_i_thread_record_enter(own);
    return ran;
}

/* Acquire and release: a step happens after all steps before it, whichever threads made them. */
static lanepool_status try_step(struct steps *steps)
{
    lanepool_i_thread_record *own = lanepool_i_thread_record_find(steps->pool);
    if (own != NULL && lanepool_i_thread_is_inside_pool(own))
        return LANEPOOL_DEADLOCK;
    if (exchange_acquire(&steps->driven, 1) != 0)
        return LANEPOOL_BUSY;
    bool ran = run_step(steps->pool, own);
    store_release(&steps->driven, 0);
    return ran ? LANEPOOL_OK : LANEPOOL_TIMED_OUT;
}

static bool drive_pool(lanepool_i_driver *driver)
{
    return try_step(LANEPOOL_I_ITEM(driver, struct steps, driver)) == LANEPOOL_OK;
}

lanepool_status lanepool_pool_step(lanepool_pool *pool)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    if (pool->driver == NULL)
        return LANEPOOL_UNSUPPORTED;
    return try_step((struct steps *)pool->workers.order);
}

/* --- the feature --- */

static bool has_steps(const lanepool_options *options)
{
    return options->step_seed != 0;
}

static void open_steps(lanepool_pool *pool, void *part)
{
    struct steps *steps = part;
    *steps = (struct steps){
        .order = { .add = add_by_ticket, .take = take_drawn, .each = visit_by_ticket },
        .driver = { .step = drive_pool },
        .pool = pool,
        .random = pool->options.step_seed,
    };
    atomic_init(&steps->driven, 0);
    pool->workers.order = &steps->order;
    pool->driver = &steps->driver;
    pool->admission.driver = &steps->driver;
}

const lanepool_i_feature lanepool_i_feature_step = {
    .is_wanted = has_steps,
    .offer = LANEPOOL_I_STEPS,
    .part_size = sizeof(struct steps),
    .open = open_steps,
};
