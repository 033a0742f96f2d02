/* Signals interrupt system calls but not the promises of the library, and belong to the program. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "support/step.h"
#include "support/test.h"

enum { SIGNALS = 2000, INTERVAL_US = 100, WAIT_NS = 20000000 };

#define AN_HOUR_NS UINT64_C(3600000000000)

static void do_nothing(int number)
{
    (void)number;
}

/* Without SA_RESTART, so that every blocking call of the system is interrupted. */
static void catch_signals(void)
{
    struct sigaction action = { .sa_handler = do_nothing };

    expect_eq(sigemptyset(&action.sa_mask), 0);
    expect_eq(sigaction(SIGUSR1, &action, NULL), 0);
    expect_eq(sigaction(SIGPROF, &action, NULL), 0);
}

/* Sets the interval of the system's own signals, which arrive while the process uses a processor;
 * 0: none. */
static void set_interval(long interval_us)
{
    const struct itimerval timer = { { 0, interval_us }, { 0, interval_us } };

    expect_eq(setitimer(ITIMER_PROF, &timer, NULL), 0);
}

/* A thread that sends signals to the process and to one thread until `stop` is set. */
struct storm {
    pthread_t target;
    pthread_t sender;
    _Atomic bool stop;
    _Atomic uint32_t sent;
    struct gate *open_after;
};

static void *send_signals(void *argument)
{
    struct storm *storm = argument;

    while (!atomic_load(&storm->stop)) {
        pthread_kill(storm->target, SIGUSR1);
        kill(getpid(), SIGUSR1);
        if (atomic_fetch_add(&storm->sent, 1) == SIGNALS && storm->open_after) {
            gate_open(storm->open_after, 1);
        }
    }
    return NULL;
}

static void start_storm(struct storm *storm, struct gate *open_after)
{
    catch_signals();
    storm->target = pthread_self();
    storm->open_after = open_after;
    set_interval(INTERVAL_US);
    expect_eq(pthread_create(&storm->sender, NULL, send_signals, storm), 0);
}

static void end_storm(struct storm *storm)
{
    atomic_store(&storm->stop, true);
    pthread_join(storm->sender, NULL);
    set_interval(0);
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void wait_in_a_storm(uint64_t wait_max_ns)
{
    struct gate gate;
    struct step step = { .gate = &gate, .value = &step };
    struct storm storm = { .stop = false };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_future *future;
    lanepool_result result;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    start_storm(&storm, &gate); /* opens the gate after many signals */
    expect_ok(lanepool_future_wait(future, wait_max_ns, &result));
    end_storm(&storm);
    expect(result.value == &step);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&gate);
}

Test(signals, interrupted_wait_goes_on)
{
    wait_in_a_storm(LANEPOOL_FOREVER);
}

Test(signals, interrupted_wait_with_a_limit_goes_on)
{
    wait_in_a_storm(AN_HOUR_NS);
}

Test(signals, limited_wait_does_not_end_early)
{
    struct gate gate;
    struct step step = { .gate = &gate };
    struct storm storm = { .stop = false };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_future *future;
    uint64_t begin;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect(gate_await(&gate, 1));
    start_storm(&storm, NULL);
    begin = now_ns();
    expect_status(lanepool_future_wait(future, WAIT_NS, NULL), LANEPOOL_TIMED_OUT);
    expect(now_ns() - begin >= WAIT_NS);
    begin = now_ns();
    expect_status(lanepool_pool_quiesce(pool, WAIT_NS), LANEPOOL_TIMED_OUT);
    expect(now_ns() - begin >= WAIT_NS);
    expect_ok(lanepool_pool_shutdown(pool));
    begin = now_ns();
    expect_status(lanepool_pool_await(pool, WAIT_NS), LANEPOOL_TIMED_OUT);
    expect(now_ns() - begin >= WAIT_NS);
    end_storm(&storm);
    gate_open(&gate, 1);
    lanepool_future_release(future);
    pool_end(pool);
    gate_fini(&gate);
}

/* What a thread can wait for, in a pool whose only worker is busy. */
struct waits {
    lanepool_pool *pool;
    lanepool_group *group;
    lanepool_pump *pump;
    lanepool_future *future;
};

static lanepool_status wait_for_future(const struct waits *waits)
{
    return lanepool_future_wait(waits->future, WAIT_NS, NULL);
}

static lanepool_status wait_for_member(const struct waits *waits)
{
    lanepool_completion completion;

    return lanepool_group_next(waits->group, WAIT_NS, &completion);
}

static lanepool_status wait_for_pump(const struct waits *waits)
{
    return lanepool_pump_run(waits->pump, 1, WAIT_NS, NULL);
}

static lanepool_status wait_for_room(const struct waits *waits)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);

    return lanepool_pool_submit_within(waits->pool, &task, WAIT_NS);
}

static lanepool_status wait_for_quiet(const struct waits *waits)
{
    return lanepool_pool_quiesce(waits->pool, WAIT_NS);
}

Test(signals, no_wait_of_any_kind_ends_early)
{
    static lanepool_status (*const kinds[])(const struct waits *) = {
        wait_for_future, wait_for_member, wait_for_pump, wait_for_room, wait_for_quiet
    };
    lanepool_group_options of_group = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct storm storm = { .stop = false };
    struct gate gate;
    struct step step = { .gate = &gate };
    lanepool_task task = step_task(&step, NULL, 0);
    struct waits waits;

    gate_init(&gate);
    options.workers = 1;
    options.pending_max = 1;
    of_group.keeps_completions = true;
    start_storm(&storm, NULL); /* also interrupts the creation */
    waits.pool = pool_make_with(&options);
    expect_ok(lanepool_group_create(&of_group, &waits.group));
    expect_ok(lanepool_pump_create(waits.pool, &waits.pump));
    task.group = waits.group;
    task.future = &waits.future;
    expect_ok(lanepool_pool_submit(waits.pool, &task));
    expect(gate_await(&gate, 1));
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        uint64_t begin = now_ns();

        expect_status(kinds[i](&waits), LANEPOOL_TIMED_OUT);
        expect(now_ns() - begin >= WAIT_NS);
    }
    gate_open(&gate, 1);
    expect_ok(lanepool_future_wait(waits.future, LANEPOOL_FOREVER, NULL));
    lanepool_future_release(waits.future);
    expect_ok(lanepool_pump_destroy(waits.pump));
    pool_end(waits.pool);
    end_storm(&storm);
    lanepool_group_destroy(waits.group);
    gate_fini(&gate);
}

/* Called by each worker: unblocks the signals, because workers take signals only if the program
 * says so. */
static void *take_signals(void *user, size_t worker_index)
{
    sigset_t storm;

    (void)worker_index;
    sigemptyset(&storm);
    sigaddset(&storm, SIGUSR1);
    sigaddset(&storm, SIGPROF);
    pthread_sigmask(SIG_UNBLOCK, &storm, NULL);
    return user;
}

/* --- event loops --- */

enum { MEMBERS = 1000, TURN = 20 };

/* An event loop that is interrupted: poll() answers EINTR, and the loop polls again. */
struct loop {
    lanepool_group *group;
    struct pollfd pollfd;
    struct step *steps;
    unsigned taken[MEMBERS];
    unsigned interrupted;
    bool is_done;
    bool is_wrong; /* poll() has failed in another way, or said what is not so */
};

/* Takes all that there is. If the descriptor was readable, there must be something. */
static void take_completions(struct loop *loop, bool is_readable)
{
    lanepool_completion completion;
    lanepool_status status = lanepool_group_next(loop->group, 0, &completion);

    loop->is_wrong |= is_readable && status == LANEPOOL_TIMED_OUT;
    while (status == LANEPOOL_OK) {
        loop->taken[(struct step *)completion.context - loop->steps]++;
        status = lanepool_group_next(loop->group, 0, &completion);
    }
    loop->is_done = status == LANEPOOL_DONE;
    loop->is_wrong |= status != LANEPOOL_DONE && status != LANEPOOL_TIMED_OUT;
}

static void turn(struct loop *loop)
{
    int ready = poll(&loop->pollfd, 1, -1);

    if (ready < 0) {
        loop->is_wrong |= errno != EINTR;
        loop->interrupted++;
    } else {
        take_completions(loop, true);
    }
}

/* Until the first signals have come, no member ends: then the loop has certainly been interrupted.
 */
Test(signals, each_completion_is_taken_by_an_interrupted_event_loop)
{
    static struct step steps[MEMBERS];
    struct gate gate;
    struct storm storm = { .stop = false };
    struct loop loop = { .pollfd = { .events = POLLIN }, .steps = steps };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    loop.group = group_make(true);
    expect_ok(lanepool_group_fd(loop.group, &loop.pollfd.fd));
    for (int i = 0; i < MEMBERS; i++) {
        steps[i] = (struct step){ .gate = i % TURN == 0 ? &gate : NULL };
        lanepool_task task = member_task(loop.group, &steps[i], &claim);
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_group_close(loop.group));
    start_storm(&storm, NULL);
    while (loop.interrupted == 0) {
        turn(&loop);
    }
    gate_open(&gate, MEMBERS / TURN);
    while (!loop.is_done) {
        turn(&loop);
    }
    end_storm(&storm);
    expect(!loop.is_wrong);
    for (int i = 0; i < MEMBERS; i++) {
        expect_eq(loop.taken[i], 1);
    }
    lanepool_group_destroy(loop.group);
    pool_end(pool);
    gate_fini(&gate);
}

Test(signals, work_goes_on_in_a_storm)
{
    enum { COUNT = 3000 };
    static struct step steps[COUNT];
    struct storm storm = { .stop = false };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    options.workers = 3;
    options.pending_max = 4; /* submits block all the time */
    options.worker_start = take_signals;
    pool = pool_make_with(&options);
    start_storm(&storm, NULL);
    for (uint32_t i = 0; i < COUNT; i++) {
        expect_ok(step_submit_rollup(pool, &steps[i], i % 5, 10 + i % 3));
    }
    pool_settle(pool);
    end_storm(&storm);
    pool_end(pool);
    for (int i = 0; i < COUNT; i++) {
        expect_eq(steps[i].runs, 1);
    }
}

/* The signal mask of a thread of the library, read in a call on it. */
struct look {
    sigset_t blocked;
    _Atomic bool was_called;
};

static void look_at_mask(struct look *look)
{
    pthread_sigmask(SIG_BLOCK, NULL, &look->blocked);
    atomic_store(&look->was_called, true);
}

static int look_body(lanepool_run *run, void *context)
{
    (void)run;
    look_at_mask(context);
    return 0;
}

static void look_when_cancelled(void *context, lanepool_status why)
{
    (void)why;
    look_at_mask(context);
}

static bool is_own_fault(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
           number == SIGTRAP || number == SIGSYS || number == SIGABRT;
}

/* The numbers between them are reserved for the system's threads. */
static void expect_only_own_faults(const struct look *look)
{
    expect(atomic_load(&look->was_called));
    for (int number = 1; number < SIGRTMAX; number++) {
        if (number == SIGKILL || number == SIGSTOP || (number > SIGSYS && number < SIGRTMIN)) {
            continue;
        }
        expect_eq(sigismember(&look->blocked, number), !is_own_fault(number));
    }
}

/* Reads the masks of a worker, and of the clock thread in a `cancelled`. `mask` is the mask of
 * the creating thread. */
static void look_at_threads_made_with(const sigset_t *mask)
{
    static struct look worker, clock;
    sigset_t before, after;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool;

    worker = clock = (struct look){ .was_called = false };
    expect_eq(pthread_sigmask(SIG_SETMASK, mask, &before), 0);
    pool = pool_make(1, LANEPOOL_PER_KEY);
    task.function = look_body;
    task.context = &worker;
    expect_ok(lanepool_pool_submit(pool, &task));
    task.cancelled = look_when_cancelled;
    task.context = &clock;
    expect_ok(lanepool_pool_submit_after(pool, &task, (int64_t)AN_HOUR_NS));
    expect_eq(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
    pool_end(pool);
    expect_only_own_faults(&worker);
    expect_only_own_faults(&clock);
    for (int number = 1; number < SIGSYS; number++) {
        expect_eq(sigismember(&after, number), sigismember(mask, number));
    }
}

Test(signals, threads_of_a_pool_block_all_but_their_own_faults)
{
    sigset_t mask;

    expect_eq(sigemptyset(&mask), 0);
    look_at_threads_made_with(&mask);
    expect_eq(sigaddset(&mask, SIGSEGV), 0);
    expect_eq(sigaddset(&mask, SIGTERM), 0);
    look_at_threads_made_with(&mask);
}

static _Atomic int handled;

static void count_signal(int number)
{
    (void)number;
    atomic_fetch_add(&handled, 1);
}

/* If the system had chosen a thread of the pool for the signal, the handler would have run there
 * before the thread's call returned. */
Test(signals, handler_does_not_run_on_threads_of_the_pool)
{
    struct sigaction action = { .sa_handler = count_signal };
    struct gate gate;
    struct step steps[2] = { { .gate = &gate }, { .gate = &gate } };
    sigset_t mask, pending;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_eq(sigaction(SIGUSR2, &action, NULL), 0);
    expect_ok(step_submit(pool, &steps[0]));
    expect_ok(step_submit(pool, &steps[1]));
    expect(gate_await(&gate, 2));
    expect_eq(sigemptyset(&mask), 0);
    expect_eq(sigaddset(&mask, SIGUSR2), 0);
    expect_eq(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
    expect_eq(kill(getpid(), SIGUSR2), 0);
    gate_open(&gate, 2);
    pool_end(pool);
    expect_eq(atomic_load(&handled), 0);
    expect_eq(sigpending(&pending), 0);
    expect_eq(sigismember(&pending, SIGUSR2), 1);
    expect_eq(pthread_sigmask(SIG_UNBLOCK, &mask, NULL), 0);
    expect_eq(atomic_load(&handled), 1);
    gate_fini(&gate);
}
