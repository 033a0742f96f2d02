/* A program that crashes or exits while tasks run ends at once: the library does not delay it. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { WORKERS = 3, EXIT_CODE = 7 };

/* How the child ends, and what it records before. */
struct crash {
    lanepool_task_fn last_act; /* the last act of a task; or NULL: the submitter exits */
    bool at_the_end;           /* the child called the atexit() handler */
};

static struct crash *crash; /* for at_exit(), which has no argument */

static int abort_inside(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    abort();
}

static int write_where_nobody_may(lanepool_run *run, void *context)
{
    volatile int *place = mmap(NULL, sizeof *place, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)run;
    (void)context;
    *place = 1;
    return 0;
}

static int exit_inside(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    exit(EXIT_CODE);
}

static void at_exit(void)
{
    crash->at_the_end = true;
}

/* One worker is in a task that does not end, one runs the last act, one sleeps. Other tasks
 * wait. */
static void end_in_the_midst(void *context)
{
    static struct gate gate;
    static struct step holder = { .gate = &gate };
    static struct step waiting[10];
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool;

    crash = context;
    gate_init(&gate);
    atexit(at_exit);
    options.workers = WORKERS;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK ||
        step_submit_on(pool, &holder, 1) != LANEPOOL_OK || !gate_await(&gate, 1)) {
        return;
    }
    for (int i = 0; i < 10; i++) {
        if (step_submit_on(pool, &waiting[i], 1) != LANEPOOL_OK) {
            return;
        }
    }
    task.function = crash->last_act;
    if (!crash->last_act) {
        exit(EXIT_CODE);
    }
    if (lanepool_pool_submit(pool, &task) == LANEPOOL_OK) {
        (void)!lanepool_pool_quiesce(pool, LANEPOOL_FOREVER); /* never returns */
    }
}

static int end_of(lanepool_task_fn last_act, bool *at_the_end)
{
    struct crash *shared = process_shared_memory(sizeof *shared);
    int status;

    shared->last_act = last_act;
    status = process_run_apart(end_in_the_midst, shared);
    *at_the_end = shared->at_the_end;
    process_shared_memory_free(shared, sizeof *shared);
    return status;
}

Test(crashes, abort_in_a_task_ends_the_process)
{
    bool at_the_end;
    int status = end_of(abort_inside, &at_the_end);

    expect(WIFSIGNALED(status));
    expect_eq(WTERMSIG(status), SIGABRT);
}

Test(crashes, bad_memory_access_in_a_task_ends_the_process)
{
    bool at_the_end;
    int status = end_of(write_where_nobody_may, &at_the_end);

    expect(WIFSIGNALED(status));
    expect_eq(WTERMSIG(status), SIGSEGV);
}

Test(crashes, exit_in_a_task_calls_the_handlers_and_ends)
{
    bool at_the_end;
    int status = end_of(exit_inside, &at_the_end);

    expect(WIFEXITED(status));
    expect_eq(WEXITSTATUS(status), EXIT_CODE);
    expect(at_the_end);
}

Test(crashes, exit_beside_a_busy_pool_calls_the_handlers_and_ends)
{
    bool at_the_end;
    int status = end_of(NULL, &at_the_end);

    expect(WIFEXITED(status));
    expect_eq(WEXITSTATUS(status), EXIT_CODE);
    expect(at_the_end);
}

/* --- the last events --- */

enum { EVENTS_MAX = 256 };

/* The events that the handler has read, in memory that it shares with the parent. */
struct last_events {
    size_t count;
    lanepool_event events[EVENTS_MAX];
    lanepool_trace_reader *reader;
};

static struct last_events *last_events; /* for the handler, which has no argument */

static void read_events(int signal_number)
{
    struct last_events *found = last_events;

    if (lanepool_trace_read(found->reader, found->events, EVENTS_MAX, &found->count) !=
        LANEPOOL_OK) {
        found->count = 0;
    }
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

static void crash_with_a_handler(void *context)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool;

    last_events = context;
    options.workers = 2;
    options.trace_events = EVENTS_MAX;
    task.function = abort_inside;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK ||
        lanepool_trace_open(pool, &last_events->reader) != LANEPOOL_OK ||
        signal(SIGABRT, read_events) == SIG_ERR ||
        lanepool_pool_submit(pool, &task) != LANEPOOL_OK) {
        return;
    }
    (void)!lanepool_pool_quiesce(pool, LANEPOOL_FOREVER); /* never returns */
}

Test(crashes, the_last_events_can_be_read_in_a_crash)
{
    struct last_events *found = process_shared_memory(sizeof *found);
    int status = process_run_apart(crash_with_a_handler, found);
    uint32_t starts = 0;
    uint32_t ends = 0;

    for (size_t i = 0; i < found->count; i++) {
        starts += found->events[i].type == LANEPOOL_EVENT_START;
        ends += found->events[i].type == LANEPOOL_EVENT_END;
    }
    process_shared_memory_free(found, sizeof *found);
    expect(WIFSIGNALED(status));
    expect_eq(WTERMSIG(status), SIGABRT);
    expect_eq(starts, 1);
    expect_eq(ends, 0);
}
