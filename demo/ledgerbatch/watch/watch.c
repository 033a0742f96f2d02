/* Owns the parts of a recording that are known before the first event: names, sizes, start time. */
#include "watch/watch.h"

#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"

/* How many events the rings store: of all threads together (64 MiB), and of each thread. */
#define EVENTS_TOTAL ((size_t)1 << 21)
#define EVENTS_MIN   ((size_t)1 << 11)
#define EVENTS_MAX   ((size_t)1 << 18)

/* The tag of a transaction over several clients; other tasks have their kind as tag. */
#define TAG_TRANSFER 7u

static const char *const tag_names[] = {
    [TASK_POST] = "post",   [TASK_STATEMENT] = "statement", [TASK_ACCRUAL] = "accrual",
    [TASK_CLOSE] = "close", [TASK_FEES] = "fees",           [TAG_TRANSFER] = "transfer",
    [TASK_STEP] = "step",   [WATCH_TAG_HOLD] = "hold"
};

uint32_t watch_tag(const struct task *task, size_t lane_count)
{
    return task->kind == TASK_POST && lane_count > 1 ? TAG_TRANSFER : task->kind;
}

static bool is_watching(const struct watch *watch)
{
    return watch->has_recorder || watch->has_live;
}

bool watch_open(struct watch *watch, const struct watch_options *options, struct problem *problem)
{
    *watch = (struct watch){ .options = options,
                             .has_recorder = options->trace != NULL,
                             .has_live = options->is_live };
    if (is_watching(watch)) {
        signal(SIGPIPE, SIG_IGN); /* a reader of the output that ends must not end the batch */
    }
    if (watch->has_live) {
        live_open(&watch->live, options->is_ascii);
    }
    return !watch->has_recorder || recorder_open(&watch->recorder, options->trace, problem);
}

void watch_fini(struct watch *watch)
{
    if (watch->has_recorder) {
        recorder_fini(&watch->recorder);
    }
    if (watch->has_live) {
        live_fini(&watch->live);
    }
    recording_fini(&watch->head);
}

/* The submitter and the journal have rings, too. */
static size_t count_thread_events(unsigned workers)
{
    long cpus = workers == 0 ? sysconf(_SC_NPROCESSORS_ONLN) : 0;
    size_t threads = (workers > 0 ? workers : cpus > 0 ? (size_t)cpus : 1) + 2;
    size_t events = EVENTS_MAX;
    while (events > EVENTS_MIN && events * threads > EVENTS_TOTAL) {
        events /= 2;
    }
    return events;
}

void watch_prepare(struct watch *watch, lanepool_options *options)
{
    struct timespec now;
    if (!is_watching(watch)) {
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t zero_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    recording_init(&watch->head, 0, options->layout, zero_ns);
    options->trace_events = count_thread_events(options->workers);
}

static void name_lane(struct recording *head, uint64_t key, const char *before, struct slice name,
                      const char *after)
{
    struct text text = { 0 };
    text_add(&text, "%s%.*s%s", before, SLICE_ARGUMENTS(name), after);
    recording_name_lane(head, LANEPOOL_EVENT_LANE_ID, key, text.data);
    text_fini(&text);
}

/* Names the tags and the lanes. The keys are those that run/submit.c claims. */
static void name_tags_and_lanes(struct recording *head, const struct plan *plan)
{
    for (uint32_t tag = 0; tag < sizeof tag_names / sizeof *tag_names; tag++) {
        recording_name_tag(head, tag, tag_names[tag]);
    }
    for (size_t i = 0; i < plan->clients.count; i++) {
        name_lane(head, i, "", plan->clients.items[i].name, "");
    }
    recording_name_lane(head, LANEPOOL_EVENT_LANE_ID, plan_house_lane(plan), PLAN_HOUSE_NAME);
    for (size_t i = 0; i < plan->clients.group_count; i++) {
        name_lane(head, plan_house_lane(plan) + 1 + i, "(group ", plan->clients.groups[i].name,
                  ")");
    }
}

void watch_start(struct watch *watch, const struct batch *batch, size_t done_before,
                 lanepool_pool *pool)
{
    struct problem problem;
    if (!is_watching(watch)) {
        return;
    }
    watch->head.worker_count = (unsigned)lanepool_pool_worker_count(pool);
    name_tags_and_lanes(&watch->head, batch->plan);
    if (watch->has_recorder) {
        recorder_start(&watch->recorder, &watch->head, pool);
    }
    if (watch->has_live &&
        !live_start(&watch->live, &watch->head, batch, done_before, pool, &problem)) {
        fprintf(stderr, "ledgerbatch: %s\n", problem.text);
    }
}

void watch_end(struct watch *watch)
{
    if (watch->has_recorder) {
        recorder_end(&watch->recorder);
    }
    if (watch->has_live) {
        live_end(&watch->live);
    }
}

bool watch_report(const struct watch *watch, bool has_run, struct problem *problem)
{
    if (!watch->has_recorder || !watch->recorder.has_failed) {
        return has_run;
    }
    if (!has_run) {
        fprintf(stderr, "ledgerbatch: %s\n", watch->recorder.problem.text);
        return false;
    }
    return problem_set(problem, EXIT_CODE_IO, "%s; the batch is finished all the same",
                       watch->recorder.problem.text);
}
