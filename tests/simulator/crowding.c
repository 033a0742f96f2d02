/*
 * Measures how many claims wait in lanes while the inbox has a backlog. Each task claims two of
 * 1,024 keys. The engine has its real sizes, and each step takes a fixed time.
 *
 *     crowding
 *
 * One task keeps its worker, and its two lanes, for 5 ms. The other worker could route the whole
 * backlog meanwhile, and all lanes would be blocked for as long as there is a backlog. The program
 * fails if too many tasks are routed in these 5 ms, or if too many claims wait after them.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lanepool/lanepool.h"
#include "simulator/simulator.h"
#include "support/memory.h"
#include "support/random.h"

/* A task takes some 100 steps, as long as some 300 ns of a processor. */
#define STEP_NS UINT64_C(3)
#define HOLD_NS UINT64_C(5000000)
/* Without the naps 19,000 tasks or more are routed in the meantime. If workers with few ready tasks
 * route beside crowded lanes, 17 % of the claims wait, and 100 % if a hold goes on past rollups. */
#define ROUTED_MOST     16500
#define WAITING_MOST_PC 14.0

enum { KEYS = 1024, BEFORE = 5000, AFTER = 50000, TASKS = 80000, RUNS = 4 };
enum { CLAIMS = 2 * TASKS };

static uint64_t random_state;
static uint64_t hold_begin;
static uint64_t hold_end;
static lanepool_event events[CLAIMS];

/* --- the pool --- */

static int pass(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

static int hold(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    hold_begin = sim_now();
    sim_sleep(HOLD_NS);
    hold_end = sim_now();
    return 0;
}

static void expect_ok(lanepool_status status)
{
    if (status != LANEPOOL_OK) {
        sim_fail("a call fails: %s", lanepool_status_name(status));
    }
}

static void submit_all(lanepool_pool *pool)
{
    for (int i = 0; i < TASKS; i++) {
        lanepool_claim claims[2] = { lanepool_exclusive(random_below(&random_state, KEYS)),
                                     lanepool_exclusive(random_below(&random_state, KEYS)) };
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = i == BEFORE ? hold : pass;
        task.claims = claims;
        task.claim_count = 2;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
}

static void read_events(lanepool_trace_reader *reader, size_t *count)
{
    size_t more;

    do {
        expect_ok(lanepool_trace_read(reader, events + *count, CLAIMS - *count, &more));
        *count += more;
    } while (more > 0);
    if (lanepool_trace_missed(reader) > 0) {
        sim_fail("events were overwritten");
    }
}

static void run_all(void *argument)
{
    size_t *count = argument;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_trace_reader *reader;
    lanepool_pool *pool;

    options.workers = 2;
    options.trace_events = CLAIMS;
    expect_ok(lanepool_pool_create(&options, &pool));
    expect_ok(lanepool_trace_choose(pool, 1u << LANEPOOL_EVENT_ENTER, 1));
    expect_ok(lanepool_trace_open(pool, &reader));
    submit_all(pool);
    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    read_events(reader, count);
    lanepool_trace_close(reader);
    expect_ok(lanepool_pool_destroy(pool));
}

/* --- the figures --- */

static double percent_waiting(size_t from, size_t to)
{
    size_t waiting = 0;

    for (size_t i = from; i < to; i++) {
        waiting += (events[i].detail & LANEPOOL_EVENT_GRANTED) == 0;
    }
    return 100.0 * (double)waiting / (double)(to - from);
}

static size_t count_until(uint64_t time_ns, size_t count)
{
    size_t at = 0;

    while (at < count && events[at].time_ns <= time_ns) {
        at++;
    }
    return at;
}

static bool judge(size_t count)
{
    size_t begin = count_until(hold_begin, count);
    size_t end = count_until(hold_end, count);
    size_t last = end + (size_t)2 * AFTER;

    if (last > count) {
        printf("too few tasks are left: %zu of %zu claims\n", end, count);
        return false;
    }
    double waiting = percent_waiting(end, last);
    printf(
        "waiting claims: %.1f %% before, %.1f %% of the next %d tasks; %zu tasks were routed while "
        "one worker was held\n",
        percent_waiting(0, begin), waiting, AFTER, (end - begin) / 2);
    return waiting < WAITING_MOST_PC && (end - begin) / 2 < ROUTED_MOST;
}

static bool measure(uint64_t seed)
{
    struct sim_options options = {
        .seed = seed, .strategy = SIM_BURSTS, .step_ns = STEP_NS, .steps_max = UINT64_MAX
    };
    struct sim_report report;
    size_t count = 0;

    random_state = seed;
    if (!sim_run(&options, run_all, &count, &report)) {
        printf("%s\n", report.why);
        return false;
    }
    printf("%llu steps; ", (unsigned long long)report.steps);
    return judge(count);
}

int main(void)
{
    bool passed = true;

    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        passed &= measure(seed);
    }
    return !passed;
}
