#include "feature/failure/workload.h"

#include "property/world.h"

enum { LOOKS_MAX = 4, TRIED_ANEW_MAX = 2, INSIDE = 7 };

/* --- listed failures --- */

static bool is_claimed(const lanepool_parked_task *failure, const struct workload_claim *claim)
{
    for (size_t i = 0; i < failure->claim_count; i++) {
        if (failure->claims[i].key.type == LANEPOOL_KEY_ID &&
            failure->claims[i].key.id == claim->key && failure->claims[i].mode == claim->mode) {
            return true;
        }
    }
    return false;
}

/* Returns true if the failure lists the task's claims; of a cut, some of them: it may have been
 * retried since. If a resource was refused on purpose, giving
 * up a lane may have failed, so that nothing is checked. */
static bool has_its_claims(const struct task_context *context, const lanepool_parked_task *failure)
{
    const struct run *run = context->run;
    const struct workload_task *what = what_of(context);
    bool gave_up = oracle_when(&record_of(context)->gave_up_at) != 0;
    bool is_cut = workload_is_cut(run->workload, context->task);
    size_t count = 0;

    if (!workload_submits_claims(run->workload) || world_has_refused()) {
        return true;
    }
    if (what->is_barrier) {
        return failure->claim_count == 1 && failure->claims[0].key.type == LANEPOOL_KEY_ALL;
    }
    for (uint32_t i = 0; i < what->merged_count; i++) {
        const struct workload_claim *claim = &what->merged[i];

        if ((gave_up && claim->key == what->gives_up) ||
            oracle_misses(run->log, run->workload, context->task, claim->key)) {
            continue;
        }
        bool is_listed = is_claimed(failure, claim);

        count += is_listed || !is_cut;
        if (!is_listed && !is_cut) {
            return false;
        }
    }
    return count == failure->claim_count;
}

static void check_listed(const struct task_context *context, const lanepool_parked_task *failure)
{
    const struct oracle_task *record = record_of(context);

    run_expect(context, failure->ticket == record->ticket,
               "a parked task is listed with another ticket");
    run_expect(context, run_policy_of(context)->at_end == LANEPOOL_FAILURE_POISON,
               "a task is listed that must not be parked");
    run_expect(context,
               failure->status == LANEPOOL_FAILED &&
                   (failure->code == 1 ||
                    (failure->code == 2 && workload_is_cut(context->run->workload, context->task))),
               "a parked task is listed with another result");
    run_expect(context,
               failure->attempts >= 1 && failure->attempts <= run_policy_of(context)->retries + 1,
               "a parked task is listed with a wrong number of attempts");
    run_expect(context, has_its_claims(context, failure),
               "a parked task is listed with other claims");
}

/* --- resolving --- */

/* Records the end of a parking. If the task was asked to end during the delay before a retry, its
 * failure was not reported, and the parking is recorded here. */
static void end_keep(struct task_context *context, uint64_t begin, uint64_t failed_at)
{
    struct oracle_task *record = record_of(context);
    struct oracle_keep *keep = NULL;

    for (unsigned i = 0; i < ORACLE_KEEPS_MAX && keep == NULL; i++) {
        uint64_t from = oracle_when(&record->keeps[i].from);

        if (from != 0 && from < begin && oracle_when(&record->keeps[i].to) == 0) {
            keep = &record->keeps[i];
        }
    }
    if (keep == NULL) {
        keep = workload_add_keep(record, failed_at);
    }
    if (keep != NULL) {
        oracle_stamp_at(context->run->log, &keep->to);
    }
}

static void note_drop(struct run *run, uint32_t task, uint64_t begin)
{
    for (uint32_t i = 0; i < run->workload->cancel_count; i++) {
        struct oracle_cancel *record = &run->log->cancels[i];

        if (run->workload->cancels[i].kind == CANCEL_BEHIND &&
            run->workload->cancels[i].target == task) {
            record->thread = world_thread();
            record->status = LANEPOOL_OK;
            atomic_store(&record->begin, begin);
            oracle_stamp_at(run->log, &record->end);
        }
    }
}

static void note_resolved(struct task_context *context, lanepool_resolution how, uint64_t begin,
                          uint64_t failed_at)
{
    struct oracle_task *record = record_of(context);

    atomic_fetch_add(&context->run->resolved, 1);
    end_keep(context, begin, failed_at);
    if (how == LANEPOOL_RESOLVE_RETRY) {
        atomic_fetch_add(&record->tried_anew, 1);
        atomic_store(&record->gave_in_at, 0);
        return;
    }
    atomic_fetch_add(&record->skipped, 1);
    atomic_store(&record->call_end, begin);
    if (how == LANEPOOL_RESOLVE_DROP) {
        note_drop(context->run, context->task, begin);
    }
}

static bool is_allowed(const struct task_context *context, lanepool_resolution how,
                       lanepool_status status)
{
    switch (status) {
    case LANEPOOL_OK:
    case LANEPOOL_DONE:
        return true;
    case LANEPOOL_BUSY:
        return atomic_load(&record_of(context)->drops) > (how == LANEPOOL_RESOLVE_DROP);
    case LANEPOOL_SHUT_DOWN:
        return oracle_when(&context->run->log->closing_at) != 0 ||
               oracle_when(&context->run->log->ending_at) != 0;
    case LANEPOOL_UNSUPPORTED:
        return how == LANEPOOL_RESOLVE_DROP && context->run->workload->params.rule != RULE_CLAIMS;
    case LANEPOOL_INVALID:
        return how == LANEPOOL_RESOLVE_RETRY && oracle_when(&record_of(context)->gave_up_at) != 0;
    default:
        return world_has_refused() && (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE);
    }
}

/* Returns a number for this resolver, this task, and this listing. */
static uint64_t dice_of(const struct run *run, uint32_t task, uint32_t resolver, uint32_t look)
{
    return random_mix(run->workload->params.seed ^ random_mix((uint64_t)task << 32 | look << 8) ^
                      resolver);
}

static lanepool_resolution choose_how(const struct task_context *context, uint64_t dice)
{
    lanepool_resolution how = (lanepool_resolution)(dice % 3);

    if (how == LANEPOOL_RESOLVE_RETRY &&
        atomic_load(&record_of(context)->tried_anew) >= TRIED_ANEW_MAX) {
        return LANEPOOL_RESOLVE_SKIP;
    }
    return how;
}

static lanepool_status try_resolve(struct task_context *context, uint64_t ticket,
                                   lanepool_resolution how)
{
    struct run *run = context->run;
    struct oracle_task *record = record_of(context);
    bool drops = how == LANEPOOL_RESOLVE_DROP;
    uint64_t failed_at = oracle_when(&record->attempt_end);
    uint64_t begin;
    lanepool_status status;

    atomic_fetch_add(&record->resolving, 1);
    atomic_fetch_add(&run->log->dropping, drops);
    atomic_fetch_add(&record->drops, drops);
    begin = oracle_stamp(run->log);
    status = lanepool_pool_resolve(run->pool, ticket, how);
    if (status == LANEPOOL_OK) {
        note_resolved(context, how, begin, failed_at);
    }
    run_expect(context, is_allowed(context, how, status),
               "resolving a task answered with an unexpected status");
    atomic_fetch_sub(&run->log->dropping, drops);
    atomic_fetch_sub(&record->resolving, 1);
    return status;
}

/* Resolves a failure; if the chosen resolution is invalid for the task, skips it. */
static void resolve(struct task_context *context, uint64_t ticket, uint64_t dice)
{
    lanepool_status status = try_resolve(context, ticket, choose_how(context, dice));

    if (status == LANEPOOL_INVALID || status == LANEPOOL_UNSUPPORTED) {
        (void)try_resolve(context, ticket, LANEPOOL_RESOLVE_SKIP);
    }
}

/* Resolves the listed failures, or leaves some. Returns the number of listed ones. */
static size_t look(struct run *run, uint32_t resolver, uint32_t number, bool leaves_some)
{
    lanepool_parked_tasks *failures;
    lanepool_status status = lanepool_pool_parked(run->pool, &failures);
    size_t count;

    if (status != LANEPOOL_OK) {
        if (status != LANEPOOL_NOMEM || !world_has_refused()) {
            run_note_failure(run, status);
        }
        return 0;
    }
    count = failures->count;
    for (size_t i = 0; i < count; i++) {
        const lanepool_parked_task *failure = &failures->tasks[i];
        struct task_context *context = failure->context;
        uint64_t dice = dice_of(run, context->task, resolver, number);

        check_listed(context, failure);
        if (!leaves_some || dice / 3 % 3 != 0) {
            resolve(context, failure->ticket, dice);
        }
    }
    lanepool_parked_tasks_release(failures);
    return count;
}

static lanepool_resolution choose_for_all(const struct run *run,
                                          const lanepool_parked_tasks *parked)
{
    lanepool_resolution how = (lanepool_resolution)(run->workload->params.seed / 16 % 3);
    bool is_possible = how != LANEPOOL_RESOLVE_DROP || run->workload->params.rule == RULE_CLAIMS;

    for (size_t i = 0; i < parked->count && how == LANEPOOL_RESOLVE_RETRY; i++) {
        const struct oracle_task *record = record_of(parked->tasks[i].context);
        is_possible = is_possible && atomic_load(&record->tried_anew) < TRIED_ANEW_MAX &&
                      oracle_when(&record->gave_up_at) == 0;
    }
    return is_possible ? how : LANEPOOL_RESOLVE_SKIP;
}

/* Resolves all parked tasks of a pool that drains, with one call. Nothing else can run, so these
 * are the listed ones. Returns their number. */
static size_t resolve_all(struct run *run)
{
    lanepool_parked_tasks *parked;
    lanepool_status status = lanepool_pool_parked(run->pool, &parked);
    size_t count = 0;

    if (status != LANEPOOL_OK) {
        run_note_failure(run,
                         status == LANEPOOL_NOMEM && world_has_refused() ? LANEPOOL_OK : status);
        return 0;
    }
    lanepool_resolution how = choose_for_all(run, parked);
    bool drops = how == LANEPOOL_RESOLVE_DROP;
    atomic_fetch_add(&run->log->dropping, drops);
    for (size_t i = 0; i < parked->count; i++) {
        check_listed(parked->tasks[i].context, &parked->tasks[i]);
        atomic_fetch_add(&record_of(parked->tasks[i].context)->resolving, 1);
        atomic_fetch_add(&record_of(parked->tasks[i].context)->drops, drops);
    }
    uint64_t begin = oracle_stamp(run->log);
    status = lanepool_pool_resolve_all(run->pool, how, &count);
    for (size_t i = 0; i < parked->count; i++) {
        struct task_context *context = parked->tasks[i].context;

        if (status == LANEPOOL_OK) {
            note_resolved(context, how, begin, begin);
        }
        atomic_fetch_sub(&record_of(context)->resolving, 1);
    }
    atomic_fetch_sub(&run->log->dropping, drops);
    oracle_expect(run->log, count == (status == LANEPOOL_OK ? parked->count : 0),
                  "resolving all tasks answered with a wrong number");
    if (status != LANEPOOL_OK && !world_has_refused()) {
        run_note_failure(run, status);
    }
    lanepool_parked_tasks_release(parked);
    return count;
}

void workload_resolve_all_of_one(struct run *run, uint32_t resolver)
{
    const struct workload_params *params = &run->workload->params;
    uint64_t dice = dice_of(run, 0, resolver, 0);

    for (uint32_t i = 0; i <= dice % LOOKS_MAX; i++) {
        world_rest((dice >> (8 + 8 * i)) % (2 * params->duration_most));
        (void)look(run, resolver, i, true);
    }
}

void workload_resolve_inside(const struct task_context *self)
{
    if (what_of(self)->resolves) {
        (void)look(self->run, INSIDE, self->task, true);
    }
}

/* --- paused lanes --- */

/* Resumes a lane. Returns true if the pool has not ended. */
static bool resume_lane(struct run *run, uint32_t key)
{
    struct oracle_lane_failure *record = &run->log->lanes[key];
    lanepool_key wanted = lanepool_key_id(key);
    lanepool_lane *lane;
    lanepool_status status = lanepool_lane_acquire(run->pool, wanted, &lane);

    if (status == LANEPOOL_OK) {
        uint64_t begin = oracle_stamp(run->log);
        unsigned index = atomic_fetch_add(&record->resume_count, 1);

        if (index < ORACLE_RESUMES_MAX) {
            record->resumes[index].end = UINT64_MAX;
            atomic_store(&record->resumes[index].begin, begin);
        }
        status = lanepool_lane_resume(lane);
        if (index < ORACLE_RESUMES_MAX) {
            record->resumes[index].end = oracle_stamp(run->log);
        }
        if (status == LANEPOOL_OK) {
            atomic_store(&record->resumed_at, begin);
        }
        lanepool_lane_release(lane);
    }
    if (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE) {
        world_stop_refusing();
    } else if (status != LANEPOOL_OK && status != LANEPOOL_SHUT_DOWN) {
        run_note_failure(run, status);
    }
    return status != LANEPOOL_SHUT_DOWN;
}

/* Resumes all paused lanes. Returns their number. */
static size_t resume_all(struct run *run)
{
    size_t count = 0;

    for (uint32_t key = 0; key < run->workload->params.key_count; key++) {
        const struct oracle_lane_failure *record = &run->log->lanes[key];

        if (oracle_when(&record->paused_at) > oracle_when(&record->resumed_at)) {
            count++;
            if (!resume_lane(run, key)) {
                break;
            }
        }
    }
    return count;
}

/* --- until the end --- */

/* Resolves failures only after the pool has answered PARKED, so that it has to answer so. The pool
 * does not while a task waits inside for a parked one; then failures are resolved after a while. */
void workload_relieve(struct run *run)
{
    uint64_t patience = workload_waits_inside(run->workload)
                            ? 2 * run->workload->params.duration_most
                            : LANEPOOL_FOREVER;

    for (uint32_t i = 0; atomic_load(&run->unsettled) > 0 || atomic_load(&run->submitting) > 0;
         i++) {
        lanepool_status status = lanepool_pool_quiesce(run->pool, patience);

        if (status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE) {
            world_stop_refusing();
        }
        if (status == LANEPOOL_PARKED || patience != LANEPOOL_FOREVER ||
            atomic_load(&run->unsettled) == 0) {
            (void)look(run, run->workload->params.resolvers, i, false);
            (void)resume_all(run);
        }
        world_rest(1 + run->workload->params.duration_most / 2);
    }
}

void workload_relieve_at_end(struct run *run, uint32_t resolved)
{
    bool was_resolved = atomic_load(&run->resolved) != resolved;
    size_t found;

    if (run->workload->params.stops_when_held) {
        run_stop(run, false);
        return;
    }
    if (lanepool_pool_is_shut_down(run->pool) && run->workload->params.seed % 2 == 0) {
        found = resolve_all(run);
    } else {
        found = look(run, run->workload->params.resolvers, 0, false);
    }
    found += resume_all(run);
    oracle_expect(run->log, found > 0 || was_resolved || world_has_refused(),
                  "the pool answered PARKED, but no task is parked and no lane paused");
    world_stop_refusing();
}
