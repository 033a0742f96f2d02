#include "support/workload_run.h"

#include <stdlib.h>

#include "support/memory.h"

enum { BATCH_MAX = 8, FUTURE_EVERY = 16, HANDLE_EVERY = 2 };

struct run;

/* The context of one task. */
struct task_context {
    struct run *run;
    uint32_t task;
    uint32_t first_nested; /* the tasks that its body submits: a list */
    uint32_t next_nested;
    lanepool_future *future;
};

struct run {
    const struct workload *workload;
    struct oracle_log *log;
    lanepool_pool *pool;
    struct task_context *contexts;
    lanepool_claim *claims; /* as the library takes them, in the order of the claim store */
    lanepool_lane **lanes;  /* held lanes by key, where there are any */
    pthread_barrier_t start;
    _Atomic int first_failure; /* a lanepool_status */
};

struct submitter {
    struct run *run;
    uint32_t index;
    pthread_t thread;
};

static void note_failure(struct run *run, lanepool_status status)
{
    int none = LANEPOOL_OK;

    if (status != LANEPOOL_OK) {
        atomic_compare_exchange_strong(&run->first_failure, &none, (int)status);
    }
}

static bool rule_answer(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct task_context *first = a->context;
    const struct task_context *second = b->context;
    const struct run *run = user;

    return workload_allows(run->workload, first->task, second->task);
}

static int task_body(lanepool_run *call, void *argument, lanepool_call why);

static lanepool_claim *context_claims(const struct task_context *context)
{
    const struct workload *workload = context->run->workload;

    return context->run->claims + (workload->tasks[context->task].claims - workload->claim_store);
}

static lanepool_task describe(struct task_context *context)
{
    const struct workload *workload = context->run->workload;
    const struct workload_task *what = &workload->tasks[context->task];
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = task_body;
    task.context = context;
    if (workload->params.rule == RULE_CLAIMS) {
        task.claims = context_claims(context);
        task.claim_count = what->claim_count;
    } else if (workload->params.rule == RULE_KINDS) {
        task.kind = what->kind;
    }
    if (context->task % FUTURE_EVERY == 0) {
        task.future = &context->future;
    }
    return task;
}

static void submit_one(struct task_context *context, enum workload_form form)
{
    struct oracle_task *record = &context->run->log->tasks[context->task];
    lanepool_task task = describe(context);
    lanepool_status status;

    record->submit_begin = oracle_stamp(context->run->log);
    if (form == FORM_OR_RUN) {
        status = lanepool_pool_submit_or_run(context->run->pool, &task);
    } else {
        status = lanepool_pool_submit(context->run->pool, &task);
    }
    record->submit_end = oracle_stamp(context->run->log);
    note_failure(context->run, status);
}

static void submit_batch(struct run *run, struct task_context *const *contexts, uint32_t count)
{
    lanepool_task tasks[BATCH_MAX];
    uint64_t begin = oracle_stamp(run->log);
    uint64_t end;
    size_t accepted = 0;

    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = describe(contexts[i]);
        run->log->tasks[contexts[i]->task].submit_begin = begin;
    }
    note_failure(run,
                 lanepool_pool_submit_batch(run->pool, tasks, count, LANEPOOL_FOREVER, &accepted));
    if (accepted != count) {
        note_failure(run, LANEPOOL_FULL);
    }
    end = oracle_stamp(run->log);
    for (uint32_t i = 0; i < count; i++) {
        run->log->tasks[contexts[i]->task].submit_end = end;
    }
}

/* Keeps the worker for a while, so that bodies overlap. */
static void spin(uint32_t rounds)
{
    for (volatile uint32_t i = 0; i < rounds; i = i + 1) {
    }
}

static int task_body(lanepool_run *call, void *argument, lanepool_call why)
{
    struct task_context *self = argument;
    struct run *run = self->run;
    struct oracle_task *record = &run->log->tasks[self->task];

    atomic_fetch_add_explicit(&record->calls, 1, memory_order_relaxed);
    if (why != LANEPOOL_CALL_RUN) {
        note_failure(run, LANEPOOL_CANCELLED);
        return 0;
    }
    record->body_begin = oracle_stamp(run->log);
    record->ticket = lanepool_run_ticket(call);
    record->worker = lanepool_run_worker(call);
    record->thread = pthread_self();
    if (workload_has_claims(run->workload)) {
        oracle_touch_keys(run->log, run->workload, self->task);
    }
    for (uint32_t i = self->first_nested; i != WORKLOAD_NO_PARENT;
         i = run->contexts[i].next_nested) {
        submit_one(&run->contexts[i], FORM_ONE_BY_ONE);
    }
    spin(run->workload->tasks[self->task].spin);
    lanepool_run_set_result(call, self);
    record->body_end = oracle_stamp(run->log);
    return 0;
}

static void *submit_all_of_one(void *argument)
{
    const struct submitter *submitter = argument;
    struct run *run = submitter->run;
    enum workload_form form = run->workload->params.form;
    struct task_context *batch[BATCH_MAX];
    uint32_t batched = 0;

    pthread_barrier_wait(&run->start);
    for (uint32_t i = 0; i < run->workload->params.task_count; i++) {
        const struct workload_task *what = &run->workload->tasks[i];

        if (what->submitter != submitter->index || what->parent != WORKLOAD_NO_PARENT) {
            continue;
        }
        if (form != FORM_BATCH) {
            submit_one(&run->contexts[i], form);
            continue;
        }
        batch[batched++] = &run->contexts[i];
        if (batched == BATCH_MAX) {
            submit_batch(run, batch, batched);
            batched = 0;
        }
    }
    submit_batch(run, batch, batched);
    return NULL;
}

static lanepool_claim make_claim(const struct run *run, const struct workload_claim *claim)
{
    if (run->lanes && claim->key % HANDLE_EVERY != 0) {
        return lanepool_claim_lane(run->lanes[claim->key], claim->mode);
    }
    return lanepool_claim_id(claim->key, claim->mode);
}

static void make_contexts(struct run *run)
{
    const struct workload *workload = run->workload;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        struct task_context *context = &run->contexts[i];
        const struct workload_task *what = &workload->tasks[i];
        lanepool_claim *claims;

        context->run = run;
        context->task = i;
        context->first_nested = WORKLOAD_NO_PARENT;
        claims = context_claims(context);
        for (uint32_t c = 0; c < what->claim_count; c++) {
            claims[c] = make_claim(run, &what->claims[c]);
        }
    }
    /* From the back, so that each parent's list is in ascending order. */
    for (uint32_t i = workload->params.task_count; i-- > 0;) {
        uint32_t parent = workload->tasks[i].parent;

        if (parent != WORKLOAD_NO_PARENT) {
            run->contexts[i].next_nested = run->contexts[parent].first_nested;
            run->contexts[parent].first_nested = i;
        }
    }
}

static void hold_lanes(struct run *run)
{
    if (!run->workload->params.held_lanes) {
        return;
    }
    run->lanes = memory_get(run->workload->params.key_count, sizeof *run->lanes);
    for (uint32_t key = 0; key < run->workload->params.key_count; key++) {
        lanepool_claim claim = lanepool_claim_id(key, LANEPOOL_EXCLUSIVE);

        note_failure(run, lanepool_lane_acquire(run->pool, &claim, &run->lanes[key]));
    }
}

static void release_lanes(struct run *run)
{
    for (uint32_t key = 0; run->lanes && key < run->workload->params.key_count; key++) {
        lanepool_lane_release(run->lanes[key]);
    }
    free(run->lanes);
}

static void run_submitters(struct run *run)
{
    uint32_t count = run->workload->params.submitters;
    struct submitter *submitters = memory_get(count, sizeof *submitters);

    pthread_barrier_init(&run->start, NULL, count);
    for (uint32_t i = 0; i < count; i++) {
        submitters[i].run = run;
        submitters[i].index = i;
        if (pthread_create(&submitters[i].thread, NULL, submit_all_of_one, &submitters[i])) {
            fprintf(stderr, "the test cannot create its threads\n");
            exit(EXIT_FAILURE);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        pthread_join(submitters[i].thread, NULL);
    }
    pthread_barrier_destroy(&run->start);
    free(submitters);
}

/* After a drain every future has completed with what its body set. */
static void check_futures(struct run *run)
{
    for (uint32_t i = 0; i < run->workload->params.task_count; i += FUTURE_EVERY) {
        lanepool_result result;
        lanepool_status status;

        if (!run->contexts[i].future) {
            note_failure(run, LANEPOOL_NOMEM);
            continue;
        }
        status = lanepool_future_wait(run->contexts[i].future, 0, &result);
        note_failure(run, status);
        if (status == LANEPOOL_OK && result.value != &run->contexts[i]) {
            note_failure(run, LANEPOOL_FAILED);
        }
        lanepool_future_release(run->contexts[i].future);
    }
}

lanepool_status workload_run(const struct workload *workload, struct oracle_log *log)
{
    const struct workload_params *params = &workload->params;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct run run = { .workload = workload, .log = log };
    size_t claim_total = 0;

    for (uint32_t i = 0; i < params->task_count; i++) {
        claim_total += 2 * (size_t)workload->tasks[i].claim_count;
    }
    options.workers = params->workers;
    options.layout = params->layout;
    options.routing = params->routing;
    options.pending_max = params->pending_max;
    options.is_compatible = params->rule == RULE_CLAIMS ? NULL : rule_answer;
    options.user = &run;
    note_failure(&run, lanepool_pool_create(&options, &run.pool));
    if (!run.pool) {
        return (lanepool_status)atomic_load(&run.first_failure);
    }
    run.contexts = memory_get(params->task_count, sizeof *run.contexts);
    run.claims = memory_get(claim_total, sizeof *run.claims);
    hold_lanes(&run);
    make_contexts(&run);

    run_submitters(&run);
    /* Afterwards every parent has finished, so that no nested submit still needs a handle. */
    note_failure(&run, lanepool_pool_quiesce(run.pool, LANEPOOL_FOREVER));
    release_lanes(&run);
    note_failure(&run, lanepool_pool_destroy(run.pool));
    check_futures(&run);

    free(run.contexts);
    free(run.claims);
    return (lanepool_status)atomic_load(&run.first_failure);
}
