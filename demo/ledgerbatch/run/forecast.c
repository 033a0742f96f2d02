/* Owns the command plan. */
#include "run/forecast.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "model/model.h"
#include "run/input.h"
#include "run/task_claims.h"
#include "watch/watch.h"

/*
 * How long tasks take without a recording. A recording of a SmallBank book has 0.4 us for a
 * transaction and 3 us for a visit. About as much as a transaction is the pool's own work.
 */
#define POST_NS   UINT64_C(1000)
#define CLIENT_NS UINT64_C(3000) /* of a rollup, for each client */
#define CUT_NS    UINT64_C(500)  /* of the end of a cut */

/* The times of the tasks with one tag. Of a rollup, visits and functions are divided by clients. */
struct cost {
    uint64_t ns;
    uint64_t clients; /* of a transaction: 1 */
    uint64_t cut_ns;  /* of functions of cuts */
    uint64_t cuts;
};

struct forecast {
    const struct plan *plan;
    lanepool_plan *planned;
    struct cost costs[RECORDING_TAGS]; /* by tag; without `clients`: no such task is known */
    enum on_quarantine on_quarantine;
    uint64_t wait_ns; /* --task-wait-us */
};

/* --- durations --- */

static bool is_rollup(const struct task *task)
{
    return task->kind != TASK_POST;
}

static uint64_t visits_ns(const struct model *model, size_t entry)
{
    struct model_visits visits = model_visits_of(model, entry);
    uint64_t sum = 0;
    for (size_t i = 0; i < visits.count; i++) {
        sum += model_until(model, visits.items[i].to) - visits.items[i].from;
    }
    return sum;
}

static void add_recorded_task(struct forecast *forecast, const struct model *model,
                              const lanepool_replay_task *task)
{
    struct cost *cost = &forecast->costs[task->tag % RECORDING_TAGS];
    if (task->is_cut) {
        cost->cut_ns += task->ran_ns;
        cost->cuts++;
    }
    for (size_t i = task->first_entry; i != LANEPOOL_REPLAY_NONE && task->is_cut;
         i = model->replay->entries[i].next_of_task) {
        cost->ns += visits_ns(model, i);
    }
    cost->ns += task->is_cut ? 0 : task->ran_ns;
    cost->clients += task->lane_count;
}

static bool read_costs(struct forecast *forecast, const char *file, struct problem *problem)
{
    struct recording recording;
    struct model model;
    bool read = recording_read(&recording, file, problem);
    if (read) {
        model_init(&model, &recording, true);
        (void)model_feed_until(&model, 0, LANEPOOL_REPLAY_UNSEEN);
        for (size_t i = 0; i < model.replay->task_count; i++) {
            if (model.replay->tasks[i].state == LANEPOOL_REPLAY_ENDED) {
                add_recorded_task(forecast, &model, &model.replay->tasks[i]);
            }
        }
        model_fini(&model);
    }
    recording_fini(&recording);
    return read;
}

/* Returns how long a transaction takes, or a rollup for one of its clients. A recorded rollup over
 * n lanes counts n times; so does a transfer, which has all of its lanes at once. */
static uint64_t cost_of(const struct forecast *forecast, uint32_t tag, const struct task *task,
                        size_t lane_count)
{
    const struct cost *cost = &forecast->costs[tag % RECORDING_TAGS];
    if (cost->clients == 0) {
        return forecast->wait_ns + (is_rollup(task) ? CLIENT_NS : POST_NS);
    }
    return is_rollup(task) ? cost->ns / cost->clients : cost->ns * lane_count / cost->clients;
}

static uint64_t cut_cost_of(const struct forecast *forecast, uint32_t tag)
{
    const struct cost *cost = &forecast->costs[tag % RECORDING_TAGS];
    return cost->cuts == 0 ? CUT_NS : cost->cut_ns / cost->cuts;
}

/* --- tasks --- */

static lanepool_status add_task(struct forecast *forecast, const struct task *task,
                                struct lane_list *lanes, struct task_claims *claims)
{
    const struct plan *plan = forecast->plan;
    bool is_cut = task_is_cut(plan, forecast->on_quarantine, task);
    claims->count = 0;
    plan_lanes(plan, task, lanes);
    task_claims_add(claims, plan, task, lanes, is_cut);
    uint32_t tag = watch_tag(task, lanes->count);
    uint64_t ns = cost_of(forecast, tag, task, lanes->count);
    bool is_blocking = is_rollup(task) && !is_cut;
    lanepool_plan_task planned = { .claims = claims->items,
                                   .claim_count = claims->count,
                                   .duration_ns = is_cut        ? cut_cost_of(forecast, tag)
                                                  : is_blocking ? ns * lanes->count
                                                                : ns,
                                   .visit_ns = is_cut ? ns : 0,
                                   .form = is_cut ? LANEPOOL_PLAN_CUT : LANEPOOL_PLAN_PLAIN,
                                   .tag = tag };
    if (claims->count == 0) {
        planned.form = LANEPOOL_PLAN_PLAIN;
        planned.visit_ns = 0;
    }
    return lanepool_plan_add(forecast->planned, &planned);
}

static bool add_tasks(struct forecast *forecast, struct problem *problem)
{
    struct lane_list lanes = { 0 };
    struct task_claims claims = { 0 };
    lanepool_status status = lanepool_plan_create(&forecast->planned);
    for (size_t i = 0; i < forecast->plan->task_count && status == LANEPOOL_OK; i++) {
        status = add_task(forecast, &forecast->plan->tasks[i], &lanes, &claims);
    }
    free(lanes.items);
    free(claims.items);
    return status == LANEPOOL_OK ||
           problem_set(problem, EXIT_CODE_IO, "the plan cannot be made: %s",
                       lanepool_status_text(status));
}

/* --- the report --- */

static void name_task(const void *context, size_t number, char name[PLAN_REPORT_NAME_SIZE])
{
    const struct plan *plan = ((const struct forecast *)context)->plan;
    const struct task *task = &plan->tasks[number];
    const char *kind = task_kind_word((enum task_kind)task->kind);
    if (!is_rollup(task)) {
        snprintf(name, PLAN_REPORT_NAME_SIZE, "#%u %s", (unsigned)task->seq, kind);
        return;
    }
    struct slice group = plan->clients.groups[task->subject].name;
    snprintf(name, PLAN_REPORT_NAME_SIZE, "#%u %s %u-%02u%s%.*s", (unsigned)task->seq, kind,
             (unsigned)(task->month / 12), (unsigned)(task->month % 12 + 1),
             group.size > 0 ? " of " : "", (int)(group.size < 64 ? group.size : 64),
             group.size > 0 ? group.data : "");
}

/* The first claims of a task are its lanes; behind them is the key of its group. */
static void name_key(const void *context, size_t number, size_t claim,
                     char name[PLAN_REPORT_NAME_SIZE])
{
    const struct plan *plan = ((const struct forecast *)context)->plan;
    struct lane_list lanes = { 0 };
    plan_lanes(plan, &plan->tasks[number], &lanes);
    uint32_t lane = claim < lanes.count ? lanes.items[claim] : plan_house_lane(plan);
    if (claim >= lanes.count) {
        snprintf(name, PLAN_REPORT_NAME_SIZE, "a group");
    } else if (lane == plan_house_lane(plan)) {
        snprintf(name, PLAN_REPORT_NAME_SIZE, "%s", PLAN_HOUSE_NAME);
    } else {
        struct slice client = plan->clients.items[lane].name;
        snprintf(name, PLAN_REPORT_NAME_SIZE, "%.*s", (int)(client.size < 100 ? client.size : 100),
                 client.data);
    }
    free(lanes.items);
}

/* Postings and transfers are no rollups. */
static const char *name_tag(const void *context, unsigned tag)
{
    (void)context;
    return tag > TASK_POST && tag <= TASK_STEP ? task_kind_word((enum task_kind)tag) : NULL;
}

static void print_text(void *context, const char *text)
{
    (void)context;
    fputs(text, stdout);
}

static bool print_plan(struct forecast *forecast, const struct forecast_options *options,
                       struct problem *problem)
{
    static const unsigned usual[] = { 1, 2, 4, 8, 16 };
    struct plan_names names = { forecast, name_task, name_key, name_tag };
    const unsigned *counts = options->count > 0 ? options->worker_counts : usual;
    size_t count = options->count > 0 ? options->count : sizeof usual / sizeof *usual;
    if (options->trace) {
        printf("durations: measured, from %s\n", options->trace);
    } else {
        printf("durations: assumed, %u ns for a transaction and %u ns for each client of a rollup",
               (unsigned)POST_NS, (unsigned)CLIENT_NS);
        printf(forecast->wait_ns > 0 ? ", and %u us of --task-wait-us\n" : "\n",
               (unsigned)(forecast->wait_ns / 1000));
    }
    return plan_report(forecast->planned, counts, count, counts[count - 1], &names, print_text,
                       NULL, problem);
}

bool forecast_command(struct run_options *run, const struct forecast_options *options,
                      struct problem *problem)
{
    struct plan plan;
    struct forecast *forecast = memory_zeroed(1, sizeof *forecast);
    forecast->plan = &plan;
    forecast->on_quarantine = run->on_quarantine;
    forecast->wait_ns = (uint64_t)run->task_wait_us * 1000;
    bool done = input_begin(&plan, run, problem) && input_make_plan(&plan, run, problem) &&
                (!options->trace || read_costs(forecast, options->trace, problem)) &&
                add_tasks(forecast, problem) && print_plan(forecast, options, problem);
    lanepool_plan_destroy(forecast->planned);
    free(forecast);
    plan_fini(&plan);
    return done;
}
