/* Pumps: tasks that run on a thread of the program, in order with all other tasks. */
#include <poll.h>
#include <pthread.h>

#include "support/step.h"
#include "support/test.h"

/* A task that records on which thread it runs: only the test's thread is right. */
struct pumped {
    pthread_t thread;
    struct journal *journal;
    uint32_t id;
    size_t worker;
    _Atomic uint32_t runs;
    _Atomic uint32_t cancels;
};

static int pumped_body(lanepool_run *run, void *context)
{
    struct pumped *pumped = context;

    pumped->thread = pthread_self();
    pumped->worker = lanepool_run_worker(run);
    if (pumped->journal) {
        pumped->journal->ids[pumped->journal->count++] = pumped->id;
    }
    pumped->runs++;
    return 0;
}

static void pumped_cancelled(void *context, lanepool_status why)
{
    struct pumped *pumped = context;

    (void)why;
    pumped->cancels++;
}

static lanepool_status submit_to(lanepool_pump *pump, lanepool_pool *pool, struct pumped *pumped,
                                 uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = pumped_body;
    task.cancelled = pumped_cancelled;
    task.context = pumped;
    task.claims = &claim;
    task.claim_count = 1;
    task.pump = pump;
    return lanepool_pool_submit(pool, &task);
}

static lanepool_pump *pump_make(lanepool_pool *pool)
{
    lanepool_pump *pump;

    expect_ok(lanepool_pump_create(pool, &pump));
    return pump;
}

/* Runs the pump until `count` tasks have run. */
static void pump_tasks(lanepool_pump *pump, size_t count)
{
    while (count > 0) {
        size_t ran;

        expect_ok(lanepool_pump_run(pump, count, LANEPOOL_FOREVER, &ran));
        expect(ran >= 1 && ran <= count);
        count -= ran;
    }
}

static void runs_on_the_pumping_thread(lanepool_layout layout)
{
    struct journal journal = { 0 };
    struct step steps[2] = { { .id = 1, .journal = &journal }, { .id = 3, .journal = &journal } };
    struct pumped pumped[2] = { { .id = 2, .journal = &journal },
                                { .id = 4, .journal = &journal } };
    lanepool_pool *pool = pool_make(2, layout);
    lanepool_pump *pump = pump_make(pool);

    for (int i = 0; i < 2; i++) {
        expect_ok(step_submit_on(pool, &steps[i], 1));
        expect_ok(submit_to(pump, pool, &pumped[i], 1));
    }
    pump_tasks(pump, 2);
    pool_settle(pool);
    for (uint32_t i = 0; i < 4; i++) {
        expect_eq(journal.ids[i], i + 1);
    }
    for (int i = 0; i < 2; i++) {
        expect(pthread_equal(pumped[i].thread, pthread_self()));
        expect_eq(pumped[i].worker, SIZE_MAX);
    }
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
}

Test(pump, tasks_run_on_the_pumping_thread_in_their_place)
{
    runs_on_the_pumping_thread(LANEPOOL_PER_KEY);
}

Test(pump, tasks_run_on_the_pumping_thread_in_their_place_per_worker)
{
    runs_on_the_pumping_thread(LANEPOOL_PER_WORKER);
}

static bool never(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return false;
}

Test(pump, program_with_a_rule_of_its_own_can_pump)
{
    struct journal journal = { 0 };
    struct step step = { .id = 2, .journal = &journal };
    struct pumped pumped = { .id = 1, .journal = &journal };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;

    options.workers = 1;
    options.is_compatible = never;
    lanepool_pool *pool = pool_make_with(&options);
    lanepool_pump *pump = pump_make(pool);
    task.function = pumped_body;
    task.cancelled = pumped_cancelled;
    task.context = &pumped;
    task.pump = pump;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit(pool, &step));
    pump_tasks(pump, 1);
    pool_settle(pool);
    expect_eq(journal_place(&journal, 1), 0);
    expect_eq(journal_place(&journal, 2), 1);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
}

Test(pump, so_many_are_run_at_most_and_none_is_waited_for_after_the_first)
{
    struct pumped pumped[3] = { { 0 } };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pump *pump = pump_make(pool);
    struct pollfd pollfd = { .events = POLLIN };
    size_t ran = 7;

    expect_ok(lanepool_pump_fd(pump, &pollfd.fd));
    expect_status(lanepool_pump_run(pump, 1, 0, &ran), LANEPOOL_TIMED_OUT);
    expect_eq(ran, 0);
    expect_status(lanepool_pump_run(pump, 1, 1000, NULL), LANEPOOL_TIMED_OUT);
    expect_eq(poll(&pollfd, 1, 0), 0);
    for (uint64_t i = 0; i < 3; i++) {
        expect_ok(submit_to(pump, pool, &pumped[i], i));
    }
    expect_eq(poll(&pollfd, 1, 60000), 1);
    pump_tasks(pump, 2);
    pump_tasks(pump, 1);
    expect_eq(poll(&pollfd, 1, 0), 0);
    expect_status(lanepool_pump_run(pump, 9, 0, &ran), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
}

/* While all workers are busy, the submitter and the pumping thread route. */
Test(pump, tasks_come_although_all_workers_are_busy)
{
    struct pumped pumped = { 0 };
    struct step step = { 0 };
    struct gate gate;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pump *pump = pump_make(pool);
    struct pollfd pollfd = { .events = POLLIN };

    gate_init(&gate);
    step.gate = &gate;
    expect_ok(lanepool_pump_fd(pump, &pollfd.fd));
    expect_ok(step_submit(pool, &step));
    expect(gate_await(&gate, 1));
    expect_ok(submit_to(pump, pool, &pumped, 1));
    expect_eq(poll(&pollfd, 1, 60000), 1);
    pump_tasks(pump, 1);
    gate_open(&gate, 1);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
    gate_fini(&gate);
}

Test(pump, pump_with_a_pending_task_is_not_destroyed)
{
    struct pumped pumped = { 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pump *pump = pump_make(pool);

    expect_ok(submit_to(pump, pool, &pumped, 1));
    expect_status(lanepool_pump_destroy(pump), LANEPOOL_BUSY);
    pump_tasks(pump, 1);
    expect_ok(lanepool_pump_destroy(pump));
    expect_ok(lanepool_pump_destroy(NULL));
    pool_end(pool);
}

/* --- waits for pump tasks, and inside them --- */

struct waiter {
    lanepool_pump *pump;
    struct pumped before;
    struct pumped pumped;
    lanepool_status pump_inside;
    lanepool_status waited;
};

static int wait_for_pumped(lanepool_run *run, void *context)
{
    struct waiter *waiter = context;
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    waiter->pump_inside = lanepool_pump_run(waiter->pump, 1, LANEPOOL_FOREVER, NULL);
    task.function = pumped_body;
    task.cancelled = pumped_cancelled;
    task.context = &waiter->pumped;
    task.pump = waiter->pump;
    task.future = &future;
    waiter->waited = lanepool_pool_submit(lanepool_run_pool(run), &task);
    if (waiter->waited == LANEPOOL_OK) {
        waiter->waited = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL);
        lanepool_future_release(future);
    }
    return 0;
}

Test(pump, task_may_wait_for_a_pumps_task_and_not_pump)
{
    struct waiter waiter;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    waiter = (struct waiter){ .pump = pump_make(pool) };
    task.function = wait_for_pumped;
    task.context = &waiter;
    expect_ok(lanepool_pool_submit(pool, &task));
    pump_tasks(waiter.pump, 1);
    pool_settle(pool);
    expect_status(waiter.pump_inside, LANEPOOL_DEADLOCK);
    expect_ok(waiter.waited);
    expect(pthread_equal(waiter.pumped.thread, pthread_self()));
    expect_ok(lanepool_pump_destroy(waiter.pump));
    pool_end(pool);
}

/* Waits behind another task of the same pump; only this thread can run either. */
static int wait_for_the_same_pump(lanepool_run *run, void *context)
{
    struct waiter *waiter = context;
    lanepool_claim claim = lanepool_exclusive(2);
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = pumped_body;
    task.cancelled = pumped_cancelled;
    task.context = &waiter->pumped;
    task.claims = &claim;
    task.claim_count = 1;
    task.pump = waiter->pump;
    task.future = &future;
    waiter->waited = submit_to(waiter->pump, lanepool_run_pool(run), &waiter->before, 2);
    if (waiter->waited == LANEPOOL_OK) {
        waiter->waited = lanepool_pool_submit(lanepool_run_pool(run), &task);
    }
    if (waiter->waited == LANEPOOL_OK) {
        waiter->waited = lanepool_future_wait(future, LANEPOOL_FOREVER, NULL);
        lanepool_future_release(future);
    }
    return 0;
}

static void wait_inside_a_pumped_task(lanepool_layout layout)
{
    struct waiter waiter;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(layout == LANEPOOL_PER_KEY ? 1 : 2, layout);
    size_t ran;

    waiter = (struct waiter){ .pump = pump_make(pool) };
    task.function = wait_for_the_same_pump;
    task.context = &waiter;
    task.pump = waiter.pump;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(lanepool_pump_run(waiter.pump, 1, LANEPOOL_FOREVER, &ran));
    expect_eq(ran, 1);
    expect_ok(waiter.waited);
    expect_eq(waiter.before.runs, 1);
    expect(pthread_equal(waiter.pumped.thread, pthread_self()));
    expect_ok(lanepool_pump_destroy(waiter.pump));
    pool_end(pool);
}

Test(pump, wait_inside_a_pumped_task_runs_what_it_needs_of_the_pump)
{
    wait_inside_a_pumped_task(LANEPOOL_PER_KEY);
}

Test(pump, wait_inside_a_pumped_task_runs_what_it_needs_of_the_pump_per_worker)
{
    wait_inside_a_pumped_task(LANEPOOL_PER_WORKER);
}

/* --- the end --- */

static void *pump_to_the_end(void *pump)
{
    static size_t total;
    size_t ran;
    lanepool_status status;

    total = 0;
    do {
        status = lanepool_pump_run(pump, SIZE_MAX, LANEPOOL_FOREVER, &ran);
        total += ran;
    } while (status == LANEPOOL_OK);
    return status == LANEPOOL_SHUT_DOWN ? &total : NULL;
}

Test(pump, drain_waits_for_them_and_then_the_pump_says_shut_down)
{
    struct pumped pumped[2] = { { 0 } };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pump *pump = pump_make(pool);
    pthread_t thread;
    void *total;

    for (int i = 0; i < 2; i++) {
        expect_ok(submit_to(pump, pool, &pumped[i], 1));
    }
    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_await(pool, 1000000), LANEPOOL_TIMED_OUT);
    expect_eq(pthread_create(&thread, NULL, pump_to_the_end, pump), 0);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(pthread_join(thread, &total), 0);
    expect(total != NULL);
    expect_eq(*(size_t *)total, 2);
    expect_status(lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, NULL), LANEPOOL_SHUT_DOWN);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
}

struct returned {
    uint32_t count;
    bool in_order;
    bool has_pump;
};

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct returned *returned = context;
    const struct pumped *pumped = task->context;

    (void)ticket;
    returned->in_order &= pumped->id == returned->count;
    returned->has_pump &= task->pump != NULL;
    returned->count++;
}

/* The first task is ready; the second waits behind it. */
static void stop_with_pumped_tasks(lanepool_layout layout, bool hands_back)
{
    struct pumped pumped[2] = { { .id = 0 }, { .id = 1 } };
    struct returned returned = { .in_order = true, .has_pump = true };
    lanepool_pool *pool = pool_make(2, layout);
    lanepool_pump *pump = pump_make(pool);
    struct pollfd pollfd = { .events = POLLIN };

    expect_ok(lanepool_pump_fd(pump, &pollfd.fd));
    for (int i = 0; i < 2; i++) {
        expect_ok(submit_to(pump, pool, &pumped[i], 1));
    }
    expect_eq(poll(&pollfd, 1, 60000), 1);
    expect_ok(lanepool_pool_shutdown_now(pool, hands_back ? take_back : NULL, &returned));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(lanepool_pump_run(pump, 1, LANEPOOL_FOREVER, NULL), LANEPOOL_SHUT_DOWN);
    for (int i = 0; i < 2; i++) {
        expect_eq(pumped[i].runs, 0);
        expect_eq(pumped[i].cancels, !hands_back);
    }
    expect_eq(returned.count, hands_back ? 2 : 0);
    expect(returned.in_order);
    expect(returned.has_pump);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pool);
}

Test(pump, shutdown_now_hands_them_back_in_order_and_with_their_pump)
{
    stop_with_pumped_tasks(LANEPOOL_PER_KEY, true);
}

Test(pump, shutdown_now_hands_them_back_in_order_and_with_their_pump_per_worker)
{
    stop_with_pumped_tasks(LANEPOOL_PER_WORKER, true);
}

Test(pump, shutdown_now_tells_them_when_nobody_takes_them_back)
{
    stop_with_pumped_tasks(LANEPOOL_PER_KEY, false);
}

Test(pump, bad_arguments_are_invalid)
{
    struct pumped pumped = { 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pools[2] = { pool_make(1, LANEPOOL_PER_KEY), pool_make(1, LANEPOOL_PER_KEY) };
    lanepool_pump *pump = pump_make(pools[0]);
    lanepool_pump *none = pump;
    int fd;

    expect_status(lanepool_pump_create(NULL, &none), LANEPOOL_INVALID);
    expect(none == NULL);
    expect_status(lanepool_pump_create(pools[0], NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pump_run(NULL, 1, 0, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pump_run(pump, 0, 0, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pump_fd(NULL, &fd), LANEPOOL_INVALID);
    expect_status(lanepool_pump_fd(pump, NULL), LANEPOOL_INVALID);
    expect_status(submit_to(pump, pools[1], &pumped, 1), LANEPOOL_INVALID);
    task.function = pumped_body;
    task.cancelled = pumped_cancelled;
    task.context = &pumped;
    task.pump = pump;
    expect_status(lanepool_pool_submit_or_run(pools[0], &task), LANEPOOL_UNSUPPORTED);
    expect_ok(lanepool_pump_destroy(pump));
    pool_end(pools[0]);
    pool_end(pools[1]);
}
