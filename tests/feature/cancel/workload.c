/* The cancelling calls of a run. */
#include "feature/cancel/workload.h"

#include <stdlib.h>

#include "property/workload_feature.h"
#include "property/world.h"
#include "support/memory.h"

enum { CANCELS_OF_MANY_MAX = 3 };

/* --- drawing --- */

/* A task waits at most once. A cancelling call that waits takes the place of its other wait. */
static void draw_wait_of_cancel(struct workload *workload, uint32_t index, struct choices *choices)
{
    struct workload_cancel *cancel = &workload->cancels[index];
    struct workload_task *inside;

    cancel->patience =
        chance(choices, 2) ? choose(choices, workload->params.duration_most) : LANEPOOL_FOREVER;
    if (cancel->inside == WORKLOAD_NONE) {
        return;
    }
    inside = &workload->tasks[cancel->inside];
    if (inside->awaits != WORKLOAD_NONE) {
        cancel->kind = CANCEL_TASK;
        return;
    }
    inside->awaits = cancel->target;
    inside->patience = cancel->patience;
    inside->cancel = index;
}

static enum workload_cancel_kind draw_kind(const struct workload *workload, uint32_t *of_many,
                                           struct choices *choices)
{
    uint32_t dice = choose(choices, 100);

    if (dice < 30 && *of_many < CANCELS_OF_MANY_MAX) {
        ++*of_many;
        return dice < 15 && workload_submits_claims(workload) ? CANCEL_LANE : CANCEL_POOL;
    }
    return dice < 50 ? CANCEL_TASK_AND_WAIT : CANCEL_TASK;
}

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;
    uint32_t of_many = 0;

    if (!chance(choices, 4)) {
        return;
    }
    params->cancellers = 1 + choose(choices, 2);
    workload->cancel_count = 1 + choose(choices, 1 + params->task_count / 2);
    workload->cancels = memory_get(workload->cancel_count, sizeof *workload->cancels);
    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        struct workload_cancel *cancel = &workload->cancels[i];

        cancel->kind = draw_kind(workload, &of_many, choices);
        cancel->inside = chance(choices, 3) ? choose(choices, params->task_count) : WORKLOAD_NONE;
        cancel->canceller = choose(choices, params->cancellers);
        cancel->after = chance(choices, 2) ? choose(choices, params->duration_most) : 0;
        if (cancel->kind == CANCEL_LANE) {
            cancel->target = choose(choices, params->key_count);
        } else if (cancel->kind != CANCEL_POOL) {
            cancel->target = choose(choices, params->task_count);
            workload->tasks[cancel->target].has_future = true;
        }
        if (cancel->kind == CANCEL_TASK_AND_WAIT) {
            draw_wait_of_cancel(workload, i, choices);
        }
    }
}

static void fini(struct workload *workload)
{
    free(workload->cancels);
}

static void print_params(const struct workload *workload, FILE *out)
{
    if (workload->cancel_count > 0) {
        fprintf(out, ", %u cancels by %u", workload->cancel_count, workload->params.cancellers);
    }
}

static void print_cancel(const struct workload_cancel *cancel, FILE *out)
{
    static const char *const kinds[] = { "task", "task and wait", "lane",
                                         "pool", "group",         "what is behind" };

    fprintf(out, "  cancel of %s", kinds[cancel->kind]);
    if (cancel->kind != CANCEL_POOL) {
        fprintf(out, " %u", cancel->target);
    }
    if (cancel->inside != WORKLOAD_NONE) {
        fprintf(out, ", inside %u\n", cancel->inside);
    } else {
        fprintf(out, ", by %u after %u ns\n", cancel->canceller, cancel->after);
    }
}

static void print_calls(const struct workload *workload, FILE *out)
{
    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        print_cancel(&workload->cancels[i], out);
    }
}

/* --- calls --- */

static uint32_t count_threads(const struct workload *workload)
{
    return workload->params.cancellers;
}

static struct oracle_cancel *begin(struct run *run, uint32_t cancel)
{
    struct oracle_cancel *record = &run->log->cancels[cancel];

    record->thread = world_thread();
    oracle_stamp_at(run->log, &record->begin);
    return record;
}

static lanepool_status end(struct run *run, struct oracle_cancel *record, lanepool_status status)
{
    record->status = status;
    world_show_all();
    oracle_stamp_at(run->log, &record->end);
    return status;
}

static lanepool_status cancel_task(struct run *run, uint32_t cancel, lanepool_future *future)
{
    const struct workload_cancel *what = &run->workload->cancels[cancel];
    struct oracle_cancel *record = begin(run, cancel);
    lanepool_status status;

    do {
        status = what->kind == CANCEL_TASK ? lanepool_future_cancel(future)
                                           : lanepool_future_cancel_wait(future, what->patience);
    } while (status == LANEPOOL_TIMED_OUT && what->patience == LANEPOOL_FOREVER &&
             world_waits_again());
    return end(run, record, status);
}

static void cancel_lane(struct run *run, uint32_t cancel)
{
    lanepool_key key = lanepool_key_id(run->workload->cancels[cancel].target);
    lanepool_lane *lane;

    if (lanepool_lane_acquire(run->pool, key, &lane) != LANEPOOL_OK) {
        if (!world_has_refused()) {
            run_note_failure(run, LANEPOOL_INVALID);
        }
        return;
    }
    struct oracle_cancel *record = begin(run, cancel);

    end(run, record, lanepool_lane_cancel(lane, &record->count));
    lanepool_lane_release(lane);
}

static void cancel_pool(struct run *run, uint32_t cancel)
{
    struct oracle_cancel *record = begin(run, cancel);

    end(run, record, lanepool_pool_cancel(run->pool, &record->count));
}

static void cancel_group(struct run *run, uint32_t cancel)
{
    lanepool_group *group = run->groups[run->workload->cancels[cancel].target];
    struct oracle_cancel *record = begin(run, cancel);

    end(run, record, lanepool_group_cancel(group, &record->count));
}

/* Cancels the target, unless it has not been submitted yet. */
static void cancel_target(struct run *run, uint32_t cancel)
{
    uint32_t target = run->workload->cancels[cancel].target;
    lanepool_future *future = atomic_load(&run->contexts[target].published_future);

    if (future) {
        cancel_task(run, cancel, future);
    }
}

static void cancel_one(struct run *run, uint32_t cancel)
{
    switch (run->workload->cancels[cancel].kind) {
    case CANCEL_LANE:
        cancel_lane(run, cancel);
        break;
    case CANCEL_GROUP:
        cancel_group(run, cancel);
        break;
    case CANCEL_POOL:
        cancel_pool(run, cancel);
        break;
    default:
        cancel_target(run, cancel);
        break;
    }
}

static void act(struct run *run, uint32_t canceller)
{
    for (uint32_t i = 0; i < run->workload->cancel_count; i++) {
        const struct workload_cancel *what = &run->workload->cancels[i];

        if (what->inside == WORKLOAD_NONE && what->canceller == canceller) {
            world_sleep(what->after);
            cancel_one(run, i);
        }
    }
}

void workload_cancel_inside(struct run *run, uint32_t task)
{
    for (uint32_t i = 0; i < run->workload->cancel_count; i++) {
        const struct workload_cancel *what = &run->workload->cancels[i];

        if (what->inside == task && what->kind != CANCEL_TASK_AND_WAIT) {
            cancel_one(run, i);
        }
    }
}

static void do_inside(struct task_context *self, lanepool_run *call)
{
    (void)call;
    workload_cancel_inside(self->run, self->task);
}

static bool wait_for(struct task_context *self, lanepool_future *future, lanepool_status *waited)
{
    uint32_t cancel = what_of(self)->cancel;

    if (cancel != WORKLOAD_NONE) {
        *waited = cancel_task(self->run, cancel, future);
    }
    return cancel != WORKLOAD_NONE;
}

/* --- the oracle --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    log->cancels = memory_get(workload->cancel_count, sizeof *log->cancels);
}

static void fini_log(struct oracle_log *log)
{
    free(log->cancels);
}

const struct workload_feature workload_feature_cancel = {
    .draw = draw,
    .fini = fini,
    .print_params = print_params,
    .print_calls = print_calls,
    .count_threads = count_threads,
    .act = act,
    .do_inside = do_inside,
    .wait_for = wait_for,
    .init_log = init_log,
    .fini_log = fini_log,
    .prepare_judge = judge_find_cancelled,
    .judge = judge_cancels,
};
