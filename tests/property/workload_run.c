/*
 * The threads of a run: submitters, threads that end the pool, one that quiesces, one that awaits.
 * Also the first thread's work before and after them.
 */
#include "property/workload_run.h"

#include <stdlib.h>

#include "property/workload_feature.h"
#include "property/workload_look.h"
#include "property/workload_tasks.h"
#include "property/world.h"
#include "support/event_judge.h"
#include "support/memory.h"

enum { BATCH_MAX = 8, ACTORS_MAX = 64, ATTEMPTS_MAX = 3, TRACE_EVENTS = 1 << 12 };

enum role { SUBMITTER, OF_FEATURE, QUIESCER, LOOKER, DRAINER, STOPPER, AWAITER };

struct actor {
    struct run *run;
    enum role role;
    const struct workload_feature *feature; /* if the role is OF_FEATURE */
    uint32_t index;                         /* among the threads of its role */
};

/* --- submitters --- */

/* Only the first refused task has a status. The tasks behind it were not tried. */
static void submit_batch(struct run *run, struct task_context *const *contexts, uint32_t count)
{
    lanepool_task tasks[BATCH_MAX];
    lanepool_status status;
    size_t accepted = 0;

    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = run_describe(contexts[i]);
        run_begin_submit(contexts[i]);
    }
    do {
        size_t more = 0;

        status = lanepool_pool_submit_batch(run->pool, tasks + accepted, count - accepted,
                                            LANEPOOL_FOREVER, &more);
        accepted += more;
    } while (status == LANEPOOL_TIMED_OUT && world_waits_again());
    if (accepted > count || (status == LANEPOOL_OK) != (accepted == count)) {
        run_note_failure(run, LANEPOOL_INVALID);
    }
    for (uint32_t i = 0; i < count; i++) {
        run_record_submit(contexts[i], i < accepted ? LANEPOOL_OK : status);
    }
}

static void submit_all_of_one(struct run *run, uint32_t submitter)
{
    struct task_context *batch[BATCH_MAX];
    uint32_t batched = 0;

    for (uint32_t i = 0; i < run->workload->params.task_count; i++) {
        const struct workload_task *what = &run->workload->tasks[i];

        if (what->dropped || what->submitter != submitter || what->parent != WORKLOAD_NONE ||
            what->series != WORKLOAD_NONE) {
            continue;
        }
        if (what->form == FORM_BATCH) {
            batch[batched++] = &run->contexts[i];
        }
        if (batched == BATCH_MAX || (what->form != FORM_BATCH && batched > 0)) {
            submit_batch(run, batch, batched);
            batched = 0;
        }
        if (what->form != FORM_BATCH) {
            run_submit(&run->contexts[i]);
        }
    }
    if (batched > 0) {
        submit_batch(run, batch, batched);
    }
    atomic_fetch_sub(&run->submitting, 1);
}

/* --- ends --- */

/* While others submit, and tasks run. */
static void trim(struct run *run)
{
    lanepool_status status = lanepool_pool_trim(run->pool);

    if (status != LANEPOOL_SHUT_DOWN && !world_has_refused()) {
        run_note_failure(run, status);
    }
}

static void quiesce(struct run *run)
{
    struct oracle_visit *visit = &run->log->quiesce;

    world_sleep(run->workload->params.quiesce_at);
    trim(run);
    visit->begin = oracle_stamp(run->log);
    do {
        visit->status = lanepool_pool_quiesce(run->pool, LANEPOOL_FOREVER);
    } while (visit->status == LANEPOOL_TIMED_OUT && world_waits_again());
    oracle_stamp_at(run->log, &visit->end);
    trim(run);
}

/* Records that the first shutdown of either kind is about to be called. */
static void note_closing(struct run *run)
{
    uint64_t none = 0;

    atomic_compare_exchange_strong(&run->log->closing_at, &none, oracle_stamp(run->log));
}

static void drain(struct run *run)
{
    world_sleep(run->workload->params.ending_at);
    note_closing(run);
    run_note_failure(run, lanepool_pool_shutdown(run->pool));
}

static void stop(struct run *run)
{
    const struct workload_params *params = &run->workload->params;

    world_sleep(params->ending == END_BOTH ? params->ending_at / 2 : params->ending_at);
    run_stop(run, params->ending == END_HANDBACK);
}

void run_stop(struct run *run, bool hands_back)
{
    const struct workload_params *params = &run->workload->params;
    lanepool_status status;

    note_closing(run);
    oracle_stamp_at(run->log, &run->log->stopping_at);
    status = lanepool_pool_shutdown_now(run->pool, hands_back ? run_hand_back : NULL, run);
    world_show_all();
    oracle_stamp_at(run->log, &run->log->stopped_at);
    /* The drain may have ended before. */
    if (status != LANEPOOL_SHUT_DOWN || params->ending != END_BOTH) {
        run_note_failure(run, status);
    }
}

static void await(struct run *run)
{
    struct oracle_visit *visit = &run->log->await;

    visit->begin = oracle_stamp(run->log);
    visit->status = lanepool_pool_await(run->pool, run->workload->params.ending_at);
    oracle_stamp_at(run->log, &visit->end);
}

static void act(void *argument)
{
    const struct actor *actor = argument;

    switch (actor->role) {
    case SUBMITTER:
        submit_all_of_one(actor->run, actor->index);
        break;
    case OF_FEATURE:
        actor->feature->act(actor->run, actor->index);
        break;
    case QUIESCER:
        quiesce(actor->run);
        break;
    case LOOKER:
        workload_look(actor->run);
        break;
    case DRAINER:
        drain(actor->run);
        break;
    case STOPPER:
        stop(actor->run);
        break;
    case AWAITER:
        await(actor->run);
        break;
    }
}

struct actors {
    struct actor list[ACTORS_MAX];
    uint32_t count;
};

static void add(struct actors *actors, struct run *run, enum role role, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        actors->list[actors->count++] = (struct actor){ .run = run, .role = role, .index = i };
    }
}

static void add_features(struct actors *actors, struct run *run)
{
    for (const struct workload_feature *const *each = workload_features; *each != NULL; each++) {
        uint32_t first = actors->count;

        if ((*each)->count_threads != NULL) {
            add(actors, run, OF_FEATURE, (*each)->count_threads(run->workload));
        }
        for (uint32_t i = first; i < actors->count; i++) {
            actors->list[i].feature = *each;
        }
    }
}

static void run_actors(struct run *run)
{
    const struct workload_params *params = &run->workload->params;
    enum workload_ending ending = params->ending;
    struct actors actors = { .count = 0 };
    void *arguments[ACTORS_MAX];

    atomic_store(&run->submitting, params->submitters);
    add(&actors, run, SUBMITTER, params->submitters);
    add_features(&actors, run);
    add(&actors, run, QUIESCER, params->quiesce_at != 0);
    add(&actors, run, LOOKER, params->look_at != 0);
    add(&actors, run, DRAINER, ending == END_DRAIN || ending == END_BOTH);
    add(&actors, run, STOPPER, ending == END_NOW || ending == END_HANDBACK || ending == END_BOTH);
    add(&actors, run, AWAITER, ending == END_BOTH);
    for (uint32_t i = 0; i < actors.count; i++) {
        arguments[i] = &actors.list[i];
    }
    world_run_threads(act, arguments, actors.count);
}

/* --- before and after --- */

static void hold_lanes(struct run *run)
{
    if (!run->workload->params.held_lanes) {
        return;
    }
    run->lanes = memory_get(run->workload->params.key_count, sizeof *run->lanes);
    for (uint32_t key = 0; key < run->workload->params.key_count; key++) {
        lanepool_key wanted = lanepool_key_id(key);

        run_note_failure(run, lanepool_lane_acquire(run->pool, wanted, &run->lanes[key]));
    }
}

static void release_lanes(struct run *run)
{
    for (uint32_t key = 0; run->lanes && key < run->workload->params.key_count; key++) {
        if (run->lanes[key]) {
            lanepool_lane_release(run->lanes[key]);
        }
    }
    free(run->lanes);
}

/* Repeats the call until it does not answer PARKED. */
static lanepool_status go_on(struct run *run, lanepool_status (*what)(lanepool_pool *pool))
{
    for (;;) {
        uint32_t resolved = atomic_load(&run->resolved);
        lanepool_status status = what(run->pool);

        bool unblocked = status != LANEPOOL_PARKED;

        FIRST_FEATURE(unblocked, unblock, run, resolved);
        if (status != LANEPOOL_PARKED || !unblocked) {
            return status;
        }
    }
}

/* Repeats the call if a resource was refused, after further requests succeed. */
static void insist(struct run *run, lanepool_status (*what)(lanepool_pool *pool))
{
    lanepool_status status = go_on(run, what);

    for (int i = 0; i < ATTEMPTS_MAX && status != LANEPOOL_OK && world_has_refused(); i++) {
        if (status != LANEPOOL_NOMEM && status != LANEPOOL_NO_RESOURCE) {
            break;
        }
        world_stop_refusing();
        status = go_on(run, what);
    }
    run_note_failure(run, status);
}

static lanepool_status finish_everything(lanepool_pool *pool)
{
    return lanepool_pool_is_shut_down(pool) ? lanepool_pool_await(pool, LANEPOOL_FOREVER)
                                            : lanepool_pool_quiesce(pool, LANEPOOL_FOREVER);
}

/* A quiesce would not wait for tasks that are submitted inside others during the quiesce. */
static lanepool_status end_everything(lanepool_pool *pool)
{
    lanepool_status status = lanepool_pool_shutdown(pool);

    return status == LANEPOOL_OK ? lanepool_pool_await(pool, LANEPOOL_FOREVER) : status;
}

/* To be called after the end, when every future has completed. */
static void collect_results(struct run *run)
{
    for (uint32_t i = 0; i < run->workload->params.task_count; i++) {
        lanepool_future *future = run->contexts[i].future;
        struct oracle_task *record = &run->log->tasks[i];
        bool accepted = oracle_when(&record->submit_end) != 0 && record->submitted == LANEPOOL_OK;

        if ((future != NULL) != (accepted && run->workload->tasks[i].has_future)) {
            run_note_failure(run, LANEPOOL_INVALID);
        }
        if (future) {
            run_note_failure(run, lanepool_future_wait(future, 0, &record->result));
            lanepool_future_release(future);
        }
    }
}

static lanepool_status create(struct run *run)
{
    const struct workload_params *params = &run->workload->params;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = params->workers;
    options.layout = params->layout;
    options.routing = params->routing;
    options.pending_max = params->pending_max;
    options.quantum_tasks = params->quantum_tasks;
    options.is_compatible = params->rule == RULE_CLAIMS ? NULL : run_is_compatible;
    options.on_error = run_on_error;
    options.user = run;
    options.step_seed = params->step_seed;
    options.step_plain_from = params->step_plain_from;
    options.trace_events = params->traced ? TRACE_EVENTS : 0;
    EACH_FEATURE(fill_options, run, &options);
    return lanepool_pool_create(&options, &run->pool);
}

/* Judges the events, unless the reader has missed some. */
static void judge_events(struct run *run)
{
    lanepool_trace_reader *reader;

    if (lanepool_trace_open(run->pool, &reader) != LANEPOOL_OK) {
        return;
    }
    struct event_judge *judge = event_judge_create();

    EACH_FEATURE(expect_events, run->workload, judge);
    if (event_judge_read(judge, reader) && lanepool_trace_missed(reader) == 0) {
        run->log->events = event_judge_end(judge);
    }
    event_judge_destroy(judge);
    lanepool_trace_close(reader);
}

/* Returns true if the pool must have ended before the handles are released. */
static bool ends_early(const struct run *run)
{
    bool must = run->workload->params.traced;

    FIRST_FEATURE(must, must_end, run->workload);
    return must;
}

static void run_tasks(struct run *run)
{
    hold_lanes(run);
    EACH_FEATURE(begin, run);
    if (atomic_load(&run->first_failure) == LANEPOOL_OK) {
        run_watch_cancelled();
        run_make_contexts(run);
        if (atomic_load(&run->unsettled) == 0) {
            EACH_FEATURE(note_settled, run);
        }
        run_actors(run);
        /* Afterwards every parent has finished, so no nested submit needs a handle any more. */
        if (!run->workload->params.skips_quiesce) {
            insist(run, finish_everything);
        }
        oracle_stamp_at(run->log, &run->log->ending_at);
    }
    if (ends_early(run)) {
        insist(run, end_everything);
        EACH_FEATURE(note_ended, run);
    }
    if (run->workload->params.traced && atomic_load(&run->first_failure) == LANEPOOL_OK) {
        judge_events(run);
    }
    release_lanes(run);
}

lanepool_status workload_run(const struct workload *workload, struct oracle_log *log,
                             lanepool_pool **pool)
{
    struct run run = { .workload = workload, .log = log };
    size_t claim_total = 0;
    lanepool_status status = create(&run);

    if (status != LANEPOOL_OK) {
        return status;
    }
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        claim_total += 2 * (size_t)workload->tasks[i].claim_count;
    }
    run.contexts = memory_get(workload->params.task_count, sizeof *run.contexts);
    run.claims = memory_get(claim_total, sizeof *run.claims);
    if (pool) {
        *pool = run.pool;
    }
    run_tasks(&run);
    if (pool) {
        *pool = NULL;
    }
    insist(&run, lanepool_pool_destroy);
    EACH_FEATURE(note_destroyed, &run);
    collect_results(&run);
    log->refused = world_has_refused();
    free(run.contexts);
    free(run.claims);
    return (lanepool_status)atomic_load(&run.first_failure);
}
