/* A function for each feature: uses it in a pool of the given sort. */
#include "features.h"

#include <stddef.h>
#include <stdlib.h>

/* --- conflicts --- */

static lanepool_status claim_exclusive(lanepool_pool *pool)
{
    return run_with_claim(pool, exclusive());
}

static lanepool_status claim_shared(lanepool_pool *pool)
{
    return run_with_claim(pool, lanepool_shared(KEY));
}

static lanepool_status claim_commuting(lanepool_pool *pool)
{
    return run_with_claim(pool, lanepool_commuting(KEY));
}

static lanepool_status claim_two(lanepool_pool *pool)
{
    return run_with_two(pool, NULL, NULL);
}

static lanepool_status claim_all(lanepool_pool *pool)
{
    return run_with_claim(pool, lanepool_claim_all());
}

static lanepool_status cut_two(lanepool_pool *pool)
{
    return run_with_two(pool, visit_nothing, NULL);
}

static lanepool_status gather_two(lanepool_pool *pool)
{
    return run_with_two(pool, NULL, visit_nothing);
}

static lanepool_status give_kind(lanepool_pool *pool)
{
    lanepool_task task = nothing();

    task.kind = 1;
    return run_task(pool, &task);
}

static lanepool_status claim_by_handle(lanepool_pool *pool)
{
    lanepool_claim key = exclusive();
    lanepool_lane *lane;
    lanepool_status status = lanepool_lane_acquire(pool, key.key, &lane);

    if (status == LANEPOOL_OK) {
        status =
            run_with_claim(pool, lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE));
        lanepool_lane_release(lane);
    }
    return status;
}

/* --- descriptions and ways --- */

#define IN_WAY(name, way, field)                         \
    static lanepool_status name(const struct sort *sort) \
    {                                                    \
        lanepool_options options = options_of(sort);     \
        return try_way(&options, &ways[way], field);     \
    }
IN_WAY(give_future, WAY_NOW, &fields[FIELD_FUTURE])
IN_WAY(give_group, WAY_NOW, &fields[FIELD_GROUP])
IN_WAY(give_pump, WAY_NOW, &fields[FIELD_PUMP])
IN_WAY(give_tag, WAY_NOW, &fields[FIELD_TAG])
IN_WAY(give_deadlines, WAY_NOW, &fields[FIELD_DEADLINES])
IN_WAY(submit_batch, WAY_BATCH, NULL)
IN_WAY(submit_or_run, WAY_OR_RUN, NULL)
IN_WAY(submit_after, WAY_AFTER, NULL)
IN_WAY(submit_every, WAY_EVERY, NULL)

/* --- limits and order --- */

static lanepool_status run_plain(lanepool_pool *pool)
{
    lanepool_task task = nothing();

    return run_task(pool, &task);
}

static lanepool_status limit_lanes(const struct sort *sort)
{
    lanepool_options options = options_of(sort);

    options.lane_pending_max = 1;
    return with_options(&options, claim_exclusive);
}

static lanepool_status run_urgent(lanepool_pool *pool)
{
    lanepool_task task = nothing();

    task.priority = LANEPOOL_PRIORITY_MAX;
    return run_task(pool, &task);
}

static lanepool_status use_priorities(const struct sort *sort)
{
    lanepool_options options = options_of(sort);

    options.priorities = true;
    return with_options(&options, run_urgent);
}

static lanepool_status make_steps(const struct sort *sort)
{
    lanepool_options options = options_of(sort);

    options.step_seed = 1;
    return with_options(&options, run_plain);
}

static lanepool_status check_rule(const struct sort *sort)
{
    lanepool_options options = options_of(sort);

    options.checks = LANEPOOL_CHECK_RULE;
    return with_options(&options, run_plain);
}

static lanepool_status keep_few_workers(const struct sort *sort)
{
    lanepool_options options = options_of(sort);

    options.workers_min = 1;
    return with_options(&options, run_plain);
}

/* --- failures --- */

static int fail_once(lanepool_run *run, void *context)
{
    (void)context;
    return lanepool_run_attempt(run) == 1;
}

static lanepool_failure_policy policy_of(void)
{
    return (lanepool_failure_policy)LANEPOOL_FAILURE_POLICY_INIT;
}

/* Has a task fail with the policy. */
static lanepool_status fail_with(lanepool_pool *pool, const lanepool_failure_policy *policy)
{
    lanepool_task task = nothing();
    lanepool_status status;

    task.function = fail_once;
    task.on_failure = policy;
    status = run_task(pool, &task);
    return status == LANEPOOL_FAILED ? LANEPOOL_OK : status;
}

static lanepool_status retry(lanepool_pool *pool)
{
    lanepool_failure_policy policy = policy_of();

    policy.retries = 1;
    return fail_with(pool, &policy);
}

static lanepool_status pause_lanes_of_failed(lanepool_pool *pool)
{
    lanepool_failure_policy policy = policy_of();

    policy.at_end = LANEPOOL_FAILURE_PAUSE;
    return fail_with(pool, &policy);
}

static lanepool_status pass_poison(lanepool_pool *pool, lanepool_at_poison at_poison)
{
    lanepool_failure_policy policy = policy_of();

    policy.at_poison = at_poison;
    return fail_with(pool, &policy);
}

static lanepool_status fail_at_poison(lanepool_pool *pool)
{
    return pass_poison(pool, LANEPOOL_AT_POISON_FAIL);
}

static lanepool_status run_without_poisoned(lanepool_pool *pool)
{
    return pass_poison(pool, LANEPOOL_AT_POISON_RUN_WITHOUT);
}

/* Parks a task, and resolves it; after a refusal the task is skipped. */
static lanepool_status park_and(lanepool_pool *pool, lanepool_resolution how)
{
    lanepool_failure_policy policy = policy_of();
    lanepool_task task = nothing();
    lanepool_parked_tasks *parked;
    lanepool_status status;

    policy.at_end = LANEPOOL_FAILURE_POISON;
    task.function = fail_once;
    task.on_failure = &policy;
    status = lanepool_pool_submit(pool, &task);
    if (status != LANEPOOL_OK) {
        return status;
    }
    status = lanepool_pool_quiesce(pool, LANEPOOL_FOREVER);
    if (status != LANEPOOL_PARKED) {
        return LANEPOOL_INVALID;
    }
    status = lanepool_pool_parked(pool, &parked);
    if (status == LANEPOOL_OK) {
        status = lanepool_pool_resolve(pool, parked->tasks[0].ticket, how);
        if (status != LANEPOOL_OK) {
            lanepool_status skipped =
                lanepool_pool_resolve(pool, parked->tasks[0].ticket, LANEPOOL_RESOLVE_SKIP);

            status = skipped == LANEPOOL_OK ? status : skipped;
        }
        lanepool_parked_tasks_release(parked);
    }
    return status;
}

static lanepool_status park(lanepool_pool *pool)
{
    return park_and(pool, LANEPOOL_RESOLVE_SKIP);
}

static lanepool_status drop_behind(lanepool_pool *pool)
{
    return park_and(pool, LANEPOOL_RESOLVE_DROP);
}

/* --- inside a task --- */

static lanepool_status call_early_release(lanepool_run *run)
{
    lanepool_claim claim = exclusive();

    return lanepool_run_release(run, claim.key);
}

static lanepool_status call_hand_over(lanepool_run *run)
{
    lanepool_task task = nothing();

    return lanepool_run_hand_over(run, &task);
}

static lanepool_status call_detach(lanepool_run *run)
{
    lanepool_detached *detached;
    lanepool_status status = lanepool_run_detach(run, &detached);

    return status == LANEPOOL_OK ? lanepool_task_complete(detached, 0, NULL) : status;
}

static lanepool_status call_wait(lanepool_run *run)
{
    lanepool_task task = nothing();

    return run_task(lanepool_run_pool(run), &task);
}

static lanepool_status call_context(lanepool_run *run)
{
    lanepool_claim claim = exclusive();
    void *context;

    return lanepool_run_context(run, claim.key, &context, NULL);
}

static lanepool_status release_early(lanepool_pool *pool)
{
    return call_in_task(pool, call_early_release);
}

static lanepool_status hand_over(lanepool_pool *pool)
{
    return call_in_task(pool, call_hand_over);
}

static lanepool_status detach(lanepool_pool *pool)
{
    return call_in_task(pool, call_detach);
}

static lanepool_status wait_inside(lanepool_pool *pool)
{
    return call_in_task(pool, call_wait);
}

static int open_context(void *user, lanepool_key key, void **context)
{
    (void)user;
    (void)key;
    *context = NULL;
    return 0;
}

static lanepool_status ask_for_context(lanepool_pool *pool)
{
    return call_in_task(pool, call_context);
}

static lanepool_status use_contexts(const struct sort *sort)
{
    lanepool_context_options contexts = LANEPOOL_CONTEXT_OPTIONS_INIT;
    lanepool_options options = options_of(sort);

    contexts.open = open_context;
    options.contexts = &contexts;
    return with_options(&options, ask_for_context);
}

/* --- control --- */

static lanepool_status cancel_task(lanepool_pool *pool)
{
    lanepool_task task = nothing();
    lanepool_future *future;
    lanepool_status status = lanepool_pool_pause(pool);

    task.future = &future;
    status = first_of(status, lanepool_pool_submit(pool, &task));
    if (status == LANEPOOL_OK) {
        status = lanepool_future_cancel(future);
        lanepool_future_release(future);
    }
    return first_of(status, lanepool_pool_resume(pool));
}

static lanepool_status cancel_all(lanepool_pool *pool)
{
    return lanepool_pool_cancel(pool, NULL);
}

static lanepool_status cancel_held_lane(lanepool_lane *lane)
{
    return lanepool_lane_cancel(lane, NULL);
}

static lanepool_status cancel_lane(lanepool_pool *pool)
{
    return with_lane(pool, cancel_held_lane);
}

static lanepool_status pause_pool(lanepool_pool *pool)
{
    return first_of(lanepool_pool_pause(pool), lanepool_pool_resume(pool));
}

static lanepool_status pause_held_lane(lanepool_lane *lane)
{
    return first_of(lanepool_lane_pause(lane), lanepool_lane_resume(lane));
}

static lanepool_status pause_lane(lanepool_pool *pool)
{
    return with_lane(pool, pause_held_lane);
}

static lanepool_status wait_for_claims(lanepool_pool *pool)
{
    lanepool_claim claim = exclusive();

    return lanepool_pool_wait_claims(pool, &claim, 1, LANEPOOL_FOREVER);
}

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    (void)task;
    (void)ticket;
    ++*(size_t *)context;
}

static lanepool_status hand_back(lanepool_pool *pool)
{
    lanepool_task task = nothing();
    size_t count = 0;
    lanepool_status status = lanepool_pool_pause(pool);

    status = first_of(status, lanepool_pool_submit(pool, &task));
    status = first_of(status, lanepool_pool_shutdown_now(pool, take_back, &count));
    status = first_of(status, lanepool_pool_await(pool, LANEPOOL_FOREVER));
    return first_of(status, count == 1 ? LANEPOOL_OK : LANEPOOL_INVALID);
}

/* --- seeing --- */

static lanepool_status explain(lanepool_pool *pool)
{
    lanepool_task task = nothing();
    lanepool_snapshot *snapshot;
    size_t count;
    lanepool_status status = lanepool_pool_pause(pool);

    status = first_of(status, lanepool_pool_submit(pool, &task));
    status = first_of(status, lanepool_snapshot_take(pool, &snapshot));
    if (status == LANEPOOL_OK) {
        status = lanepool_snapshot_explain(snapshot, 0, NULL, 0, &count);
        lanepool_snapshot_release(snapshot);
    }
    return first_of(status, lanepool_pool_resume(pool));
}

static lanepool_status read_events(lanepool_pool *pool)
{
    lanepool_trace_reader *reader;
    lanepool_status status = lanepool_trace_open(pool, &reader);

    if (status == LANEPOOL_OK) {
        lanepool_trace_close(reader);
    }
    return status;
}

static lanepool_status record_events(const struct sort *sort)
{
    lanepool_options options = options_of(sort);

    options.trace_events = 64;
    return with_options(&options, read_events);
}

static void note_slow_task(void *user, const lanepool_slow_task *task)
{
    (void)user;
    (void)task;
}

static void note_stall(void *user, const lanepool_stall *stall)
{
    (void)user;
    (void)stall;
}

static lanepool_status watch(const struct sort *sort)
{
    lanepool_options options = options_of(sort);

    options.on_slow_task = note_slow_task;
    options.on_stalled = note_stall;
    return with_options(&options, run_plain);
}

static void *allocate(void *user, size_t size, size_t alignment)
{
    (void)user;
    return aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

static void deallocate(void *user, void *memory, size_t size)
{
    (void)user;
    (void)size;
    free(memory);
}

static lanepool_status use_allocator(const struct sort *sort)
{
    static const lanepool_allocator allocator = { sizeof allocator, allocate, deallocate, NULL };
    lanepool_options options = options_of(sort);

    options.allocator = &allocator;
    return with_options(&options, run_plain);
}

static int write_entries(void *user, const lanepool_journal_entry *entries, size_t count,
                         uint64_t watermark)
{
    (void)user;
    (void)entries;
    (void)watermark;
    return count != 1;
}

static lanepool_status write_journal(const struct sort *sort)
{
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    lanepool_options options = options_of(sort);

    journal.write = write_entries;
    options.journal = &journal;
    return with_options(&options, run_plain);
}

static lanepool_status make_executor(lanepool_pool *pool)
{
    lanepool_executor *executor;
    lanepool_status status = lanepool_pool_executor(pool, &executor);

    return status == LANEPOOL_OK ? lanepool_executor_destroy(executor) : status;
}

/* --- the table --- */

/* Each function of a pool as a function of a sort. */
#define IN_POOL(use)                                         \
    static lanepool_status use##_in(const struct sort *sort) \
    {                                                        \
        return with_pool(sort, use);                         \
    }
IN_POOL(claim_exclusive)
IN_POOL(claim_shared)
IN_POOL(claim_commuting)
IN_POOL(claim_two)
IN_POOL(cut_two)
IN_POOL(gather_two)
IN_POOL(claim_all)
IN_POOL(give_kind)
IN_POOL(claim_by_handle)
IN_POOL(retry)
IN_POOL(park)
IN_POOL(drop_behind)
IN_POOL(pause_lanes_of_failed)
IN_POOL(fail_at_poison)
IN_POOL(run_without_poisoned)
IN_POOL(release_early)
IN_POOL(hand_over)
IN_POOL(detach)
IN_POOL(wait_inside)
IN_POOL(cancel_task)
IN_POOL(cancel_all)
IN_POOL(cancel_lane)
IN_POOL(pause_pool)
IN_POOL(pause_lane)
IN_POOL(wait_for_claims)
IN_POOL(hand_back)
IN_POOL(explain)
IN_POOL(make_executor)

const struct feature features[] = {
    { "What tasks conflict on", NULL, NULL },
    { "exclusive claims", "`lanepool_task.claims`", claim_exclusive_in },
    { "shared claims", "`LANEPOOL_SHARED`", claim_shared_in },
    { "commuting claims", "`LANEPOOL_COMMUTING`", claim_commuting_in },
    { "rollups by claims", "two claims and more", claim_two_in },
    { "cuts", "`at_lane`", cut_two_in },
    { "progressive rollups", "`at_grant`", gather_two_in },
    { "barriers", "`lanepool_claim_all`", claim_all_in },
    { "kinds", "`lanepool_task.kind`", give_kind_in },
    { "lane handles", "`lanepool_lane_acquire`", claim_by_handle_in },
    { "Tasks", NULL, NULL },
    { "futures", "`lanepool_task.future`", give_future },
    { "groups", "`lanepool_task.group`", give_group },
    { "pumps", "`lanepool_task.pump`", give_pump },
    { "tags", "`lanepool_task.tag`", give_tag },
    { "deadlines", "`start_within_ns`, `run_within_ns`", give_deadlines },
    { "batches", "`lanepool_pool_submit_batch`", submit_batch },
    { "run by the submitter", "`lanepool_pool_submit_or_run`", submit_or_run },
    { "delayed tasks", "`lanepool_pool_submit_after`", submit_after },
    { "periodic tasks", "`lanepool_pool_submit_every`", submit_every },
    { "Order and limits", NULL, NULL },
    { "priorities", "`priorities`", use_priorities },
    { "limits of keys", "`lane_pending_max`", limit_lanes },
    { "elastic workers", "`workers_min`", keep_few_workers },
    { "steps in place of threads", "`step_seed`", make_steps },
    { "checks of the rule", "`LANEPOOL_CHECK_RULE`", check_rule },
    { "After a failure", NULL, NULL },
    { "retries", "`retries`", retry_in },
    { "parked tasks", "`LANEPOOL_FAILURE_POISON`", park_in },
    { "dropping the tasks behind", "`LANEPOOL_RESOLVE_DROP`", drop_behind_in },
    { "pausing the lanes", "`LANEPOOL_FAILURE_PAUSE`", pause_lanes_of_failed_in },
    { "failing at poison", "`LANEPOOL_AT_POISON_FAIL`", fail_at_poison_in },
    { "running without", "`LANEPOOL_AT_POISON_RUN_WITHOUT`", run_without_poisoned_in },
    { "Inside a task", NULL, NULL },
    { "waits", "`lanepool_future_wait`", wait_inside_in },
    { "detaching", "`lanepool_run_detach`", detach_in },
    { "early release", "`lanepool_run_release`", release_early_in },
    { "hand-offs", "`lanepool_run_hand_over`", hand_over_in },
    { "contexts of keys", "`contexts`", use_contexts },
    { "Control", NULL, NULL },
    { "cancelling a task", "`lanepool_future_cancel`", cancel_task_in },
    { "cancelling a pool's tasks", "`lanepool_pool_cancel`", cancel_all_in },
    { "cancelling a lane's tasks", "`lanepool_lane_cancel`", cancel_lane_in },
    { "pausing the pool", "`lanepool_pool_pause`", pause_pool_in },
    { "pausing a lane", "`lanepool_lane_pause`", pause_lane_in },
    { "waiting for claims", "`lanepool_pool_wait_claims`", wait_for_claims_in },
    { "hand-back", "`lanepool_pool_shutdown_now`", hand_back_in },
    { "sequences on the pool", "`lanepool_pool_executor`", make_executor_in },
    { "Seeing and memory", NULL, NULL },
    { "snapshots and reasons", "`lanepool_snapshot_explain`", explain_in },
    { "events", "`trace_events`", record_events },
    { "watchdog", "`on_slow_task`, `on_stalled`", watch },
    { "allocator", "`allocator`", use_allocator },
    { "a journal", "`journal`", write_journal },
};
const size_t feature_count = sizeof features / sizeof *features;
