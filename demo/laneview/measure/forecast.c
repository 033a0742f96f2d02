/* Owns the plan of a run. A lane of the run is a key of the plan, with the lane's index. */
#include "measure/forecast.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "memory.h"
#include "model/describe.h"
#include "plan_report.h"

struct forecast {
    const struct model *model;
    lanepool_plan *plan;
    size_t *tasks; /* of the model, by ticket */
    size_t task_count;
    size_t left_out; /* tasks that have not run */
    uint64_t first_ns, last_ns;
};

static const lanepool_replay_task *task_of(const struct forecast *forecast, size_t number)
{
    return &forecast->model->replay->tasks[forecast->tasks[number]];
}

/* --- tasks --- */

static bool has_run(const lanepool_replay_task *task)
{
    return task->has_ticket && task->state == LANEPOOL_REPLAY_ENDED &&
           task->start_ns != LANEPOOL_REPLAY_UNSEEN && task->end_ns != LANEPOOL_REPLAY_UNSEEN;
}

struct ticketed {
    uint64_t ticket;
    size_t task;
};

/* Tickets start again at 0: the later half is before the earlier one. */
static int compare_tickets(const void *a, const void *b)
{
    uint64_t first = ((const struct ticketed *)a)->ticket;
    uint64_t second = ((const struct ticketed *)b)->ticket;
    bool is_near = (first > second ? first - second : second - first) < RECORDING_TICKET_COUNT / 2;
    int order = (first > second) - (first < second);
    return is_near ? order : -order;
}

static void sort_tasks(struct forecast *forecast)
{
    const lanepool_replay *replay = forecast->model->replay;
    struct ticketed *sorted = memory_zeroed(replay->task_count + 1, sizeof *sorted);
    for (size_t i = 0; i < replay->task_count; i++) {
        if (has_run(&replay->tasks[i])) {
            sorted[forecast->task_count++] = (struct ticketed){ replay->tasks[i].ticket, i };
        } else {
            forecast->left_out++;
        }
    }
    qsort(sorted, forecast->task_count, sizeof *sorted, compare_tickets);
    forecast->tasks = memory_zeroed(forecast->task_count + 1, sizeof *forecast->tasks);
    for (size_t i = 0; i < forecast->task_count; i++) {
        forecast->tasks[i] = sorted[i].task;
    }
    free(sorted);
}

/* Returns how long all visits of an entry took. */
static uint64_t visits_ns(struct forecast *forecast, size_t entry)
{
    struct model_visits visits = model_visits_of(forecast->model, entry);
    uint64_t sum = 0;
    for (size_t i = 0; i < visits.count; i++) {
        if (visits.items[i].to != LANEPOOL_REPLAY_UNSEEN) {
            sum += visits.items[i].to - visits.items[i].from;
            forecast->first_ns = visits.items[i].from < forecast->first_ns ? visits.items[i].from
                                                                           : forecast->first_ns;
        }
    }
    return sum;
}

/* A damaged recording may have a cut with a COMMUTING claim. */
static lanepool_mode mode_of(const lanepool_replay_task *task, const lanepool_replay_entry *entry)
{
    bool is_wrong = task->is_cut && entry->mode == LANEPOOL_COMMUTING;
    return is_wrong ? LANEPOOL_EXCLUSIVE : (lanepool_mode)entry->mode;
}

/* Adds a task with its claims. Each visit of a cut takes as long as all of them do on average. */
static lanepool_status add_task(struct forecast *forecast, const lanepool_replay_task *task)
{
    const lanepool_replay *replay = forecast->model->replay;
    lanepool_claim *claims = memory_zeroed(task->entry_count + 1, sizeof *claims);
    lanepool_plan_task planned = { .claims = claims,
                                   .duration_ns = task->ran_ns,
                                   .form = task->is_cut ? LANEPOOL_PLAN_CUT : LANEPOOL_PLAN_PLAIN,
                                   .tag = task->tag };
    uint64_t visited_ns = 0;
    for (size_t i = task->first_entry; i != LANEPOOL_REPLAY_NONE;
         i = replay->entries[i].next_of_task) {
        const lanepool_replay_entry *entry = &replay->entries[i];
        claims[planned.claim_count++] =
            lanepool_claim_of(lanepool_key_id(entry->lane), mode_of(task, entry));
        visited_ns += visits_ns(forecast, i);
    }
    if (task->is_cut && planned.claim_count > 0) {
        planned.visit_ns = visited_ns / planned.claim_count;
    }
    if (planned.claim_count == 0) {
        planned.form = LANEPOOL_PLAN_PLAIN;
    }
    lanepool_status status = lanepool_plan_add(forecast->plan, &planned);
    free(claims);
    return status;
}

static lanepool_status add_all(struct forecast *forecast)
{
    lanepool_status status = lanepool_plan_create(&forecast->plan);
    forecast->first_ns = UINT64_MAX;
    for (size_t i = 0; i < forecast->task_count && status == LANEPOOL_OK; i++) {
        const lanepool_replay_task *task = task_of(forecast, i);
        status = add_task(forecast, task);
        uint64_t begin_ns = task->end_ns - (task->ran_ns < task->end_ns ? task->ran_ns : 0);
        forecast->first_ns = begin_ns < forecast->first_ns ? begin_ns : forecast->first_ns;
        forecast->last_ns = task->end_ns > forecast->last_ns ? task->end_ns : forecast->last_ns;
    }
    return status;
}

/* --- names --- */

static void name_task(const void *context, size_t task, char name[PLAN_REPORT_NAME_SIZE])
{
    const struct forecast *forecast = context;
    struct text text = { 0 };
    describe_task(&text, forecast->model, forecast->tasks[task]);
    snprintf(name, PLAN_REPORT_NAME_SIZE, "%s", text.data);
    text_fini(&text);
}

/* The claims of the plan are the entries of the task, in their order. */
static void name_key(const void *context, size_t task, size_t claim,
                     char name[PLAN_REPORT_NAME_SIZE])
{
    const struct forecast *forecast = context;
    const lanepool_replay *replay = forecast->model->replay;
    size_t entry = task_of(forecast, task)->first_entry;
    for (size_t i = 0; i < claim; i++) {
        entry = replay->entries[entry].next_of_task;
    }
    snprintf(name, PLAN_REPORT_NAME_SIZE, "%s",
             forecast->model->lanes[replay->entries[entry].lane].name);
}

static const char *name_tag(const void *context, unsigned tag)
{
    const struct forecast *forecast = context;
    return forecast->model->recording->tags[tag];
}

/* --- the report --- */

static void add_text(void *context, const char *text)
{
    text_add(context, "%s", text);
}

static void add_recorded(struct text *text, const struct forecast *forecast)
{
    char number[UNITS_TEXT_SIZE];
    uint64_t ns = forecast->task_count > 0 ? forecast->last_ns - forecast->first_ns : 0;
    text_add(text, "recorded: %s with %u workers", units_format(number, ns),
             forecast->model->recording->worker_count);
    if (forecast->left_out > 0) {
        text_add(text, "; %zu tasks that have not run are left out", forecast->left_out);
    }
    text_add(text, "\n");
}

static bool report_forecast(struct text *text, const struct forecast *forecast, unsigned workers,
                            struct problem *problem)
{
    static const unsigned counts[] = { 1, 2, 4, 8, 16 };
    struct plan_names names = { forecast, name_task, name_key, name_tag };
    unsigned recorded = forecast->model->recording->worker_count;
    add_recorded(text, forecast);
    return plan_report(forecast->plan, counts, sizeof counts / sizeof *counts,
                       workers > 0 ? workers : recorded, &names, add_text, text, problem);
}

/* Returns false if a task waited for something else than lanes of keys. */
static bool has_lanes_of_keys(const struct model *model)
{
    bool all = model->recording->layout == LANEPOOL_PER_KEY;
    for (size_t i = 0; i < model->replay->entry_count && all; i++) {
        all = model->replay->entries[i].lane != LANEPOOL_REPLAY_NONE;
    }
    return all;
}

bool forecast_write(struct text *text, const struct model *model, unsigned workers,
                    struct problem *problem)
{
    struct forecast forecast = { .model = model };
    if (!has_lanes_of_keys(model)) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "only a pool with claims and lanes for keys can be planned");
    }
    sort_tasks(&forecast);
    lanepool_status status = add_all(&forecast);
    bool done = status == LANEPOOL_OK
                    ? report_forecast(text, &forecast, workers, problem)
                    : problem_set(problem, EXIT_CODE_IO, "the plan cannot be made: %s",
                                  lanepool_status_text(status));
    lanepool_plan_destroy(forecast.plan);
    free(forecast.tasks);
    return done;
}
