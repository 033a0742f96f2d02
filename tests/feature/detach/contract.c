/* Lanes that a task holds longer than its function runs, gives up earlier, or hands over. */
#include <string.h>

#include "support/shop.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_claim on(uint64_t key)
{
    return lanepool_exclusive(key);
}

static lanepool_future *submit_step(lanepool_pool *pool, struct step *step, uint64_t key)
{
    lanepool_claim claim = on(key);
    lanepool_future *future;
    lanepool_task task = step_task(step, &claim, 1);

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static lanepool_future *submit_function(lanepool_pool *pool, lanepool_task_fn function,
                                        void *context, size_t keys)
{
    lanepool_claim claims[4] = { on(0), on(1), on(2), on(3) };
    lanepool_future *future;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = function;
    task.context = context;
    task.claims = claims;
    task.claim_count = keys;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

/* --- detached --- */

struct detaching {
    lanepool_detached *detached;
    lanepool_status status;
    lanepool_status again;
    struct gate *gate;
    bool completes_inside;
};

static int detach(lanepool_run *run, void *context)
{
    struct detaching *detaching = context;
    lanepool_detached *second;

    detaching->status = lanepool_run_detach(run, &detaching->detached);
    detaching->again = lanepool_run_detach(run, &second);
    if (detaching->completes_inside) {
        detaching->again = lanepool_task_complete(detaching->detached, 7, detaching);
    }
    gate_arrive(detaching->gate);
    return 3;
}

static void detach_in(lanepool_layout layout)
{
    struct gate gate;
    struct detaching detaching = { .gate = &gate };
    struct step behind = { 0 };
    struct step other = { 0 };
    lanepool_result result;
    lanepool_pool *pool = pool_make(2, layout);

    gate_init(&gate);
    lanepool_future *first = submit_function(pool, detach, &detaching, 2);
    expect(gate_await(&gate, 1));
    lanepool_future *second = submit_step(pool, &behind, 0);
    future_finish(submit_step(pool, &other, 9));
    expect_status(lanepool_future_wait(first, 0, NULL), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_wait(second, 0, NULL), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_cancel(first), LANEPOOL_RUNNING);
    expect(lanepool_detached_is_cancelled(detaching.detached));
    expect_ok(lanepool_task_complete(detaching.detached, 5, &gate));
    expect_ok(lanepool_future_wait(first, LANEPOOL_FOREVER, &result));
    expect_status(result.status, LANEPOOL_FAILED);
    expect_eq(result.code, 5);
    expect(result.value == &gate);
    lanepool_future_release(first);
    future_finish(second);
    pool_end(pool);
    expect_status(detaching.status, LANEPOOL_OK);
    expect_status(detaching.again, LANEPOOL_INVALID);
    gate_fini(&gate);
}

Test(detach, detached_task_keeps_its_lanes_until_it_is_completed)
{
    detach_in(LANEPOOL_PER_KEY);
}

Test(detach, detached_task_can_be_completed_before_its_function_returns)
{
    struct gate gate;
    struct detaching detaching = { .gate = &gate, .completes_inside = true };
    lanepool_result result;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *future = submit_function(pool, detach, &detaching, 1);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, &result));
    expect_eq(result.code, 7);
    lanepool_future_release(future);
    pool_end(pool);
    expect_status(detaching.again, LANEPOOL_OK);
    gate_fini(&gate);
}

static void end_with_one_detached(bool at_once)
{
    struct gate gate;
    struct detaching detaching = { .gate = &gate };
    struct step behind = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *first = submit_function(pool, detach, &detaching, 1);
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_on(pool, &behind, 0));
    if (at_once) {
        expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    } else {
        expect_ok(lanepool_pool_shutdown(pool));
    }
    expect_status(lanepool_pool_await(pool, at_once ? LANEPOOL_FOREVER : 1000000),
                  at_once ? LANEPOOL_OK : LANEPOOL_TIMED_OUT);
    expect_status(lanepool_task_complete(detaching.detached, 0, NULL),
                  at_once ? LANEPOOL_DONE : LANEPOOL_OK);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    pool_end(pool);
    future_finish(first);
    expect_eq(behind.runs, !at_once);
    expect_eq(behind.cancels, at_once);
    gate_fini(&gate);
}

Test(detach, pools_end_waits_for_detached_tasks)
{
    end_with_one_detached(false);
    end_with_one_detached(true);
}

/* --- given up early --- */

struct giving_up {
    struct gate *gate;
    lanepool_status answers[4];
};

static int give_up(lanepool_run *run, void *context)
{
    struct giving_up *giving_up = context;
    lanepool_key one = lanepool_key_id(1);
    lanepool_key none = lanepool_key_id(8);

    giving_up->answers[0] = lanepool_run_release(run, one);
    giving_up->answers[1] = lanepool_run_release(run, one);
    giving_up->answers[2] = lanepool_run_release(run, none);
    giving_up->answers[3] = lanepool_run_release(run, lanepool_key_none());
    gate_pass(giving_up->gate);
    return 0;
}

static void give_one_of(size_t keys)
{
    struct gate gate;
    struct giving_up giving_up = { .gate = &gate };
    struct step freed = { 0 };
    struct step held = { 0 };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    lanepool_future *first = submit_function(pool, give_up, &giving_up, keys);
    expect(gate_await(&gate, 1));
    lanepool_future *second = submit_step(pool, &held, 0);
    future_finish(submit_step(pool, &freed, 1));
    expect_status(lanepool_future_wait(second, 0, NULL), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    future_finish(first);
    future_finish(second);
    pool_end(pool);
    expect_status(giving_up.answers[0], LANEPOOL_OK);
    expect_status(giving_up.answers[1], LANEPOOL_INVALID);
    expect_status(giving_up.answers[2], LANEPOOL_INVALID);
    expect_status(giving_up.answers[3], LANEPOOL_INVALID);
    gate_fini(&gate);
}

Test(detach, lane_that_is_given_up_early_goes_on_and_the_others_stay)
{
    give_one_of(2);
    give_one_of(4);
}

/* --- the lane that a claim means --- */

struct naming {
    lanepool_claim by_handle[2]; /* of a key that the task claims, and of another key */
    lanepool_claim by_key[2];
    bool holds[4];
    lanepool_status released[3];
    bool holds_released[2];
};

static int name_lanes(lanepool_run *run, void *context)
{
    struct naming *naming = context;

    for (int i = 0; i < 2; i++) {
        naming->holds[i] = lanepool_run_holds(run, naming->by_handle[i].key);
        naming->holds[2 + i] = lanepool_run_holds(run, naming->by_key[i].key);
    }
    naming->released[0] = lanepool_run_release(run, naming->by_handle[1].key);
    naming->released[1] = lanepool_run_release(run, naming->by_handle[0].key);
    naming->released[2] = lanepool_run_release(run, naming->by_key[0].key);
    naming->holds_released[0] = lanepool_run_holds(run, naming->by_handle[0].key);
    naming->holds_released[1] = lanepool_run_holds(run, naming->by_key[0].key);
    return 0;
}

/* Checks handles with and without a task submitted by them. The task claims by key or by handle. */
static void name_lanes_of(lanepool_claim claimed, lanepool_claim other, bool was_used,
                          bool claims_handle)
{
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    struct naming naming = { .by_key = { claimed, other } };
    struct step steps[2] = { { 0 } };
    lanepool_lane *lanes[2];
    lanepool_task task = LANEPOOL_TASK_INIT;

    for (int i = 0; i < 2; i++) {
        expect_ok(lanepool_lane_acquire(pool, naming.by_key[i].key, &lanes[i]));
        naming.by_handle[i] = lanepool_claim_of(lanepool_key_lane(lanes[i]), LANEPOOL_EXCLUSIVE);
        task = step_task(&steps[i], &naming.by_handle[i], 1);
        if (was_used)
            expect_ok(lanepool_pool_submit(pool, &task));
    }
    task.function = name_lanes;
    task.context = &naming;
    task.claims = claims_handle ? naming.by_handle : naming.by_key;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    lanepool_lane_release(lanes[0]);
    lanepool_lane_release(lanes[1]);
    pool_end(pool);
    expect(naming.holds[0] && naming.holds[2]);
    expect(!naming.holds[1] && !naming.holds[3]);
    expect_status(naming.released[0], LANEPOOL_INVALID);
    expect_status(naming.released[1], LANEPOOL_OK);
    expect_status(naming.released[2], LANEPOOL_INVALID);
    expect(!naming.holds_released[0] && !naming.holds_released[1]);
}

Test(detach, lane_is_meant_by_its_key_and_by_any_handle_of_it)
{
    lanepool_claim long_text = lanepool_claim_of(
        lanepool_key_string("a key that is long enough to have a block of its own"),
        LANEPOOL_EXCLUSIVE);

    for (int i = 0; i < 4; i++) {
        bool was_used = i % 2 == 1;
        bool claims_handle = i / 2 == 1;
        name_lanes_of(on(1), on(2), was_used, claims_handle);
        name_lanes_of(on(1), lanepool_claim_of(lanepool_key_string("1"), LANEPOOL_EXCLUSIVE),
                      was_used, claims_handle);
        name_lanes_of(lanepool_claim_of(lanepool_key_string("one"), LANEPOOL_EXCLUSIVE), long_text,
                      was_used, claims_handle);
        name_lanes_of(long_text, on(1), was_used, claims_handle);
    }
}

/* A handle of another pool means no lane here, even for an equal key. */
Test(detach, handle_of_another_pool_means_no_lane)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pool *other = pool_make(1, LANEPOOL_PER_KEY);
    struct naming naming = { .by_key = { on(1), on(2) } };
    lanepool_lane *lane;
    lanepool_task task = LANEPOOL_TASK_INIT;

    expect_ok(lanepool_lane_acquire(other, naming.by_key[0].key, &lane));
    naming.by_handle[0] = naming.by_handle[1] =
        lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    task.function = name_lanes;
    task.context = &naming;
    task.claims = naming.by_key;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    lanepool_lane_release(lane);
    pool_end(other);
    expect(!naming.holds[0] && naming.holds[2]);
    expect_status(naming.released[1], LANEPOOL_INVALID);
    expect_status(naming.released[2], LANEPOOL_OK);
}

static int ask_for_contexts(lanepool_run *run, void *context)
{
    struct visit *visits = context;

    for (int i = 0; i < 2; i++) {
        visits[i].status =
            lanepool_run_context(run, visits[i].claim.key, &visits[i].context, &visits[i].code);
    }
    return 0;
}

/* No task was submitted with the handle. */
Test(detach, context_of_a_lane_is_asked_for_by_any_handle_of_it)
{
    struct shop shop = { 0 };
    lanepool_context_options contexts = shop_options();
    lanepool_pool *pool = shop_pool(&shop, &contexts);
    struct visit visits[2] = { { .status = LANEPOOL_INVALID }, { .claim = on(1) } };
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, visits[1].claim.key, &lane));
    visits[0].claim = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    future_finish(submit_function(pool, ask_for_contexts, visits, 2));
    lanepool_lane_release(lane);
    pool_end(pool);
    expect_ok(visits[0].status);
    expect_ok(visits[1].status);
    expect(visits[0].context == visits[1].context);
    expect_eq(shop.opens[1], 1);
    expect_eq(shop.closes[1], 1);
    expect_eq(shop.faults, 0);
}

/* --- handed over --- */

struct handing_over {
    struct gate *gate;
    struct step *heir;
    lanepool_future *future;
    lanepool_status answers[3];
    uint64_t ticket;
    int code;
};

static int hand_over(lanepool_run *run, void *context)
{
    struct handing_over *handing_over = context;
    lanepool_claim claim = on(0);
    lanepool_task task = step_task(handing_over->heir, &claim, 1);

    handing_over->ticket = lanepool_run_ticket(run);
    gate_pass(handing_over->gate);
    handing_over->answers[0] = lanepool_run_hand_over(run, &task);
    task.claim_count = 0;
    task.future = &handing_over->future;
    task.release = step_release;
    handing_over->answers[1] = lanepool_run_hand_over(run, &task);
    task.future = NULL;
    handing_over->answers[2] = lanepool_run_hand_over(run, &task);
    return handing_over->code;
}

static void hand_over_lanes(size_t keys, int code)
{
    struct gate gate;
    static struct journal journal;
    struct step heir = { .id = 0, .journal = &journal };
    struct step waiting = { .id = 1, .journal = &journal };
    struct handing_over handing_over = { .gate = &gate, .heir = &heir, .code = code };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    memset(&journal, 0, sizeof journal);
    gate_init(&gate);
    lanepool_future *first = submit_function(pool, hand_over, &handing_over, keys);
    expect(gate_await(&gate, 1));
    lanepool_future *second = submit_step(pool, &waiting, keys > 0 ? keys - 1 : 0);
    gate_open(&gate, 1);
    future_finish(first);
    future_finish(handing_over.future);
    future_finish(second);
    pool_end(pool);
    expect_status(handing_over.answers[0], LANEPOOL_UNSUPPORTED);
    expect_status(handing_over.answers[1], LANEPOOL_OK);
    expect_status(handing_over.answers[2], LANEPOOL_INVALID);
    expect_eq(heir.runs, 1);
    expect_eq(heir.releases, 1);
    expect_eq(heir.ticket, handing_over.ticket);
    if (keys > 0) {
        expect_eq(journal_place(&journal, 0), 0);
    }
    gate_fini(&gate);
}

Test(detach, heir_comes_before_all_that_waits_for_the_lanes)
{
    hand_over_lanes(0, 0);
    hand_over_lanes(1, 0);
    hand_over_lanes(2, 4);
    hand_over_lanes(4, 0);
}

struct refused {
    lanepool_status answers[2];
};

static int try_all(lanepool_run *run, void *context)
{
    struct refused *refused = context;
    lanepool_claim claim = on(0);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = try_all;
    refused->answers[0] = lanepool_run_release(run, claim.key);
    refused->answers[1] = lanepool_run_hand_over(run, &task);
    return 0;
}

Test(detach, lanes_per_worker_have_none_of_it)
{
    struct refused refused;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_WORKER);

    future_finish(submit_function(pool, try_all, &refused, 1));
    pool_end(pool);
    for (int j = 0; j < 2; j++) {
        expect_status(refused.answers[j], LANEPOOL_UNSUPPORTED);
    }
    expect_status(lanepool_task_complete(NULL, 0, NULL), LANEPOOL_INVALID);
}
