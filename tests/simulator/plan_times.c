/*
 * Plans beside runs of a pool, in virtual time.
 *
 *     plan_times [--seed FIRST] [--count SEEDS] [--tasks MOST]
 *
 * Each seed draws tasks and a number of workers. All tasks are submitted to a paused pool, which
 * then runs them. Durations are so different that no two tasks end
 * at the same moment.
 *
 * In a pool with one order for all workers, each task must start and end when the plan says. Visits
 * of a cut that begin together end together, and the schedule decides which worker is first. So a
 * workload with visits is run with some schedules, until one is that of the plan. A pool
 * without it has an order for each worker, and a plan has one for all. There the run must keep
 * within the bounds that hold for every order: it takes no less than the path and an equal share of
 * the work, and no more than the path and an equal share of the rest. The program prints how far
 * the plans are off.
 *
 * In a run in one order and without visits, a snapshot is taken at some moment. The forecast of
 * each task that has not started must be right, and so must the number of tasks before it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanepool/lanepool.h"
#include "simulator/forecasts.h"
#include "simulator/simulator.h"
#include "stress/arguments.h"
#include "support/memory.h"
#include "support/random.h"

enum {
    CLAIMS_MOST = 6,
    WIDE_MOST = 200,
    KEYS_MOST = 24,
    WORKERS_MOST = 9,
    SCHEDULES = 30,
    EVENTS = 1 << 14
};
/* The library's steps take no time, but each time that it reads the clock is one nanosecond later.
 * So durations are in units, and parts of units are left out. */
#define UNIT_NS    (UINT64_C(1) << 16)
#define UNITS_MOST (UINT64_C(1) << 28) /* of a function or a visit: so no two sums are the same */

static struct {
    struct forecast_task *tasks;
    lanepool_claim *claims;
    size_t task_count;
    unsigned workers;
    bool in_one_order;
    bool has_forecasts;
    uint64_t begin_ns;
    uint64_t snapshot_ns; /* when the snapshot is taken, after the start */
} run;

/* --- tasks --- */

static int call(lanepool_run *call, void *context)
{
    struct forecast_task *task = context;

    (void)call;
    task->seen.start_ns = sim_now() - run.begin_ns;
    sim_sleep(task->planned.duration_ns);
    task->seen.end_ns = sim_now() - run.begin_ns;
    return 0;
}

static int visit(lanepool_run *call, void *context, size_t index)
{
    const struct forecast_task *task = context;

    (void)call;
    (void)index;
    sim_sleep(task->planned.visit_ns);
    return 0;
}

static uint64_t draw_ns(uint64_t *random)
{
    return UNIT_NS * (1 + random_next(random) % UNITS_MOST);
}

/* Most tasks have few claims. Every second workload has no visits, and so forecasts. Their keys are
 * of one of three sizes of groups, so that some lanes are long. */
static void draw_task(struct forecast_task *task, lanepool_claim *claims, uint64_t *random,
                      unsigned keys, bool may_visit)
{
    lanepool_plan_task *planned = &task->planned;
    bool is_wide = random_below(random, 40) == 0;
    uint32_t most = is_wide ? WIDE_MOST : random_below(random, 3) == 0 ? CLAIMS_MOST : 1;
    uint32_t form = random_below(random, 24);

    *task =
        (struct forecast_task){ .planned = { .claims = claims, .duration_ns = draw_ns(random) } };
    planned->claim_count = is_wide ? most : random_below(random, most + 1);
    planned->form = form < 2 && may_visit && planned->claim_count > 0
                        ? (lanepool_plan_form)(form + 1)
                        : LANEPOOL_PLAN_PLAIN;
    planned->visit_ns = planned->form != LANEPOOL_PLAN_PLAIN ? draw_ns(random) : 0;
    for (size_t i = 0; i < planned->claim_count; i++) {
        uint32_t modes = planned->form == LANEPOOL_PLAN_PLAIN ? 3 : 2;
        uint32_t mode = random_below(random, 2) == 0 ? 0 : random_below(random, modes);
        uint32_t all = is_wide ? WIDE_MOST + KEYS_MOST : keys;

        claims[i] =
            lanepool_claim_of(lanepool_key_id(random_below(random, all)), (lanepool_mode)mode);
    }
}

static void draw(uint64_t seed, size_t most)
{
    uint64_t random = seed;
    unsigned keys = 1 + random_below(&random, KEYS_MOST);

    run.workers = 1 + random_below(&random, WORKERS_MOST);
    run.task_count = 1 + random_below(&random, (uint32_t)most);
    for (size_t i = 0; i < run.task_count; i++) {
        draw_task(&run.tasks[i], run.claims + i * WIDE_MOST, &random, keys, seed % 2 == 0);
    }
}

/* --- the pool --- */

static void submit_all(lanepool_pool *pool)
{
    for (size_t i = 0; i < run.task_count; i++) {
        const lanepool_plan_task *planned = &run.tasks[i].planned;
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = call;
        task.context = &run.tasks[i];
        task.claims = planned->claims;
        task.claim_count = planned->claim_count;
        task.at_lane = planned->form == LANEPOOL_PLAN_CUT ? visit : NULL;
        task.at_grant = planned->form == LANEPOOL_PLAN_PROGRESSIVE ? visit : NULL;
        if (lanepool_pool_submit(pool, &task) != LANEPOOL_OK) {
            sim_fail("a task was refused");
        }
    }
}

static void serve(void *argument)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_snapshot *snapshot = NULL;
    lanepool_pool *pool;

    (void)argument;
    options.workers = run.workers;
    options.pending_max = LANEPOOL_UNLIMITED;
    options.trace_events = run.has_forecasts ? EVENTS : 0;
    options.priorities = run.in_one_order;
    options.priority_age_ns = run.in_one_order ? LANEPOOL_FOREVER : 0;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK) {
        sim_fail("the pool was not created");
    }
    bool ok = lanepool_pool_pause(pool) == LANEPOOL_OK;
    sim_sleep(UNIT_NS); /* a worker that was about to take a task would put it back behind others */
    submit_all(pool);
    ok &= lanepool_snapshot_take(pool, &snapshot) == LANEPOOL_OK; /* routes all */
    lanepool_snapshot_release(snapshot);
    run.begin_ns = sim_now();
    if (!ok || lanepool_pool_resume(pool) != LANEPOOL_OK) {
        sim_fail("the pool does not run");
    }
    sim_sleep(run.snapshot_ns);
    if (run.has_forecasts && !forecasts_take(pool, run.begin_ns)) {
        sim_fail("a forecast was refused");
    }
    if (lanepool_pool_destroy(pool) != LANEPOOL_OK) {
        sim_fail("the pool does not end");
    }
}

static uint64_t makespan_seen(void)
{
    uint64_t end_ns = 0;

    for (size_t i = 0; i < run.task_count; i++) {
        end_ns = run.tasks[i].seen.end_ns > end_ns ? run.tasks[i].seen.end_ns : end_ns;
    }
    return end_ns;
}

/* --- the plan --- */

static lanepool_plan_result plan_run(lanepool_plan_time *times)
{
    lanepool_plan *plan;
    lanepool_plan_result result = { 0 };
    lanepool_plan_pool pool = { .workers = run.workers, .in_one_order = run.in_one_order };
    bool ok = lanepool_plan_create(&plan) == LANEPOOL_OK;

    for (size_t i = 0; ok && i < run.task_count; i++) {
        ok = lanepool_plan_add(plan, &run.tasks[i].planned) == LANEPOOL_OK;
    }
    if (!ok || lanepool_plan_run(plan, &pool, &result, times) != LANEPOOL_OK) {
        printf("the plan was refused\n");
        exit(1);
    }
    lanepool_plan_destroy(plan);
    return result;
}

/* Returns the first task that has other times; `task_count` if there is none. */
static size_t find_other_time(const lanepool_plan_time *times)
{
    size_t i = 0;

    while (i < run.task_count &&
           run.tasks[i].seen.start_ns / UNIT_NS == times[i].start_ns / UNIT_NS &&
           run.tasks[i].seen.end_ns / UNIT_NS == times[i].end_ns / UNIT_NS) {
        i++;
    }
    return i;
}

static bool has_visits(void)
{
    size_t i = 0;

    while (i < run.task_count && run.tasks[i].planned.form == LANEPOOL_PLAN_PLAIN) {
        i++;
    }
    return i < run.task_count;
}

/* Every order that lets no worker idle beside a ready task keeps within these bounds. */
static bool is_within_bounds(uint64_t seed, const lanepool_plan_result *result, uint64_t seen_ns)
{
    uint64_t share_ns = result->work_ns / run.workers;
    uint64_t least_ns = share_ns > result->path_ns ? share_ns : result->path_ns;
    uint64_t most_ns = result->path_ns + (result->work_ns - result->path_ns) / run.workers + 1;

    if (seen_ns < least_ns || seen_ns > most_ns + UNIT_NS || result->makespan_ns < least_ns ||
        result->makespan_ns > most_ns) {
        printf("seed %" PRIu64 ", %u workers: %" PRIu64 " ns, planned %" PRIu64
               "; the bounds are %" PRIu64 " and %" PRIu64 "\n",
               seed, run.workers, seen_ns, result->makespan_ns, least_ns, most_ns);
        return false;
    }
    return true;
}

static bool run_pool(uint64_t seed, uint64_t schedule)
{
    struct sim_options options = { .seed = seed + schedule * 1000003,
                                   .strategy =
                                       (enum sim_strategy)((seed + schedule) % SIM_STRATEGIES),
                                   .steps_max = UINT64_MAX };
    struct sim_report report;

    if (!sim_run(&options, serve, NULL, &report)) {
        printf("seed %" PRIu64 ": %s\n", seed, report.why);
        return false;
    }
    return true;
}

/* Half a unit after the start of some task, or before all. */
static void choose_moment(uint64_t seed, uint64_t makespan_ns)
{
    uint64_t random = seed + 1;

    run.has_forecasts = !has_visits();
    run.snapshot_ns = run.has_forecasts
                          ? random_next(&random) % makespan_ns / UNIT_NS * UNIT_NS + UNIT_NS / 2
                          : 0;
    for (size_t i = 0; i < run.task_count; i++) {
        run.tasks[i].forecast_ns = UINT64_MAX;
    }
}

static bool are_forecasts_right(uint64_t seed)
{
    size_t wrong = forecasts_find_wrong(run.tasks, run.task_count, UNIT_NS);

    if (wrong == run.task_count) {
        return true;
    }
    printf("seed %" PRIu64 ", %u workers: task %zu of %zu started at %" PRIu64
           " ns, the forecast of %" PRIu64 " ns says %" PRIu64
           "; tasks before it: %zu, forecast %zu\n",
           seed, run.workers, wrong, run.task_count, run.tasks[wrong].seen.start_ns,
           run.snapshot_ns, run.tasks[wrong].forecast_ns, run.tasks[wrong].before_seen,
           run.tasks[wrong].before);
    return false;
}

static bool is_as_planned(uint64_t seed, lanepool_plan_time *times)
{
    unsigned schedules = has_visits() ? SCHEDULES : 1;
    size_t other = 0;

    run.in_one_order = true;
    lanepool_plan_result result = plan_run(times);
    choose_moment(seed, result.makespan_ns);
    for (unsigned schedule = 0; schedule < schedules; schedule++) {
        if (!run_pool(seed, schedule) || !is_within_bounds(seed, &result, makespan_seen())) {
            return false;
        }
        other = find_other_time(times);
        if (other == run.task_count) {
            return are_forecasts_right(seed);
        }
    }
    printf("seed %" PRIu64 ", %u workers: task %zu of %zu ran from %" PRIu64 " to %" PRIu64
           " ns, the plan says from %" PRIu64 " to %" PRIu64 "\n",
           seed, run.workers, other, run.task_count, run.tasks[other].seen.start_ns,
           run.tasks[other].seen.end_ns, times[other].start_ns, times[other].end_ns);
    return false;
}

/* Sets *off to how far the plan is off. */
static bool is_nearly_as_planned(uint64_t seed, double *off)
{
    run.in_one_order = false;
    run.has_forecasts = false;
    run.snapshot_ns = 0;
    lanepool_plan_result result = plan_run(NULL);
    if (!run_pool(seed, 0) || !is_within_bounds(seed, &result, makespan_seen())) {
        return false;
    }
    *off = (double)result.makespan_ns / (double)makespan_seen() - 1;
    *off = *off < 0 ? -*off : *off;
    return true;
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "--seed", "--count", "--tasks", NULL };

    arguments_only(argc, argv, names);
    size_t first = argument_number(argc, argv, "--seed", 1);
    size_t count = argument_number(argc, argv, "--count", 300);
    size_t most = argument_number(argc, argv, "--tasks", 400);
    lanepool_plan_time *times = memory_get(most, sizeof *times);
    double sum = 0, largest = 0;
    bool passes = true;

    run.tasks = memory_get(most, sizeof *run.tasks);
    run.claims = memory_get(most * WIDE_MOST, sizeof *run.claims);
    for (uint64_t seed = first; passes && seed < first + count; seed++) {
        double off = 0;

        draw(seed, most);
        passes = is_as_planned(seed, times) && is_nearly_as_planned(seed, &off);
        sum += off;
        largest = off > largest ? off : largest;
    }
    if (passes) {
        printf("%zu runs in one order: each task as planned. %zu without: %.2f %% off on average, "
               "%.2f %% at most\n",
               count, count, 100 * sum / (double)count, 100 * largest);
    }
    free(run.claims);
    free(run.tasks);
    free(times);
    return passes ? 0 : 1;
}
