/*
 * Owns pools without threads: the order of their ready tasks, how the threads that wait for such a
 * pool run its tasks, step by step, and its clock.
 *
 * The pool has one worker. The thread that makes a step acts as this worker: meanwhile it uses the
 * worker's record in place of its own. Between two steps the worker counts as busy, so no thread
 * tries to wake it, and waits inside tasks route and run what they need themselves.
 *
 * A step depends only on the seed and on what the program has done before. It reads no clock of the
 * system and compares no addresses. So the ready tasks are listed by their tickets, and the seed
 * draws a position in this list. While there are ready tasks, the seed also draws whether a step
 * routes first. Later tasks may then become ready before or after the next start.
 *
 * There is no clock thread and no keeper. A step does their work, with their records, once timers
 * are due in virtual time. No time passes while a task is ready or can be routed. Otherwise the
 * clock advances to the next timer. If a timer is due although tasks are ready, since the program
 * has advanced the clock, the seed draws which comes first. A wait inside a task advances the
 * clock, too: the one worker is busy, so no other task could run before.
 */
#include "feature/pool_step.h"

#include "base/driver.h"
#include "base/misuse.h"
#include "feature/context_table.h"
#include "feature/delay.h"
#include "feature/journal.h"
#include "route/pool.h"

/* When the clock begins: no moment is 0. */
#define FIRST_NS UINT64_C(1000000000)

/* The most timers that fire before what they have done can be seen. */
#define FIRED_AT_ONCE 4

/* Guards: I immutable, A atomic, P the overflow list's lock. */
struct steps {
    lanepool_i_ready_order order; /* must be first */
    lanepool_i_driver driver;     /* A: its time; I: the rest */
    lanepool_pool *pool;          /* I */
    lanepool_i_tasks ready;       /* P: by ticket; empty with priorities */
    uint64_t random;              /* P */
    uint64_t draws;               /* P: how often the seed was drawn from */
    uint64_t plain_from;          /* I: 0: never */
    _Atomic uint32_t driven;      /* A: 1 while a thread makes a step */
};

static struct steps *steps_of(lanepool_i_driver *driver)
{
    return LANEPOOL_I_ITEM(driver, struct steps, driver);
}

/* --- the seed --- */

/* Past the last draw of the seed, the answer is 0: a step serves timers that are due, else it
 * routes, and runs the ready task that was accepted first. A shorter run of draws gives a simpler
 * schedule.
 *
 * SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014). */
static uint64_t draw_locked(lanepool_i_driver *driver, uint64_t count)
{
    struct steps *steps = steps_of(driver);
    if (++steps->draws >= steps->plain_from && steps->plain_from != 0)
        return 0;
    uint64_t value = steps->random += UINT64_C(0x9e3779b97f4a7c15);
    value = (value ^ (value >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ (value >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (value ^ (value >> 31)) % count;
}

static uint64_t draw_number(struct steps *steps, uint64_t count)
{
    lanepool_i_word_lock_lock(&steps->pool->workers.overflow_lock);
    uint64_t drawn = draw_locked(&steps->driver, count);
    lanepool_i_word_lock_unlock(&steps->pool->workers.overflow_lock);
    return drawn;
}

bool lanepool_i_step_routes(lanepool_pool *pool)
{
    return !lanepool_i_workers_have_ready(&pool->workers) ||
           draw_number(steps_of(pool->driver), 2) == 0;
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

static lanepool_i_task *take_drawn(lanepool_i_ready_order *order, uint32_t urgent)
{
    (void)urgent;
    struct steps *steps = (struct steps *)order;
    if (steps->ready.count == 0)
        return NULL;
    lanepool_i_task *before = NULL;
    for (uint64_t at = draw_locked(&steps->driver, steps->ready.count); at > 0; at--)
        before = before == NULL ? steps->ready.first : load_relaxed(&before->next);
    return take_behind(&steps->ready, before);
}

static void visit_by_ticket(lanepool_i_ready_order *order,
                            void (*found)(lanepool_i_task *task, void *context), void *context)
{
    lanepool_i_tasks_each(&((const struct steps *)order)->ready, found, context);
}

/* --- virtual time --- */

/* Returns when a clock thread or keeper would have something to do; 0 for at once, UINT64_MAX for
 * never. */
static uint64_t next_timers_due(lanepool_pool *pool)
{
    uint64_t delays_ns = lanepool_i_timers_serve_at(&pool->delays->timers);
    uint64_t keeper_ns = pool->contexts->buckets != NULL
                             ? lanepool_i_timers_serve_at(&pool->contexts->timers)
                             : UINT64_MAX;
    return delays_ns < keeper_ns ? delays_ns : keeper_ns;
}

static void serve_with_record(struct steps *steps, lanepool_i_timers *timers,
                              lanepool_i_thread_record *record)
{
    uint64_t now_ns = lanepool_i_driver_now(&steps->driver);
    if (lanepool_i_timers_serve_at(timers) > now_ns)
        return;
    uint64_t most = 1 + draw_number(steps, FIRED_AT_ONCE);
    lanepool_i_thread_record *own = lanepool_i_thread_record_swap(steps->pool, record);
    lanepool_i_timers_serve(timers, now_ns, most);
    (void)lanepool_i_thread_record_swap(steps->pool, own);
}

/* Does what a clock thread and a keeper would do now. */
static void serve_timers(struct steps *steps)
{
    lanepool_pool *pool = steps->pool;
    serve_with_record(steps, &pool->delays->timers, load_acquire(&pool->delays->clock));
    if (pool->contexts->buckets != NULL)
        serve_with_record(steps, &pool->contexts->timers, pool->contexts->keeper);
}

static bool is_timer_due(struct steps *steps)
{
    return next_timers_due(steps->pool) <= lanepool_i_driver_now(&steps->driver);
}

/* Another thread may advance the clock, too. It never goes back. */
static void advance_to(lanepool_i_driver *driver, uint64_t then_ns)
{
    uint64_t now_ns = load_relaxed(&driver->now_ns);
    while (now_ns < then_ns && !cas_acq_rel(&driver->now_ns, &now_ns, then_ns))
        ;
}

/* Writes the journal's entries; or advances the clock to the next timer, and serves it. Returns
 * false if there is none by then. */
static bool pass_time(struct steps *steps, uint64_t until_ns)
{
    if (lanepool_i_journal_step(steps->pool))
        return true;
    uint64_t next_ns = next_timers_due(steps->pool);
    if (next_ns == UINT64_MAX || next_ns > until_ns) {
        if (until_ns != UINT64_MAX)
            advance_to(&steps->driver, until_ns);
        return false;
    }
    advance_to(&steps->driver, next_ns);
    serve_timers(steps);
    return true;
}

/* --- steps --- */

/* Contexts are closed when the last task has ended, and not only when a thread awaits that. */
static bool close_contexts(lanepool_pool *pool)
{
    if (!load_seq(&pool->lifecycle.stopped) || lanepool_i_contexts_count(pool) == 0)
        return false;
    lanepool_i_contexts_end_without_keeper(pool);
    return true;
}

/* The seed draws when they are written. */
static bool has_entries(const lanepool_pool *pool)
{
    return !lanepool_i_journal_is_drained(pool);
}

/* A thread has one record for each pool, so its own one leaves its list for the step. */
static bool run_step(lanepool_pool *pool)
{
    lanepool_i_thread_record *own = lanepool_i_thread_record_swap(pool, NULL);
    bool ran = lanepool_i_worker_step(&pool->workers.all[0]);
    (void)lanepool_i_thread_record_swap(pool, own);
    return ran;
}

static bool make_step(struct steps *steps)
{
    lanepool_pool *pool = steps->pool;
    if (is_timer_due(steps) && draw_number(steps, 2) == 0) {
        serve_timers(steps);
        return true;
    }
    if (has_entries(pool) && draw_number(steps, 2) == 0)
        return lanepool_i_journal_step(pool);
    return run_step(pool) || lanepool_i_journal_step(pool) || close_contexts(pool);
}

/* Acquire and release: a step happens after all steps before it, whichever threads made them. */
static bool try_to_begin(struct steps *steps)
{
    return exchange_acquire(&steps->driven, 1) == 0;
}

static void end_step(struct steps *steps)
{
    store_release(&steps->driven, 0);
}

static const lanepool_i_thread_record *find_record_inside(const lanepool_pool *pool)
{
    const lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
    return record != NULL && lanepool_i_thread_is_inside_pool(record) ? record : NULL;
}

/* A wait inside a task runs no other task here. */
static bool drive_step(lanepool_i_driver *driver)
{
    struct steps *steps = steps_of(driver);
    if (find_record_inside(steps->pool) != NULL || !try_to_begin(steps))
        return false;
    bool stepped = make_step(steps);
    end_step(steps);
    return stepped;
}

/* A thread that waits inside a task makes a step already, unless the task is one that it runs in a
 * pump, or has submitted itself. */
static bool drive_time(lanepool_i_driver *driver, uint64_t until_ns)
{
    struct steps *steps = steps_of(driver);
    const lanepool_i_thread_record *record = find_record_inside(steps->pool);
    bool has_begun = record != NULL && record->worker != NULL;
    if (!has_begun && !try_to_begin(steps))
        return false;
    bool passed = pass_time(steps, until_ns);
    if (!has_begun)
        end_step(steps);
    return passed;
}

static lanepool_status check_pool(const lanepool_pool *pool)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    return pool->driver != NULL ? LANEPOOL_OK : LANEPOOL_UNSUPPORTED;
}

lanepool_status lanepool_pool_step(lanepool_pool *pool)
{
    lanepool_status status = check_pool(pool);
    if (status != LANEPOOL_OK)
        return status;
    struct steps *steps = steps_of(pool->driver);
    if (find_record_inside(pool) != NULL)
        return LANEPOOL_DEADLOCK;
    if (!try_to_begin(steps))
        return LANEPOOL_BUSY;
    bool stepped = make_step(steps) || pass_time(steps, UINT64_MAX);
    end_step(steps);
    return stepped ? LANEPOOL_OK : LANEPOOL_TIMED_OUT;
}

uint64_t lanepool_pool_time(const lanepool_pool *pool)
{
    if (LANEPOOL_I_MISUSED(pool == NULL, "pool is NULL"))
        return 0;
    return lanepool_i_driver_now(pool->driver);
}

lanepool_status lanepool_pool_advance(lanepool_pool *pool, uint64_t by_ns)
{
    lanepool_status status = check_pool(pool);
    if (status == LANEPOOL_OK && by_ns >= UINT64_MAX - lanepool_i_driver_now(pool->driver))
        status = LANEPOOL_INVALID;
    if (status == LANEPOOL_OK)
        fetch_add_relaxed(&pool->driver->now_ns, by_ns);
    return status;
}

/* --- the feature --- */

static bool has_steps(const lanepool_options *options)
{
    return options->step_seed != 0;
}

/* With priorities the ready tasks have their order, from which the driver draws. */
static void open_steps(lanepool_pool *pool, void *part)
{
    struct steps *steps = part;
    *steps = (struct steps){
        .order = { .add = add_by_ticket, .take = take_drawn, .each = visit_by_ticket },
        .driver = { .step = drive_step, .pass_time = drive_time, .draw = draw_locked },
        .pool = pool,
        .random = pool->options.step_seed,
        .plain_from = pool->options.step_plain_from,
    };
    atomic_init(&steps->driver.now_ns, FIRST_NS);
    atomic_init(&steps->driven, 0);
    if (pool->workers.order == NULL)
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
