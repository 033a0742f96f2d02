/* Cuts in other forms: run by the submitter, delayed, with deadlines, with other keys. */
#include "support/cut.h"
#include "support/step.h"
#include "support/test.h"

/* Creates a pool that is full, since a task stops at the gate in it. */
static lanepool_pool *full_pool(unsigned workers, struct step *before)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.pending_max = 1;
    lanepool_pool *pool = pool_make_with(&options);
    expect_ok(step_submit_on(pool, before, 77));
    expect(gate_await(before->gate, 1));
    return pool;
}

Test(cut_forms, the_submitter_runs_the_function_of_a_cut_that_has_no_room)
{
    for (unsigned workers = 1; workers <= 2; workers++) {
        struct gate gate;
        struct step before = { .gate = &gate };
        struct cut cut;

        gate_init(&gate);
        lanepool_pool *pool = full_pool(workers, &before);
        cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
        lanepool_task task = cut_task(&cut);
        gate_open(&gate, workers == 1);
        expect_ok(lanepool_pool_submit_or_run(pool, &task));
        gate_open(&gate, workers == 2);
        pool_settle(pool);
        expect_eq(cut.calls, 1);
        expect_eq(cut.visited, 3);
        pool_end(pool);
        gate_fini(&gate);
    }
}

Test(cut_forms, a_delayed_cut_visits_its_lanes_when_it_is_due)
{
    struct cut cut;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    cut_init(&cut, 3, LANEPOOL_SHARED);
    lanepool_task task = cut_task(&cut);
    task.future = &future;
    expect_ok(lanepool_pool_submit_after(pool, &task, 1000));
    expect_status(cut_end(future, NULL), LANEPOOL_OK);
    expect_eq(cut.visited_at_call, 3);
    pool_end(pool);
}

Test(cut_forms, a_delayed_cut_is_cancelled_before_it_is_due)
{
    struct cut cut;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    cut_init(&cut, 3, LANEPOOL_SHARED);
    lanepool_task task = cut_task(&cut);
    task.future = &future;
    expect_ok(lanepool_pool_submit_after(pool, &task, INT64_MAX / 4));
    expect_ok(lanepool_future_cancel(future));
    expect_status(cut_end(future, NULL), LANEPOOL_CANCELLED);
    pool_end(pool);
    expect_eq(cut.visited, 0);
    expect_eq(cut.cancels, 1);
    expect_eq(cut.releases, 1);
}

Test(cut_forms, a_cut_that_does_not_begin_in_time_is_cancelled)
{
    struct gate gate;
    struct step before = { .gate = &gate };
    struct cut cut;
    lanepool_future *future;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &before, 1));
    expect(gate_await(&gate, 1));
    cut_init(&cut, 3, LANEPOOL_SHARED);
    lanepool_task task = cut_task(&cut);
    task.future = &future;
    task.start_within_ns = 1000;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(cut_end(future, NULL), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(cut.visited, 0);
    expect_eq(cut.releases, 1);
    expect_status(cut.why, LANEPOOL_TIMED_OUT);
    gate_fini(&gate);
}

/* A program that was built for the first release does not know `at_lane`. */
Test(cut_forms, a_description_of_the_first_release_is_no_cut)
{
    struct cut cut;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    cut_init(&cut, 3, LANEPOOL_EXCLUSIVE);
    lanepool_task task = cut_task(&cut);
    task.struct_size = offsetof(lanepool_task, at_lane);
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    expect_eq(cut.calls, 1);
    expect_eq(cut.claims_at_call, 3);
    expect_eq(cut.visited, 0);
    pool_end(pool);
}

/* Two claims name one key, once by its handle. The key's visit has the number of the first. */
Test(cut_forms, keys_of_every_type_are_visited_once)
{
    struct cut cut;
    lanepool_lane *lane;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    expect_ok(lanepool_lane_acquire(pool, lanepool_key_string("acme"), &lane));
    cut_init(&cut, 4, LANEPOOL_SHARED);
    cut.claims[0].key = lanepool_key_lane(lane);
    cut.claims[1].key = lanepool_key_string("acme");
    cut.claims[2].key = lanepool_key_string("a name that is longer than the place in an entry");
    cut.claims[3].key = lanepool_key_pointer(&cut);
    expect_status(cut_end(cut_submit(pool, &cut), NULL), LANEPOOL_OK);
    expect_eq(cut.visits[0] + cut.visits[2] + cut.visits[3], 3);
    expect_eq(cut.visits[1], 0);
    lanepool_lane_release(lane);
    pool_end(pool);
}

/* --- checks of claims --- */

struct checked {
    lanepool_pool *pool;
    struct cut cut;
    lanepool_failed_check failed[2]; /* by visit */
    uint64_t tickets[2];
    uint32_t counts[2];
};

static __thread size_t visit_here;

static void note_failed(void *user, const lanepool_failed_check *failed)
{
    struct checked *checked = user;

    checked->failed[visit_here] = *failed;
    checked->counts[visit_here]++;
}

static int visit_checked(lanepool_run *run, void *context, size_t index)
{
    struct checked *checked = context;

    visit_here = index;
    checked->tickets[index] = lanepool_run_ticket(run);
    lanepool_assert_claimed(checked->pool, checked->cut.claims[index]);
    lanepool_assert_claimed(checked->pool, lanepool_shared(99));
    return 0;
}

static int end_checked(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

Test(cut_forms, a_failed_check_in_a_visit_names_the_cut)
{
    struct checked checked = { .pool = NULL };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.on_check = note_failed;
    options.user = &checked;
    checked.pool = pool_make_with(&options);
    cut_init(&checked.cut, 2, LANEPOOL_SHARED);
    lanepool_task task = cut_task(&checked.cut);
    task.function = end_checked;
    task.context = &checked;
    task.at_lane = visit_checked;
    task.cancelled = NULL;
    task.release = NULL;
    expect_ok(lanepool_pool_submit(checked.pool, &task));
    pool_settle(checked.pool);
    for (size_t i = 0; i < 2; i++) {
        expect_eq(checked.counts[i], 1);
        expect(checked.failed[i].context == &checked);
        expect(checked.failed[i].function == end_checked);
        expect_eq(checked.failed[i].ticket, checked.tickets[i]);
    }
    pool_end(checked.pool);
}
