/* Tasks that hold their lanes for longer or shorter than their call, or hand them over. */
#include "feature/detach/workload.h"

#include <stdlib.h>

#include "feature/context/workload.h"
#include "property/workload_feature.h"
#include "property/world.h"
#include "support/event_judge.h"
#include "support/memory.h"

/* --- drawing --- */

static bool has_children(const struct workload *workload, uint32_t task)
{
    for (uint32_t i = task + 1; i < workload->params.task_count; i++) {
        if (workload->tasks[i].parent == task) {
            return true;
        }
    }
    return false;
}

/* Makes a receiver: it has its giver's lanes except the one that the giver gives up. */
static void inherit(struct workload *workload, uint32_t heir, uint32_t giver)
{
    struct workload_task *what = &workload->tasks[heir];
    const struct workload_task *from = &workload->tasks[giver];

    what->is_heir = true;
    what->parent = giver;
    what->submitter = from->submitter;
    what->form = FORM_SUBMIT;
    what->gives_up = WORKLOAD_NONE;
    what->merged = memory_get(from->merged_count, sizeof *what->merged);
    what->merged_count = 0;
    for (uint32_t i = 0; i < from->merged_count; i++) {
        if (from->merged[i].key != from->gives_up) {
            what->merged[what->merged_count++] = from->merged[i];
        }
    }
}

/* Draws the giver of a receiver: an earlier task with no receiver yet. Both are submitted outside
 * of tasks. */
static void draw_heir(struct workload *workload, uint32_t heir, struct choices *choices)
{
    uint32_t giver = choose(choices, heir + 1);
    const struct workload_task *what = &workload->tasks[heir];
    const struct workload_task *from = &workload->tasks[giver];

    if (giver == heir || what->is_barrier || from->is_barrier || what->parent != WORKLOAD_NONE ||
        from->parent != WORKLOAD_NONE || has_children(workload, heir)) {
        return;
    }
    for (uint32_t i = giver + 1; i < heir; i++) {
        if (workload->tasks[i].parent == giver && workload->tasks[i].is_heir) {
            return;
        }
    }
    inherit(workload, heir, giver);
}

static void draw_detaching(const struct workload *workload, uint32_t index, struct choices *choices)
{
    struct workload_task *task = &workload->tasks[index];

    task->detaches = chance(choices, 3);
    task->completes_itself = task->detaches && chance(choices, 4);
    if (chance(choices, 4)) {
        task->completes = choose(choices, workload->params.task_count);
    }
}

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (!chance(choices, 4)) {
        return;
    }
    params->holds = true;
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        draw_detaching(workload, i, choices);
        if (workload_has_named_lanes(workload) && task->merged_count > 0 && !task->is_barrier &&
            chance(choices, 4)) {
            task->gives_up = task->merged[choose(choices, task->merged_count)].key;
        }
    }
    for (uint32_t i = 1; i < params->task_count && workload_has_named_lanes(workload); i++) {
        if (chance(choices, 2)) {
            draw_heir(workload, i, choices);
        }
    }
}

static void fini(struct workload *workload)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload->tasks[i].is_heir) {
            free(workload->tasks[i].merged);
        }
    }
}

static void print_task(const struct workload_task *task, FILE *out)
{
    if (task->detaches) {
        fprintf(out, ", detaches%s", task->completes_itself ? " and completes itself" : "");
    }
    if (task->completes != WORKLOAD_NONE) {
        fprintf(out, ", completes %u", task->completes);
    }
    if (task->gives_up != WORKLOAD_NONE) {
        fprintf(out, ", gives up %u", task->gives_up);
    }
    if (task->is_heir) {
        fprintf(out, ", receiver");
    }
}

/* Records the failure of a call, unless a resource was refused on purpose. */
static void note_unless_refused(struct run *run, lanepool_status status)
{
    if (!world_has_refused() || (status != LANEPOOL_NOMEM && status != LANEPOOL_NO_RESOURCE)) {
        run_note_failure(run, status);
    }
}

/* --- detaching --- */

/* Another thread may complete the task at once. */
static void detach(struct task_context *self, lanepool_run *call)
{
    lanepool_detached *detached;
    lanepool_status status;

    if (!what_of(self)->detaches) {
        return;
    }
    status = lanepool_run_detach(call, &detached);
    if ((status == LANEPOOL_SHUT_DOWN && oracle_when(&self->run->log->stopping_at) != 0) ||
        (status == LANEPOOL_TIMED_OUT && what_of(self)->run_within != 0)) {
        return;
    }
    if (status != LANEPOOL_OK) {
        note_unless_refused(self->run, status);
        return;
    }
    atomic_fetch_add(&self->ends_left, 1);
    atomic_store(&record_of(self)->detached, true);
    atomic_store(&self->detached, detached);
}

static void complete(struct task_context *context)
{
    lanepool_detached *detached = atomic_exchange(&context->detached, NULL);
    const struct workload_task *what = what_of(context);
    lanepool_status status;
    bool fails;

    if (!detached) {
        return;
    }
    fails = run_fails_now(context);
    run_end_part(context);
    status = lanepool_task_complete(detached, fails, (void *)(uintptr_t)what);
    if (status == LANEPOOL_NOMEM && world_has_refused()) {
        world_stop_refusing();
        status = lanepool_task_complete(detached, fails, (void *)(uintptr_t)what);
    }
    if (status == LANEPOOL_DONE && oracle_when(&context->run->log->stopping_at) != 0) {
        if (oracle_when(&record_of(context)->returned_at) != 0) {
            atomic_store(&record_of(context)->call_end,
                         oracle_when(&record_of(context)->returned_at));
        }
        atomic_store(&record_of(context)->abandoned, true);
        return;
    }
    run_note_failure(context->run, status);
}

static void complete_another(const struct task_context *self)
{
    uint32_t other = what_of(self)->completes;

    if (other != WORKLOAD_NONE) {
        complete(&self->run->contexts[other]);
    }
}

static void complete_all(struct run *run)
{
    for (uint32_t i = 0; i < run->workload->params.task_count; i++) {
        complete(&run->contexts[i]);
    }
}

/* A handle of a task that a shutdown now has ended must still be given back. */
static void act(struct run *run, uint32_t thread)
{
    (void)thread;
    while (atomic_load(&run->unsettled) > 0) {
        complete_all(run);
        world_rest(1 + run->workload->params.duration_most / 2);
    }
    complete_all(run);
}

/* --- lanes given up and handed over --- */

/* Recorded before the call, because the lane may be released at once. */
static void give_up(struct task_context *self, lanepool_run *call)
{
    uint32_t key = what_of(self)->gives_up;
    unsigned used = atomic_load(&self->using);
    lanepool_claim claim;
    lanepool_status status;

    if (key == WORKLOAD_NONE ||
        oracle_misses(self->run->log, self->run->workload, self->task, key)) {
        return;
    }
    workload_stop_using(self, key);
    claim = run_make_claim(self->run, &(struct workload_claim){ key, LANEPOOL_SHARED });
    oracle_stamp_at(self->run->log, &record_of(self)->gave_up_at);
    status = lanepool_run_release(call, claim.key);
    if (status != LANEPOOL_OK) {
        atomic_store(&record_of(self)->gave_up_at, 0);
        workload_go_on_using(self, used);
        note_unless_refused(self->run, status);
    }
}

static bool submit_inside(struct task_context *heir, lanepool_run *call)
{
    lanepool_task task = run_describe(heir);

    if (!what_of(heir)->is_heir) {
        return false;
    }
    if (!what_of(heir)->dropped) {
        run_begin_submit(heir);
        run_record_submit(heir, lanepool_run_hand_over(call, &task));
    }
    return true;
}

static void do_inside(struct task_context *self, lanepool_run *call)
{
    give_up(self, call);
    complete_another(self);
}

static void end_body(struct task_context *self)
{
    if (what_of(self)->completes_itself) {
        complete(self);
    }
}

/* --- the run --- */

static uint32_t count_threads(const struct workload *workload)
{
    return workload->params.holds;
}

/* A shutdown now ends detached tasks. */
static bool expects_error(struct task_context *context, const lanepool_error *error)
{
    return error->status == LANEPOOL_ABANDONED && what_of(context)->detaches &&
           oracle_when(&context->run->log->stopping_at) != 0;
}

static void expect_events(const struct workload *workload, struct event_judge *judge)
{
    if (workload->params.holds) {
        event_judge_expect_heirs(judge);
    }
}

const struct workload_feature workload_feature_detach = {
    .draw = draw,
    .fini = fini,
    .print_task = print_task,
    .count_threads = count_threads,
    .act = act,
    .expect_events = expect_events,
    .begin_body = detach,
    .submit_inside = submit_inside,
    .do_inside = do_inside,
    .end_body = end_body,
    .expects_error = expects_error,
    .judge = judge_held,
};
