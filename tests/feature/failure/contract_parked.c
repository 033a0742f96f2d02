/* Tasks that are parked after they have failed: listed, resolved, and how the pool ends with
 * them. */
#include <string.h>

#include "support/step.h"
#include "support/test.h"

/* A task that fails until the test changes `code`. */
struct failing {
    _Atomic int code;
    unsigned calls; /* written by the task that has the lane */
    unsigned attempt;
    uint64_t ticket;
    _Atomic uint32_t releases;
};

static int fail(lanepool_run *run, void *context)
{
    struct failing *failing = context;

    failing->ticket = lanepool_run_ticket(run);
    failing->attempt = lanepool_run_attempt(run);
    failing->calls++;
    lanepool_run_set_result(run, failing);
    return failing->code;
}

static void release_failing(void *context)
{
    struct failing *failing = context;
    atomic_fetch_add(&failing->releases, 1);
}

static lanepool_failure_policy poison(unsigned retries)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    policy.retries = retries;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    return policy;
}

static lanepool_future *submit_failing(lanepool_pool *pool, struct failing *failing,
                                       const lanepool_claim *claims, size_t claim_count)
{
    lanepool_failure_policy policy = poison(1);
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = fail;
    task.context = failing;
    task.claims = claims;
    task.claim_count = claim_count;
    task.future = &future;
    task.release = release_failing;
    task.tag = 7;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static lanepool_future *submit_on(lanepool_pool *pool, struct failing *failing, uint64_t key)
{
    lanepool_claim claim = lanepool_exclusive(key);
    return submit_failing(pool, failing, &claim, 1);
}

static lanepool_result await(lanepool_future *future)
{
    lanepool_result result;

    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    lanepool_future_release(future);
    return result;
}

/* --- listing --- */

Test(failure_parked, kept_task_is_listed_with_all_that_it_holds)
{
    lanepool_claim claims[] = {
        lanepool_shared(3), lanepool_claim_of(lanepool_key_string("ledger"), LANEPOOL_EXCLUSIVE),
        lanepool_exclusive(3)
    };
    struct failing failing = { .code = 5 };
    struct failing other = { .code = 6 };
    lanepool_parked_tasks *failures;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    expect_eq(pool_parked_count(pool), 0);
    lanepool_future *first = submit_failing(pool, &failing, claims, 3);
    lanepool_future *second = submit_on(pool, &other, 9);
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_parked(pool, &failures));
    expect_eq(failures->count, 2);
    const lanepool_parked_task *kept = &failures->tasks[0];
    expect_eq(kept->ticket, failing.ticket);
    expect(kept->function == fail);
    expect(kept->context == &failing);
    expect_eq(kept->tag, 7);
    expect_status(kept->status, LANEPOOL_FAILED);
    expect_eq(kept->code, 5);
    expect_eq(kept->attempts, 2);
    expect_eq(kept->claim_count, 2);
    for (size_t i = 0; i < 2; i++) {
        const lanepool_claim *claim = &kept->claims[i];
        bool is_string = claim->key.type == LANEPOOL_KEY_BYTES;
        expect_eq(claim->mode, LANEPOOL_EXCLUSIVE);
        expect(is_string ? claim->key.size == 6 && memcmp(claim->key.bytes, "ledger", 6) == 0
                         : claim->key.id == 3);
    }
    expect_eq(failures->tasks[1].ticket, other.ticket);
    expect_status(lanepool_future_wait(first, 0, NULL), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_SKIP));
    expect_ok(lanepool_pool_resolve(pool, other.ticket, LANEPOOL_RESOLVE_SKIP));
    pool_end(pool);
    lanepool_parked_tasks_release(failures);
    lanepool_result result = await(first);
    expect_status(result.status, LANEPOOL_FAILED);
    expect_eq(result.code, 5);
    expect(result.value == &failing);
    expect_eq(await(second).code, 6);
    expect_eq(failing.releases, 1);
    expect_eq(failing.calls, 2);
}

/* --- resolving --- */

Test(failure_parked, lanes_are_held_until_the_task_is_resolved_and_no_other)
{
    struct failing failing = { .code = 5 };
    struct step behind = { 0 };
    struct step beside = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_on(pool, &failing, 1);
    expect_ok(step_submit_on(pool, &behind, 1));
    expect_ok(step_submit_on(pool, &beside, 2));
    pool_settle_parked(pool);
    expect_eq(beside.runs, 1);
    expect(!step_was_called(&behind));
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_SKIP));
    expect_status(await(future).status, LANEPOOL_FAILED);
    pool_settle(pool);
    expect_eq(behind.runs, 1);
    pool_end(pool);
}

Test(failure_parked, retry_counts_its_attempts_anew_and_may_be_kept_again)
{
    struct failing failing = { .code = 5 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_on(pool, &failing, 1);
    pool_settle_parked(pool);
    expect_eq(failing.attempt, 2);
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_RETRY));
    pool_settle_parked(pool);
    expect_eq(failing.calls, 4);
    expect_eq(failing.attempt, 2);
    failing.code = 0;
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_RETRY));
    expect_status(await(future).status, LANEPOOL_OK);
    expect_eq(failing.calls, 5);
    expect_eq(failing.attempt, 1);
    expect_status(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_RETRY),
                  LANEPOOL_DONE);
    pool_end(pool);
    expect_eq(failing.releases, 1);
}

Test(failure_parked, drop_cancels_all_that_waits_in_its_lanes_and_nothing_else)
{
    struct failing failing = { .code = 5 };
    struct failing elsewhere = { .code = 6 };
    struct step behind[3] = { { 0 } };
    struct step beside = { 0 };
    struct step later = { 0 };
    lanepool_claim claims[] = { lanepool_exclusive(1), lanepool_shared(2) };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_failing(pool, &failing, claims, 2);
    lanepool_future *other = submit_on(pool, &elsewhere, 3);
    expect_ok(step_submit_on(pool, &behind[0], 1));
    expect_ok(step_submit_on(pool, &behind[1], 2));
    expect_ok(step_submit_rollup(pool, &behind[2], 2, 3));
    expect_ok(step_submit_on(pool, &beside, 3));
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_DROP));
    expect_status(await(future).status, LANEPOOL_FAILED);
    for (int i = 0; i < 3; i++) {
        expect_eq(behind[i].cancels, 1);
    }
    expect(!step_was_called(&beside));
    expect_ok(step_submit_on(pool, &later, 1));
    pool_settle_parked(pool);
    expect_eq(later.runs, 1);
    expect_ok(lanepool_pool_resolve(pool, elsewhere.ticket, LANEPOOL_RESOLVE_SKIP));
    expect_eq(await(other).code, 6);
    pool_end(pool);
    expect_eq(beside.runs, 1);
}

Test(failure_parked, answers_about_what_is_not_kept)
{
    struct step step = { 0 };
    lanepool_parked_tasks *failures;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(step_submit_on(pool, &step, 1));
    expect_status(lanepool_pool_resolve(pool, 99, LANEPOOL_RESOLVE_SKIP), LANEPOOL_DONE);
    expect_status(lanepool_pool_resolve(NULL, 0, LANEPOOL_RESOLVE_SKIP), LANEPOOL_INVALID);
    expect_status(lanepool_pool_resolve(pool, 0, (lanepool_resolution)3), LANEPOOL_INVALID);
    expect_status(lanepool_pool_parked(NULL, &failures), LANEPOOL_INVALID);
    expect(failures == NULL);
    expect_status(lanepool_pool_parked(pool, NULL), LANEPOOL_INVALID);
    lanepool_parked_tasks_release(NULL);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(lanepool_pool_resolve(pool, 0, LANEPOOL_RESOLVE_SKIP), LANEPOOL_SHUT_DOWN);
    pool_end(pool);
}

Test(failure_parked, cancel_asks_a_kept_task_and_leaves_it_there)
{
    struct failing failing = { .code = 5 };
    size_t count = 0;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_on(pool, &failing, 1);
    pool_settle_parked(pool);
    expect_status(lanepool_future_cancel(future), LANEPOOL_RUNNING);
    expect_ok(lanepool_pool_cancel(pool, &count));
    expect_eq(count, 0);
    expect_eq(pool_parked_count(pool), 1);
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_RETRY));
    pool_settle_parked(pool);
    expect_eq(failing.calls, 3); /* after the cancel one attempt only, without a retry */
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_SKIP));
    expect_status(await(future).status, LANEPOOL_FAILED);
    pool_end(pool);
}

static int give_up_and_fail(lanepool_run *run, void *context)
{
    lanepool_key key = lanepool_key_id(1);

    *(uint64_t *)context = lanepool_run_ticket(run);
    return lanepool_run_release(run, key) == LANEPOOL_OK ? 5 : 6;
}

Test(failure_parked, who_has_given_a_lane_up_is_kept_in_the_others_and_not_tried_again)
{
    lanepool_claim claims[] = { lanepool_exclusive(1), lanepool_exclusive(2) };
    lanepool_failure_policy policy = poison(3);
    uint64_t ticket;
    struct step freed = { 0 };
    lanepool_parked_tasks *failures;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.function = give_up_and_fail;
    task.context = &ticket;
    task.claims = claims;
    task.claim_count = 2;
    task.on_failure = &policy;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &freed, 1));
    pool_settle_parked(pool);
    expect_eq(freed.runs, 1);
    expect_ok(lanepool_pool_parked(pool, &failures));
    expect_eq(failures->tasks[0].attempts, 1);
    expect_eq(failures->tasks[0].claim_count, 1);
    expect_eq(failures->tasks[0].claims[0].key.id, 2);
    lanepool_parked_tasks_release(failures);
    expect_status(lanepool_pool_resolve(pool, ticket, LANEPOOL_RESOLVE_RETRY), LANEPOOL_INVALID);
    expect_ok(lanepool_pool_resolve(pool, ticket, LANEPOOL_RESOLVE_SKIP));
    pool_end(pool);
}

/* --- snapshots --- */

struct text {
    char bytes[4096];
    size_t size;
};

static void write_text(void *context, const char *piece, size_t size)
{
    struct text *text = context;

    if (size > sizeof text->bytes - 1 - text->size) {
        size = sizeof text->bytes - 1 - text->size;
    }
    memcpy(text->bytes + text->size, piece, size);
    text->size += size;
    text->bytes[text->size] = '\0';
}

Test(failure_parked, snapshots_say_that_others_wait_for_it)
{
    struct failing failing = { .code = 5 };
    struct step behind = { 0 };
    struct text text = { .size = 0 };
    lanepool_snapshot *snapshot;
    lanepool_snapshot_reason reason;
    size_t count;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_on(pool, &failing, 1);
    expect_ok(step_submit_on(pool, &behind, 1));
    pool_settle_parked(pool);
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 2);
    expect_eq(snapshot->tasks[0].state, LANEPOOL_SNAPSHOT_PARKED);
    expect_eq(snapshot->tasks[0].attempts, 2);
    expect_ok(lanepool_snapshot_explain(snapshot, 1, &reason, 1, &count));
    expect_eq(count, 1);
    expect_eq(reason.blocker, 0);
    expect_ok(lanepool_snapshot_write_text(snapshot, write_text, &text));
    expect(strstr(text.bytes, ", 1 parked\n") != NULL);
    expect_ok(
        lanepool_snapshot_write_reasons(snapshot, snapshot->tasks[1].ticket, write_text, &text));
    expect(strstr(text.bytes, "has failed 2 times and is parked until it is resolved") != NULL);
    lanepool_snapshot_release(snapshot);
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_SKIP));
    expect_status(await(future).status, LANEPOOL_FAILED);
    pool_end(pool);
}

/* --- the pool's end --- */

Test(failure_parked, drain_says_when_all_that_is_left_is_held_up)
{
    struct failing failing = { .code = 5 };
    struct step behind = { 0 };
    struct step last = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_on(pool, &failing, 1);
    expect_ok(step_submit_on(pool, &behind, 1));
    expect_ok(step_submit_rollup(pool, &last, 1, 2));
    expect_status(lanepool_pool_destroy(pool), LANEPOOL_PARKED);
    expect_status(lanepool_pool_await(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect_status(lanepool_pool_await(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect(!step_was_called(&behind));
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_RETRY));
    expect_status(lanepool_pool_await(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    failing.code = 0;
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_RETRY));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    pool_end(pool);
    expect_status(await(future).status, LANEPOOL_OK);
    expect_eq(behind.runs, 1);
    expect_eq(last.runs, 1);
    expect_eq(failing.calls, 5);
}

Test(failure_parked, shutdown_now_ends_what_is_kept_and_hands_the_rest_back)
{
    struct failing failing = { .code = 5 };
    struct step behind = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_on(pool, &failing, 1);
    expect_ok(step_submit_on(pool, &behind, 1));
    expect_status(lanepool_pool_destroy(pool), LANEPOOL_PARKED);
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    pool_end(pool);
    lanepool_result result = await(future);
    expect_status(result.status, LANEPOOL_FAILED);
    expect_eq(result.code, 5);
    expect_eq(failing.calls, 2);
    expect_eq(failing.releases, 1);
    expect_eq(behind.cancels, 1);
}

Test(failure_parked, barrier_that_fails_holds_everything_up)
{
    lanepool_claim all = lanepool_claim_all();
    struct failing failing = { .code = 5 };
    struct step behind = { 0 };
    lanepool_parked_tasks *failures;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_failing(pool, &failing, &all, 1);
    expect_ok(step_submit_on(pool, &behind, 1));
    pool_settle_parked(pool);
    expect(!step_was_called(&behind));
    expect_ok(lanepool_pool_parked(pool, &failures));
    expect_eq(failures->tasks[0].claim_count, 1);
    expect_eq(failures->tasks[0].claims[0].key.type, LANEPOOL_KEY_ALL);
    lanepool_parked_tasks_release(failures);
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_SKIP));
    expect_status(await(future).status, LANEPOOL_FAILED);
    pool_end(pool);
    expect_eq(behind.runs, 1);
}

Test(failure_parked, drop_of_a_barrier_skips_it_and_a_cancel_takes_what_is_behind_it)
{
    lanepool_claim all = lanepool_claim_all();
    struct failing failing = { .code = 5 };
    struct step behind[2] = { { 0 } };
    struct step later = { 0 };
    size_t count;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    lanepool_future *future = submit_failing(pool, &failing, &all, 1);
    expect_ok(step_submit_on(pool, &behind[0], 1));
    expect_ok(step_submit(pool, &behind[1]));
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_cancel(pool, &count));
    expect_eq(count, 2);
    expect_ok(step_submit_on(pool, &later, 1));
    pool_settle_parked(pool);
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_DROP));
    expect_status(await(future).status, LANEPOOL_FAILED);
    pool_end(pool);
    expect_eq(behind[0].cancels, 1);
    expect_eq(behind[1].cancels, 1);
    expect_eq(later.runs, 1);
}

static bool never_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a, (void)b, (void)user;
    return false;
}

Test(failure_parked, works_with_a_rule_of_the_programs)
{
    lanepool_failure_policy policy = poison(0);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct failing failing = { .code = 5 };
    struct step behind[2] = { { 0 } };
    lanepool_task task = LANEPOOL_TASK_INIT;

    options.is_compatible = never_compatible;
    options.on_failure = &policy;
    lanepool_pool *pool = pool_make_with(&options);
    task.function = fail;
    task.context = &failing;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit(pool, &behind[0]));
    expect_ok(step_submit(pool, &behind[1]));
    pool_settle_parked(pool);
    expect(!step_was_called(&behind[0]));
    expect_status(lanepool_pool_destroy(pool), LANEPOOL_PARKED);
    expect_status(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_DROP),
                  LANEPOOL_UNSUPPORTED);
    expect_ok(lanepool_pool_resolve(pool, failing.ticket, LANEPOOL_RESOLVE_SKIP));
    pool_end(pool);
    expect_eq(behind[0].runs, 1);
    expect_eq(behind[1].runs, 1);
}
