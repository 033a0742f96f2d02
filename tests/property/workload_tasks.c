#include "property/workload_tasks.h"

#include "feature/cut/workload.h"
#include "property/workload_feature.h"
#include "task/task.h"

enum { HANDLE_EVERY = 2 };

void run_note_failure(struct run *run, lanepool_status status)
{
    int none = LANEPOOL_OK;

    if (status != LANEPOOL_OK) {
        atomic_compare_exchange_strong(&run->first_failure, &none, (int)status);
    }
}

/* --- callbacks --- */

bool run_is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct task_context *first = a->context;
    const struct task_context *second = b->context;
    const struct run *run = user;

    oracle_stamp_at(run->log, &run->log->tasks[first->task].asked_at);
    oracle_stamp_at(run->log, &run->log->tasks[second->task].asked_at);
    run_expect(first, workload_may_ask(run->workload, first->task, second->task),
               "the rule is asked about tasks out of its scope");
    return workload_allows(run->workload, first->task, second->task);
}

void run_on_error(void *user, const lanepool_error *error)
{
    struct run *run = user;
    struct task_context *context = error->context;

    bool expected = false;

    FIRST_FEATURE(expected, expects_error, context, error);
    if (expected) {
        return;
    }
    if (error->status != LANEPOOL_FAILED || error->code != run_code_of(context)) {
        run_note_failure(run, error->status);
    }
    atomic_fetch_add_explicit(&record_of(context)->errors, 1, memory_order_relaxed);
    EACH_FEATURE(note_error, context, error);
}

static void released(void *argument)
{
    struct task_context *context = argument;

    atomic_fetch_add_explicit(&record_of(context)->releases, 1, memory_order_relaxed);
    oracle_stamp_at(context->run->log, &record_of(context)->released_at);
    EACH_FEATURE(note_released, context);
}

static void then_called(void *argument, const lanepool_result *result)
{
    struct task_context *context = argument;

    (void)result;
    atomic_fetch_add_explicit(&record_of(context)->thens, 1, memory_order_relaxed);
}

void run_record_call(struct task_context *context, enum oracle_call call, uint64_t ticket)
{
    struct oracle_task *record = record_of(context);

    atomic_fetch_add_explicit(&record->calls, 1, memory_order_relaxed);
    record->call = call;
    record->ticket = ticket;
    record->worker = SIZE_MAX;
    record->thread = world_thread();
    record->call_ns = world_now();
    oracle_stamp_at(context->run->log, &record->call_begin);
}

void run_hand_back(void *user, const lanepool_task *task, uint64_t ticket)
{
    struct task_context *context = task->context;

    bool taken = false;

    (void)user;
    run_expect(context,
               (task->at_lane != NULL || task->at_grant != NULL) ==
                   workload_is_cut(context->run->workload, context->task),
               "a cut is handed back as something else");
    FIRST_FEATURE(taken, take_back, context);
    if (taken) {
        return;
    }
    run_record_call(context, CALL_HANDED_BACK, ticket);
    oracle_stamp_at(context->run->log, &record_of(context)->call_end);
    run_settle(context);
}

/* --- ends --- */

void run_settle(struct task_context *context)
{
    struct run *run = context->run;

    if (atomic_exchange(&context->settled, true)) {
        return;
    }
    for (uint32_t i = context->first_nested; i != WORKLOAD_NONE; i = run->contexts[i].next_nested) {
        if (oracle_when(&run->log->tasks[i].submit_begin) == 0) {
            run_settle(&run->contexts[i]);
        }
    }
    if (atomic_fetch_sub(&run->unsettled, 1) == 1) {
        EACH_FEATURE(note_settled, run);
    }
}

void run_end_attempt(struct task_context *context)
{
    bool stays = false;

    FIRST_FEATURE(stays, end_attempt, context);
    if (!stays) {
        oracle_stamp_at(context->run->log, &record_of(context)->call_end);
        run_settle(context);
    }
}

void run_end_part(struct task_context *context)
{
    struct oracle_task *record = record_of(context);

    if (atomic_fetch_sub(&context->ends_left, 1) != 1) {
        return;
    }
    oracle_stamp_at(context->run->log, &record->attempt_end);
    if (atomic_load(&record->attempts) == 1) {
        atomic_store(&record->first_end, oracle_when(&record->attempt_end));
    }
    run_end_attempt(context);
}

/* --- bodies --- */

static void wait_for_another(struct task_context *self)
{
    const struct workload_task *what = what_of(self);
    struct oracle_task *record = record_of(self);
    lanepool_future *future = NULL;
    bool waited = false;

    if (what->awaits != WORKLOAD_NONE) {
        future = atomic_load(&self->run->contexts[what->awaits].published_future);
    }
    if (!future) {
        return; /* there is none, or it has not been submitted yet */
    }
    record->wait_begin = oracle_stamp(self->run->log);
    FIRST_FEATURE(waited, wait_for, self, future, &record->waited);
    if (!waited) {
        record->waited = lanepool_future_wait(future, what->patience, NULL);
    }
    record->wait_end = oracle_stamp(self->run->log);
}

void run_submit_nested(struct task_context *self, lanepool_run *call)
{
    struct run *run = self->run;

    for (uint32_t i = self->first_nested; i != WORKLOAD_NONE; i = run->contexts[i].next_nested) {
        bool submitted = false;

        FIRST_FEATURE(submitted, submit_inside, &run->contexts[i], call);
        if (!submitted) {
            run_submit(&run->contexts[i]);
        }
    }
}

/* Does the parts that are done only once, however many attempts there are. A cut may submit the
 * nested tasks inside a visit. */
static void do_once(struct task_context *self, lanepool_run *call)
{
    if (!workload_submits_in_visit(self->run->workload, self->task)) {
        run_submit_nested(self, call);
    }
    EACH_FEATURE(do_inside, self, call);
    wait_for_another(self);
    EACH_FEATURE(wait_inside, self);
}

static void run_body(struct task_context *self, lanepool_run *call, bool is_first)
{
    struct run *run = self->run;
    struct oracle_task *record = record_of(self);
    const struct workload_task *what = what_of(self);

    if (is_first && workload_has_claims(run->workload) &&
        !workload_is_cut(run->workload, self->task)) {
        oracle_touch_keys(run->log, run->workload, self->task);
        record->left_keys = oracle_read_keys(run->log, run->workload, self->task);
    }
    EACH_FEATURE(prepare_body, self, call);
    EACH_FEATURE(begin_body, self, call);
    if (is_first) {
        do_once(self, call);
    }
    world_pass(what->duration);
    record->end_of_body = oracle_stamp(run->log);
    record->was_asked = lanepool_run_is_cancelled(call);
    lanepool_run_set_result(call, (void *)(uintptr_t)what);
    EACH_FEATURE(end_body, self);
}

/* Returns true if the function is called for the first time. */
static bool begin_attempt(struct task_context *self, lanepool_run *call)
{
    if (workload_is_cut(self->run->workload, self->task)) {
        return workload_begin_body_of_cut(self, call);
    }
    bool is_first = atomic_fetch_add(&record_of(self)->attempts, 1) == 0;

    EACH_FEATURE(begin_attempt, self, call, is_first);
    if (is_first) {
        run_record_call(self, CALL_RUN, lanepool_run_ticket(call));
        record_of(self)->worker = lanepool_run_worker(call);
    }
    return is_first;
}

static int task_body(lanepool_run *call, void *argument)
{
    struct task_context *self = argument;
    bool is_first = begin_attempt(self, call);

    atomic_store(&self->ends_left, 1);
    bool fails = run_fails_now(self);
    run_body(self, call, is_first);
    oracle_stamp_at(self->run->log, &record_of(self)->returned_at);
    run_end_part(self);
    return fails;
}

void workload_check_why(struct run *run, lanepool_status why)
{
    bool ends = oracle_when(&run->log->closing_at) != 0 || oracle_when(&run->log->ending_at) != 0;

    oracle_expect(run->log,
                  why == LANEPOOL_CANCELLED || why == LANEPOOL_TIMED_OUT ||
                      why == LANEPOOL_POISONED || (why == LANEPOOL_SHUT_DOWN && ends),
                  "a task was cancelled for a wrong reason");
}

static void task_cancelled(void *argument, lanepool_status why)
{
    struct task_context *self = argument;

    if (why == LANEPOOL_IN_PARTS) {
        workload_end_cut_in_parts(self);
        return;
    }
    workload_check_why(self->run, why);
    run_record_call(self, CALL_CANCELLED, 0);
    world_pass(what_of(self)->duration / 2);
    oracle_stamp_at(self->run->log, &record_of(self)->returned_at);
    run_end_part(self);
}

static lanepool_cancelled_fn cancelled_of(lanepool_task_fn function)
{
    return function == task_body ? task_cancelled : NULL;
}

void run_watch_cancelled(void)
{
    lanepool_i_cancelled_of = cancelled_of;
}

/* --- submitting --- */

static lanepool_claim *claims_of(const struct task_context *context)
{
    const struct workload *workload = context->run->workload;

    return context->run->claims + (what_of(context)->claims - workload->claim_store);
}

lanepool_task run_describe(struct task_context *context)
{
    const struct workload_task *what = what_of(context);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = task_body;
    task.context = context;
    task.cancelled = what->has_cancelled ? task_cancelled : NULL;
    if (what->is_heir) {
        task.claim_count = 0;
    } else if (what->is_barrier) {
        task.claims = &context->run->all;
        task.claim_count = 1;
    } else if (workload_submits_claims(context->run->workload)) {
        task.claims = claims_of(context);
        task.claim_count = what->claim_count;
    }
    if (context->run->workload->params.rule >= RULE_KINDS) {
        task.kind = what->kind;
    }
    task.future = what->has_future ? &context->future : NULL;
    task.release = what->has_release ? released : NULL;
    EACH_FEATURE(describe, context, &task);
    return task;
}

static uint64_t moment_after(const struct workload_task *what)
{
    uint64_t delay = what->is_delayed && what->delay > 0 ? (uint64_t)what->delay : 0;

    return world_now() + delay;
}

void run_begin_submit(struct task_context *context)
{
    atomic_store(&record_of(context)->due_min_ns, moment_after(what_of(context)));
    oracle_stamp_at(context->run->log, &record_of(context)->submit_begin);
}

void run_record_submit(struct task_context *context, lanepool_status status)
{
    struct oracle_task *record = record_of(context);

    record->submitted = status;
    atomic_store(&record->due_max_ns, what_of(context)->delay == WORKLOAD_NEVER
                                          ? UINT64_MAX
                                          : moment_after(what_of(context)));
    oracle_stamp_at(context->run->log, &record->submit_end);
    /* No thread may wait for a task that is never due. */
    if (status != LANEPOOL_OK || what_of(context)->delay == WORKLOAD_NEVER) {
        run_settle(context);
    }
    if (status != LANEPOOL_OK) {
        return;
    }
    if (what_of(context)->has_then) {
        record->then_asked =
            lanepool_future_then(context->future, then_called, context) == LANEPOOL_OK;
    }
    atomic_store(&context->published_future, context->future);
}

void run_submit(struct task_context *context)
{
    const struct workload_task *what = what_of(context);
    lanepool_task task = run_describe(context);
    lanepool_pool *pool = context->run->pool;
    lanepool_status status = LANEPOOL_OK;
    bool submitted = false;

    if (what->dropped) {
        return;
    }
    run_begin_submit(context);
    FIRST_FEATURE(submitted, submit, context, &task, &status);
    if (submitted) {
        run_record_submit(context, status);
        return;
    }
    switch (what->form) {
    case FORM_WITHIN:
        status = lanepool_pool_submit_within(pool, &task, what->within);
        break;
    case FORM_OR_RUN:
        status = lanepool_pool_submit_or_run(pool, &task);
        break;
    default:
        do {
            status = lanepool_pool_submit(pool, &task);
        } while (status == LANEPOOL_TIMED_OUT && world_waits_again());
        break;
    }
    run_record_submit(context, status);
}

/* --- contexts --- */

lanepool_claim run_make_claim(const struct run *run, const struct workload_claim *claim)
{
    if (run->lanes && claim->key % HANDLE_EVERY != 0) {
        return lanepool_claim_of(lanepool_key_lane(run->lanes[claim->key]), claim->mode);
    }
    return lanepool_claim_of(lanepool_key_id(claim->key), claim->mode);
}

void run_make_contexts(struct run *run)
{
    const struct workload *workload = run->workload;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        struct task_context *context = &run->contexts[i];
        const struct workload_task *what = &workload->tasks[i];
        lanepool_claim *claims;

        context->run = run;
        context->task = i;
        context->first_nested = WORKLOAD_NONE;
        atomic_init(&context->ends_left, 1);
        atomic_init(&context->settled, what->dropped || what->asked_as != i);
        run->unsettled += !atomic_load(&context->settled);
        claims = claims_of(context);
        for (uint32_t c = 0; c < what->claim_count; c++) {
            claims[c] = run_make_claim(run, &what->claims[c]);
        }
    }
    run->all = lanepool_claim_all();
    /* In descending order, so that each parent's list is in ascending order. */
    for (uint32_t i = workload->params.task_count; i-- > 0;) {
        uint32_t parent = workload->tasks[i].parent;

        if (parent != WORKLOAD_NONE) {
            run->contexts[i].next_nested = run->contexts[parent].first_nested;
            run->contexts[parent].first_nested = i;
        }
    }
}
