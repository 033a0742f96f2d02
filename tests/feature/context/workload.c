/* Contexts of keys: the records of a pool's callbacks, and the tasks that use contexts. */
#include "feature/context/workload.h"

#include <stdlib.h>

#include "property/workload_feature.h"
#include "property/world.h"
#include "support/memory.h"
#include "support/random.h"

enum { ASKS_MAX = 2 };

/* --- drawing --- */

static void draw(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (params->rule != RULE_CLAIMS || params->layout != LANEPOOL_PER_KEY || !chance(choices, 2)) {
        return;
    }
    params->contexts = true;
    params->linger_min = 1 + choose(choices, 1 + params->duration_most);
    params->linger_max = params->linger_min + choose(choices, 1 + 4 * params->duration_most);
    params->lingering_max = 1 + choose(choices, 1 + params->key_count);
    params->opens_fail = chance(choices, 3) ? 2 + choose(choices, 4) : 0;
    params->uses_fail = chance(choices, 2) ? 1 + choose(choices, 4) : 0;
    for (uint32_t i = 0; i < params->task_count; i++) {
        workload->tasks[i].asks = choose(choices, 1 + ASKS_MAX);
        /* A shutdown now may end a detached task, and close its contexts, at any moment. */
        if (workload->tasks[i].detaches && workload->params.ending != END_DESTROY) {
            workload->tasks[i].asks = 0;
        }
    }
}

static void print_params(const struct workload *workload, FILE *out)
{
    const struct workload_params *params = &workload->params;

    if (params->contexts) {
        fprintf(out,
                ", idle contexts stay open for %u to %u ns, at most %u; opens fail %u, uses %u",
                params->linger_min, params->linger_max, params->lingering_max, params->opens_fail,
                params->uses_fail);
    }
}

static void print_task(const struct workload_task *task, FILE *out)
{
    if (task->asks > 0) {
        fprintf(out, ", asks for %u contexts", task->asks);
    }
}

/* --- the run --- */

/* A task may look up a context by a handle while it runs. */
static bool must_end(const struct workload *workload)
{
    return workload->params.contexts;
}

static struct oracle_context *context_of(const struct run *run, uint32_t key)
{
    return &run->log->contexts[key];
}

/* A key of the pool is always a number, also in claims by handle. */
static struct oracle_context *record_named(const struct run *run, lanepool_key key)
{
    return context_of(run, (uint32_t)key.id);
}

static bool happens(struct run *run, uint32_t one_in)
{
    return one_in != 0 && atomic_fetch_add(&run->context_calls, 1) % one_in == one_in - 1;
}

/* Returns the limit on open contexts that follows from the seed; 0: none. */
static uint32_t contexts_max(const struct run *run)
{
    uint64_t dice = random_mix(run->workload->params.seed ^ 0xC0);

    return dice % 4 == 0 ? 1 + (uint32_t)(dice >> 8) % 3 : 0;
}

/* --- callbacks --- */

/* The cell is plain memory on purpose: two calls or uses at the same time are a data race. */
static void begin_call(struct run *run, struct oracle_context *record, bool is_open)
{
    oracle_expect(run->log, !atomic_exchange(&record->calling, true), "two calls for one context");
    oracle_expect(run->log, atomic_load(&record->users) == 0, "a call for a context in use");
    oracle_expect(run->log, atomic_load(&record->open) == is_open,
                  "a context opened twice, or used or closed when it was not open");
    record->cell++;
}

static void end_call(struct oracle_context *record)
{
    record->cell++;
    atomic_store(&record->calling, false);
}

static int open_context(void *user, lanepool_key key, void **context)
{
    struct run *run = user;
    struct oracle_context *record = record_named(run, key);
    bool fails = happens(run, run->workload->params.opens_fail);
    uint32_t most = contexts_max(run);

    begin_call(run, record, false);
    oracle_expect(run->log, atomic_fetch_add(&run->contexts_open, 1) < most || most == 0,
                  "more contexts are open than the limit");
    world_pass(run->workload->params.linger_min % 3);
    atomic_store(&record->open, !fails);
    atomic_fetch_add(&record->opens, !fails);
    atomic_fetch_sub(&run->contexts_open, fails);
    *context = record;
    end_call(record);
    return fails;
}

static bool use_context(void *user, lanepool_key key, void *context)
{
    struct run *run = user;
    struct oracle_context *record = record_named(run, key);

    oracle_expect(run->log, context == record, "a context of another key is used");
    begin_call(run, record, true);
    end_call(record);
    return !happens(run, run->workload->params.uses_fail);
}

static void close_context(void *user, lanepool_key key, void *context)
{
    struct run *run = user;
    struct oracle_context *record = record_named(run, key);

    oracle_expect(run->log, context == record, "a context of another key is closed");
    begin_call(run, record, true);
    atomic_store(&record->open, false);
    atomic_fetch_add(&record->closes, 1);
    atomic_fetch_sub(&run->contexts_open, 1);
    end_call(record);
}

static void fill_options(struct run *run, lanepool_options *pool_options)
{
    const struct workload_params *params = &run->workload->params;
    lanepool_context_options *options = &run->context_options;

    if (!params->contexts) {
        return;
    }
    *options = (lanepool_context_options)LANEPOOL_CONTEXT_OPTIONS_INIT;
    options->open = open_context;
    options->use = params->uses_fail != 0 ? use_context : NULL;
    options->close = close_context;
    options->linger_min_ns = params->linger_min;
    options->linger_max_ns = params->linger_max;
    options->lingering_max = params->lingering_max;
    options->contexts_max = contexts_max(run);
    pool_options->contexts = options;
}

/* --- tasks --- */

static bool open_has_failed(const struct run *run, lanepool_status status)
{
    return (status == LANEPOOL_NO_CONTEXT && run->workload->params.opens_fail != 0) ||
           (status == LANEPOOL_FULL && contexts_max(run) != 0);
}

/* Ends some uses before the task ends, and drops some contexts. */
static void maybe_end_use(struct task_context *self, lanepool_run *call, uint32_t key)
{
    struct run *run = self->run;
    uint64_t dice = random_mix(run->workload->params.seed ^ ((uint64_t)self->task << 32 | key));
    lanepool_claim claim = run_make_claim(run, &(struct workload_claim){ key, LANEPOOL_SHARED });

    if (dice % 4 > 1) {
        return;
    }
    workload_stop_using(self, key);
    run_note_failure(run, dice % 4 == 0 ? lanepool_run_context_release(call, claim.key)
                                        : lanepool_run_context_drop(call, claim.key));
}

static void ask(struct task_context *self, lanepool_run *call, uint32_t place, uint32_t key)
{
    struct run *run = self->run;
    struct oracle_context *record = context_of(run, key);
    lanepool_claim claim = run_make_claim(run, &(struct workload_claim){ key, LANEPOOL_SHARED });
    void *context;
    lanepool_status status = lanepool_run_context(call, claim.key, &context, NULL);

    if (run_is_for_want(status)) {
        return;
    }
    if (oracle_misses(run->log, run->workload, self->task, key)) {
        run_note_failure(run, status == LANEPOOL_INVALID ? LANEPOOL_OK : LANEPOOL_FAILED);
        return;
    }
    if (status != LANEPOOL_OK) {
        run_note_failure(run, open_has_failed(run, status) ? LANEPOOL_OK : status);
        return;
    }
    atomic_fetch_add(&record->users, 1);
    oracle_expect(run->log, context == record, "a task gets the context of another key");
    oracle_expect(run->log, atomic_load(&record->open) && !atomic_load(&record->calling),
                  "a task gets a context that is not open");
    self->cell_seen[place] = record->cell;
    atomic_fetch_or(&self->using, 1U << place);
    maybe_end_use(self, call, key);
}

static void prepare_body(struct task_context *self, lanepool_run *call)
{
    const struct workload_task *what = &self->run->workload->tasks[self->task];

    if (!self->run->workload->params.contexts || what->is_barrier ||
        workload_is_cut(self->run->workload, self->task)) {
        return;
    }
    for (uint32_t i = 0; i < what->asks && i < what->merged_count; i++) {
        ask(self, call, i, what->merged[i].key);
    }
}

void workload_use_in_visit(struct task_context *self, lanepool_run *call, uint32_t lane)
{
    const struct workload_task *what = &self->run->workload->tasks[self->task];

    if (self->run->workload->params.contexts && lane < what->asks) {
        ask(self, call, lane, what->merged[lane].key);
    }
}

void workload_stop_using(struct task_context *self, uint32_t key)
{
    struct run *run = self->run;
    const struct workload_task *what = &run->workload->tasks[self->task];

    for (uint32_t i = 0; i < what->asks && i < what->merged_count; i++) {
        bool is_meant = key == WORKLOAD_NONE || what->merged[i].key == key;
        struct oracle_context *record = context_of(run, what->merged[i].key);

        if (!is_meant || (atomic_fetch_and(&self->using, ~(1U << i)) & 1U << i) == 0) {
            continue;
        }
        oracle_expect(run->log, atomic_load(&record->open) && !atomic_load(&record->calling),
                      "a context was closed while a task used it");
        oracle_expect(run->log, record->cell == self->cell_seen[i],
                      "callbacks were called for a context in use");
        atomic_fetch_sub(&record->users, 1);
    }
}

void workload_go_on_using(struct task_context *self, unsigned used)
{
    const struct workload_task *what = &self->run->workload->tasks[self->task];
    unsigned stopped = used & ~atomic_fetch_or(&self->using, used);

    for (uint32_t i = 0; stopped >> i != 0; i++) {
        if ((stopped >> i & 1) != 0) {
            atomic_fetch_add(&context_of(self->run, what->merged[i].key)->users, 1);
        }
    }
}

static bool end_attempt(struct task_context *self)
{
    workload_stop_using(self, WORKLOAD_NONE);
    return false;
}

/* --- the oracle --- */

static void init_log(struct oracle_log *log, const struct workload *workload)
{
    log->contexts = memory_get(workload->params.key_count, sizeof *log->contexts);
}

static void fini_log(struct oracle_log *log)
{
    free(log->contexts);
}

const struct workload_feature workload_feature_context = {
    .draw = draw,
    .print_params = print_params,
    .print_task = print_task,
    .fill_options = fill_options,
    .must_end = must_end,
    .prepare_body = prepare_body,
    .end_attempt = end_attempt,
    .init_log = init_log,
    .fini_log = fini_log,
    .judge = judge_contexts,
};
