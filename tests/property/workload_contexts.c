#include "property/workload_contexts.h"

#include "property/world.h"
#include "support/random.h"

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

lanepool_context_options workload_context_options(const struct run *run)
{
    const struct workload_params *params = &run->workload->params;
    lanepool_context_options options = LANEPOOL_CONTEXT_OPTIONS_INIT;

    options.open = open_context;
    options.use = params->uses_fail != 0 ? use_context : NULL;
    options.close = close_context;
    options.linger_min_ns = params->linger_min;
    options.linger_max_ns = params->linger_max;
    options.lingering_max = params->lingering_max;
    options.contexts_max = contexts_max(run);
    return options;
}

/* --- tasks --- */

/* Returns true if the platform has refused a resource on purpose. */
static bool is_for_want(lanepool_status status)
{
    return world_has_refused() && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
}

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

    if (is_for_want(status)) {
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

void workload_ask(struct task_context *self, lanepool_run *call)
{
    const struct workload_task *what = &self->run->workload->tasks[self->task];

    if (!self->run->workload->params.contexts || what->is_barrier) {
        return;
    }
    for (uint32_t i = 0; i < what->asks && i < what->merged_count; i++) {
        ask(self, call, i, what->merged[i].key);
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
