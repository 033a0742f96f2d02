/* Bad arguments: every call answers with a status, and changes nothing. */
#include <string.h>

#include "support/step.h"
#include "support/test.h"

static bool any_rule(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return true;
}

/* Every form of submit must refuse the task with the status, and leave its future NULL. */
static void every_form_answers(lanepool_pool *pool, const lanepool_task *task,
                               lanepool_status wanted)
{
    lanepool_future *future = (lanepool_future *)pool;
    lanepool_task copy = *task;
    size_t accepted = 9;

    copy.future = &future;
    expect_status(lanepool_pool_submit(pool, &copy), wanted);
    expect_status(lanepool_pool_submit_within(pool, &copy, 0), wanted);
    expect_status(lanepool_pool_submit_within(pool, &copy, LANEPOOL_FOREVER), wanted);
    expect_status(lanepool_pool_submit_or_run(pool, &copy), wanted);
    expect_status(lanepool_pool_submit_batch(pool, &copy, 1, 0, &accepted), wanted);
    expect_eq(accepted, 0);
    if (copy.struct_size >= sizeof copy) {
        expect(future == NULL);
    }
}

static void refused_by_every_form(lanepool_pool *pool, const lanepool_task *task)
{
    every_form_answers(pool, task, LANEPOOL_INVALID);
}

static void nothing_was_accepted(lanepool_pool *pool)
{
    lanepool_stats stats;

    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.accepted, 0);
    expect_eq(stats.live_lanes, 0);
    pool_end(pool);
}

/* A task description of a later version: this version's fields, and more. */
struct longer_task {
    lanepool_task task;
    unsigned char more[32];
};

struct longer_options {
    lanepool_options options;
    unsigned char more[32];
};

Test(arguments, task_of_another_size)
{
    struct step step = { 0 };
    struct longer_task longer;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    memset(&longer, 0, sizeof longer);
    longer.task = step_task(&step, NULL, 0);
    longer.task.struct_size = 0;
    refused_by_every_form(pool, &longer.task);
    longer.task.struct_size = offsetof(lanepool_task, at_lane) - 1;
    refused_by_every_form(pool, &longer.task);
    nothing_was_accepted(pool);

    pool = pool_make(1, LANEPOOL_PER_KEY);
    longer.task.struct_size = sizeof longer;
    longer.more[31] = 1;
    expect_status(lanepool_pool_submit(pool, &longer.task), LANEPOOL_INVALID);
    longer.more[31] = 0; /* an unknown field may have its default */
    expect_ok(lanepool_pool_submit(pool, &longer.task));
    pool_end(pool);
    expect_eq(step.runs, 1);
}

Test(arguments, task_without_function_or_claims_or_pool)
{
    struct step step = { 0 };
    lanepool_task good = step_task(&step, NULL, 0);
    lanepool_task task = good;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.function = NULL;
    refused_by_every_form(pool, &task);
    task = good;
    task.claim_count = 1; /* `claims` is NULL */
    refused_by_every_form(pool, &task);
    refused_by_every_form(NULL, &good);
    expect_status(lanepool_pool_submit(pool, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_submit_within(pool, NULL, 0), LANEPOOL_INVALID);
    expect_status(lanepool_pool_submit_or_run(pool, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_submit_batch(pool, NULL, 1, 0, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_submit_batch(NULL, NULL, 0, 0, NULL), LANEPOOL_INVALID);
    nothing_was_accepted(pool);
}

Test(arguments, bad_claims)
{
    static const char byte = 'x';
    struct step step = { 0 };
    lanepool_key key = lanepool_key_id(5);
    lanepool_lane *foreign;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pool *other = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_claim bad[9];

    expect_ok(lanepool_lane_acquire(other, key, &foreign));
    for (int i = 0; i < 9; i++) {
        bad[i] = lanepool_exclusive(5);
    }
    bad[0].key.type = 0;
    bad[1].key.type = 5;
    bad[2].mode = 3;
    bad[3] = lanepool_claim_of(lanepool_key_bytes(NULL, 1), LANEPOOL_EXCLUSIVE);
    bad[4] = lanepool_claim_of(lanepool_key_bytes(&byte, LANEPOOL_KEY_BYTES_MAX + 1),
                               LANEPOOL_EXCLUSIVE);
    bad[5] = lanepool_claim_of(lanepool_key_lane(NULL), LANEPOOL_EXCLUSIVE);
    bad[6] = lanepool_claim_of(lanepool_key_lane(foreign), LANEPOOL_EXCLUSIVE);
    bad[7].key.type = UINT32_MAX;
    bad[8].mode = (uint64_t)1 << 32;
    for (int i = 0; i < 9; i++) {
        lanepool_claim claims[2] = { lanepool_exclusive(5), bad[i] };
        lanepool_task task = step_task(&step, claims, 2);

        refused_by_every_form(pool, &task);
    }
    lanepool_lane_release(foreign);
    pool_end(other);
    nothing_was_accepted(pool);
    expect(!step_was_called(&step));
}

Test(arguments, too_many_claims)
{
    struct step step = { 0 };
    lanepool_claim claim = lanepool_exclusive(5);
    lanepool_task task = step_task(&step, &claim, LANEPOOL_CLAIMS_MAX + 1);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    refused_by_every_form(pool, &task);
    task.claim_count = SIZE_MAX;
    refused_by_every_form(pool, &task);
    nothing_was_accepted(pool);
}

Test(arguments, claims_beside_a_kind_and_kinds_without_a_rule)
{
    struct step step = { 0 };
    lanepool_claim claim = lanepool_exclusive(5);
    lanepool_task with_claim = step_task(&step, &claim, 1);
    lanepool_task with_kind = step_task(&step, NULL, 0);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_lane *lane = (lanepool_lane *)&step;
    lanepool_pool *pool;

    with_kind.kind = 3;
    options.workers = 1;
    pool = pool_make_with(&options);
    every_form_answers(pool, &with_kind, LANEPOOL_UNSUPPORTED);
    nothing_was_accepted(pool);

    options.is_compatible = any_rule;
    with_claim.kind = 3;
    pool = pool_make_with(&options);
    every_form_answers(pool, &with_claim, LANEPOOL_UNSUPPORTED);
    nothing_was_accepted(pool);

    options.layout = LANEPOOL_PER_WORKER;
    with_claim.kind = 0;
    pool = pool_make_with(&options);
    every_form_answers(pool, &with_claim, LANEPOOL_UNSUPPORTED);
    expect_status(lanepool_lane_acquire(pool, claim.key, &lane), LANEPOOL_UNSUPPORTED);
    expect(lane == NULL);
    claim.mode = 3; /* a wrong value is INVALID, whatever the pool offers */
    refused_by_every_form(pool, &with_claim);
    nothing_was_accepted(pool);
}

static void options_are_refused(const lanepool_options *options)
{
    lanepool_pool *pool = (lanepool_pool *)&pool;

    expect_status(lanepool_pool_create(options, &pool), LANEPOOL_INVALID);
    expect(pool == NULL);
}

Test(arguments, bad_options)
{
    static const lanepool_options defaults = LANEPOOL_OPTIONS_INIT;
    lanepool_options options = defaults;
    struct longer_options longer;

    expect_status(lanepool_pool_create(&options, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_create(NULL, NULL), LANEPOOL_INVALID);
    options.struct_size = 0;
    options_are_refused(&options);
    options.struct_size = sizeof options - 1;
    options_are_refused(&options);
    options = defaults;
    options.workers = LANEPOOL_WORKERS_MAX + 1;
    options_are_refused(&options);
    options.workers = (unsigned)-1;
    options_are_refused(&options);
    options = defaults;
    options.layout = (lanepool_layout)2;
    options_are_refused(&options);
    options = defaults;
    options.routing = (lanepool_routing)3;
    options_are_refused(&options);
    options = defaults;
    options.worker_stack_size = 1;
    options_are_refused(&options);

    memset(&longer, 0, sizeof longer);
    longer.options = defaults;
    longer.options.struct_size = sizeof longer;
    longer.options.workers = 1;
    longer.more[0] = 1;
    options_are_refused(&longer.options);
    longer.more[0] = 0;
    pool_end(pool_make_with(&longer.options));
}

Test(arguments, limits_are_in_range)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct step step = { 0 };
    lanepool_pool *pool;

    options.workers = 1;
    options.pending_max = LANEPOOL_UNLIMITED;
    options.quantum_tasks = 1;
    options.quantum_ns = 1;
    pool = pool_make_with(&options);
    expect_ok(step_submit_on(pool, &step, 1));
    pool_end(pool);
    options.pending_max = 1;
    options.quantum_tasks = UINT32_MAX;
    options.quantum_ns = UINT64_MAX;
    pool = pool_make_with(&options);
    expect_ok(step_submit_on(pool, &step, 1));
    pool_end(pool);
    expect_eq(step.runs, 2);
}

Test(arguments, bad_calls_on_a_pool)
{
    lanepool_stats stats;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_status(lanepool_pool_shutdown(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_shutdown_now(NULL, NULL, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_pool_await(NULL, 0), LANEPOOL_INVALID);
    expect_status(lanepool_pool_quiesce(NULL, 0), LANEPOOL_INVALID);
    expect_status(lanepool_pool_stats(NULL, &stats, NULL, 0), LANEPOOL_INVALID);
    expect_status(lanepool_pool_stats(pool, NULL, NULL, 0), LANEPOOL_INVALID);
    expect_status(lanepool_pool_stats(pool, &stats, NULL, 1), LANEPOOL_INVALID);
    nothing_was_accepted(pool);
}

Test(arguments, bad_calls_on_a_future)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_future *future;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_status(lanepool_future_wait(NULL, 0, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_future_then(NULL, NULL, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_future_then(future, NULL, NULL), LANEPOOL_INVALID);
    lanepool_future_release(future);
    pool_end(pool);
}

Test(arguments, bad_lanes)
{
    static const char byte = 'x';
    lanepool_key good = lanepool_key_id(1);
    lanepool_key bad[6];
    lanepool_lane *lane;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_lane_acquire(pool, good, &lane));
    bad[0] = lanepool_key_lane(lane);
    bad[1] = lanepool_key_none();
    bad[2] = lanepool_key_bytes(NULL, 3);
    bad[3] = lanepool_key_bytes(&byte, LANEPOOL_KEY_BYTES_MAX + 1);
    bad[4] = good;
    bad[4].type = 77;
    bad[5] = lanepool_key_bytes(&byte, (size_t)UINT32_MAX + 1);
    lanepool_lane_release(lane);
    for (int i = 0; i < 6; i++) {
        lane = (lanepool_lane *)&good;
        expect_status(lanepool_lane_acquire(pool, bad[i], &lane), LANEPOOL_INVALID);
        expect(lane == NULL);
    }
    lane = (lanepool_lane *)&good;
    expect_status(lanepool_lane_acquire(NULL, good, &lane), LANEPOOL_INVALID);
    expect(lane == NULL);
    expect_status(lanepool_lane_acquire(pool, good, NULL), LANEPOOL_INVALID);
    lanepool_lane_release(NULL);
    expect_ok(lanepool_lane_acquire(pool, good, &lane));
    lanepool_lane_release(lane);
    pool_end(pool);
}
