/*
 * The threads of a run: submitters, those who end the pool, one that quiesces, one that awaits;
 * and what the first thread does before and after them.
 */
#include "property/workload_run.h"

#include <stdlib.h>

#include "property/workload_cancels.h"
#include "property/workload_look.h"
#include "property/workload_tasks.h"
#include "property/world.h"
#include "support/event_judge.h"
#include "support/memory.h"

enum { BATCH_MAX = 8, ACTORS_MAX = 64, ATTEMPTS_MAX = 3, TRACE_EVENTS = 1 << 12 };

enum role { SUBMITTER, CANCELLER, PAUSER, QUIESCER, LOOKER, DRAINER, STOPPER, AWAITER };

struct actor {
    struct run *run;
    enum role role;
    uint32_t index; /* of a submitter, or of a canceller */
};

/* --- submitters --- */

/* Only the first that is refused has a status; those behind it were not looked at. */
static void submit_batch(struct run *run, struct task_context *const *contexts, uint32_t count)
{
    lanepool_task tasks[BATCH_MAX];
    lanepool_status status;
    size_t accepted = 0;

    for (uint32_t i = 0; i < count; i++) {
        tasks[i] = run_describe(contexts[i]);
        oracle_stamp_at(run->log, &run->log->tasks[contexts[i]->task].submit_begin);
    }
    status = lanepool_pool_submit_batch(run->pool, tasks, count, LANEPOOL_FOREVER, &accepted);
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

        if (what->dropped || what->submitter != submitter || what->parent != WORKLOAD_NONE) {
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
}

/* --- ends --- */

static void quiesce(struct run *run)
{
    struct oracle_visit *visit = &run->log->quiesce;

    world_sleep(run->workload->params.quiesce_at);
    visit->begin = oracle_stamp(run->log);
    visit->status = lanepool_pool_quiesce(run->pool, LANEPOOL_FOREVER);
    oracle_stamp_at(run->log, &visit->end);
}

/* A shutdown resumes. */
static void pause_while(struct run *run, lanepool_lane *lane)
{
    struct oracle_pause *pause = &run->log->pause;
    lanepool_status status;

    oracle_stamp_at(run->log, &pause->begin);
    status = lane ? lanepool_lane_pause(lane) : lanepool_pool_pause(run->pool);
    if (status == LANEPOOL_OK) {
        pause->paused = oracle_stamp(run->log);
    } else if (status != LANEPOOL_SHUT_DOWN && !world_has_refused()) {
        run_note_failure(run, status);
    }
    world_sleep(run->workload->params.pause_for);
    pause->resumes = oracle_stamp(run->log);
    do {
        status = lane ? lanepool_lane_resume(lane) : lanepool_pool_resume(run->pool);
        if (status == LANEPOOL_NO_THREAD || status == LANEPOOL_NOMEM) {
            world_stop_refusing();
        }
    } while (status == LANEPOOL_NO_THREAD || status == LANEPOOL_NOMEM);
    if (status != LANEPOOL_OK && status != LANEPOOL_SHUT_DOWN) {
        run_note_failure(run, status);
    }
    oracle_stamp_at(run->log, &pause->resumed);
}

static void pause_and_resume(struct run *run)
{
    uint32_t key = run->workload->params.pause_key;
    lanepool_claim claim = lanepool_claim_id(key, LANEPOOL_EXCLUSIVE);
    lanepool_lane *lane = NULL;

    world_sleep(run->workload->params.pause_at);
    if (key != WORKLOAD_NONE && lanepool_lane_acquire(run->pool, &claim, &lane) != LANEPOOL_OK) {
        return;
    }
    pause_while(run, lane);
    if (lane) {
        lanepool_lane_release(lane);
    }
}

/* The first shutdown of either kind is about to be called. */
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
    bool hand_back = params->ending == END_HANDBACK;
    lanepool_status status;

    world_sleep(params->ending == END_BOTH ? params->ending_at / 2 : params->ending_at);
    note_closing(run);
    oracle_stamp_at(run->log, &run->log->stopping_at);
    status = lanepool_pool_shutdown_now(run->pool, hand_back ? run_hand_back : NULL, run);
    /* The drain may have come to its end before. */
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
    case CANCELLER:
        workload_cancel_all_of_one(actor->run, actor->index);
        break;
    case PAUSER:
        pause_and_resume(actor->run);
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

static void run_actors(struct run *run)
{
    const struct workload_params *params = &run->workload->params;
    struct actor actors[ACTORS_MAX];
    void *arguments[ACTORS_MAX];
    uint32_t count = 0;

    for (uint32_t i = 0; i < params->submitters; i++) {
        actors[count++] = (struct actor){ run, SUBMITTER, i };
    }
    for (uint32_t i = 0; i < params->cancellers; i++) {
        actors[count++] = (struct actor){ run, CANCELLER, i };
    }
    if (params->pause_at != 0) {
        actors[count++] = (struct actor){ run, PAUSER, 0 };
    }
    if (params->quiesce_at != 0) {
        actors[count++] = (struct actor){ run, QUIESCER, 0 };
    }
    if (params->look_at != 0) {
        actors[count++] = (struct actor){ run, LOOKER, 0 };
    }
    if (params->ending == END_DRAIN || params->ending == END_BOTH) {
        actors[count++] = (struct actor){ run, DRAINER, 0 };
    }
    if (params->ending == END_NOW || params->ending == END_HANDBACK || params->ending == END_BOTH) {
        actors[count++] = (struct actor){ run, STOPPER, 0 };
    }
    if (params->ending == END_BOTH) {
        actors[count++] = (struct actor){ run, AWAITER, 0 };
    }
    for (uint32_t i = 0; i < count; i++) {
        arguments[i] = &actors[i];
    }
    world_run_threads(act, arguments, count);
}

/* --- before and after --- */

static void hold_lanes(struct run *run)
{
    if (!run->workload->params.held_lanes) {
        return;
    }
    run->lanes = memory_get(run->workload->params.key_count, sizeof *run->lanes);
    for (uint32_t key = 0; key < run->workload->params.key_count; key++) {
        lanepool_claim claim = lanepool_claim_id(key, LANEPOOL_EXCLUSIVE);

        run_note_failure(run, lanepool_lane_acquire(run->pool, &claim, &run->lanes[key]));
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

/* What could not be had for want of something is tried again once it is there. */
static void insist(struct run *run, lanepool_status (*what)(lanepool_pool *pool))
{
    lanepool_status status = what(run->pool);

    for (int i = 0; i < ATTEMPTS_MAX && status != LANEPOOL_OK && world_has_refused(); i++) {
        if (status != LANEPOOL_NOMEM && status != LANEPOOL_NO_THREAD) {
            break;
        }
        world_stop_refusing();
        status = what(run->pool);
    }
    run_note_failure(run, status);
}

static lanepool_status finish_everything(lanepool_pool *pool)
{
    return lanepool_pool_is_shut_down(pool) ? lanepool_pool_await(pool, LANEPOOL_FOREVER)
                                            : lanepool_pool_quiesce(pool, LANEPOOL_FOREVER);
}

/* A quiesce would leave what is submitted from inside meanwhile. */
static lanepool_status end_everything(lanepool_pool *pool)
{
    lanepool_status status = lanepool_pool_shutdown(pool);

    return status == LANEPOOL_OK ? lanepool_pool_await(pool, LANEPOOL_FOREVER) : status;
}

/* After the end every future has completed. */
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
    options.trace_events = params->traced ? TRACE_EVENTS : 0;
    return lanepool_pool_create(&options, &run->pool);
}

/* A reader that has missed some cannot tell. */
static void judge_events(struct run *run)
{
    lanepool_trace_reader *reader;

    insist(run, end_everything);
    if (lanepool_trace_open(run->pool, &reader) != LANEPOOL_OK) {
        return;
    }
    struct event_judge *judge = event_judge_create();

    if (event_judge_read(judge, reader) && lanepool_trace_missed(reader) == 0) {
        run->log->events = event_judge_end(judge);
    }
    event_judge_destroy(judge);
    lanepool_trace_close(reader);
}

static void run_tasks(struct run *run)
{
    hold_lanes(run);
    if (atomic_load(&run->first_failure) == LANEPOOL_OK) {
        run_make_contexts(run);
        run_actors(run);
        /* Afterwards every parent has finished: no nested submit still needs a handle. */
        insist(run, finish_everything);
        if (run->workload->params.traced) {
            judge_events(run);
        }
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
    collect_results(&run);
    log->refused = world_has_refused();
    free(run.contexts);
    free(run.claims);
    return (lanepool_status)atomic_load(&run.first_failure);
}
