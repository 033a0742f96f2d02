/* Claims as the scope of the program's rule: which tasks it is asked about, and what the calls that
 * take a key do in such a pool. */
#include "support/memory.h"
#include "support/step.h"
#include "support/test.h"

#include <sched.h>
#include <string.h>

/* The rule's side of a test. Steps whose ids are equal conflict. */
struct rule {
    _Atomic uint32_t questions;
    bool all_conflict;
};

static bool ids_differ(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    struct rule *rule = user;
    const struct step *first = a->context;
    const struct step *second = b->context;

    atomic_fetch_add(&rule->questions, 1);
    return !rule->all_conflict && first->id != second->id;
}

/* Another thread may have the role, and route the last task. */
static void expect_questions(const struct rule *rule, uint32_t count)
{
    while (atomic_load(&rule->questions) < count)
        sched_yield();
    expect_eq(rule->questions, count);
}

static lanepool_options options_with(struct rule *rule, unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.is_compatible = ids_differ;
    options.user = rule;
    return options;
}

static lanepool_pool *make_pool(struct rule *rule, unsigned workers)
{
    lanepool_options options = options_with(rule, workers);

    return pool_make_with(&options);
}

static void submit(lanepool_pool *pool, struct step *step, const lanepool_claim *claims,
                   size_t count)
{
    lanepool_task task = step_task(step, claims, count);

    expect_ok(lanepool_pool_submit(pool, &task));
}

/* --- what the rule is asked about --- */

Test(scope, tasks_without_a_common_key_are_not_asked_about)
{
    struct gate gate;
    struct rule rule = { .all_conflict = true };
    struct step steps[3] = { { 0 } };
    lanepool_pool *pool = make_pool(&rule, 3);

    gate_init(&gate);
    for (uint64_t i = 0; i < 3; i++) {
        steps[i].gate = &gate;
        expect_ok(step_submit_on(pool, &steps[i], i));
    }
    expect(gate_await(&gate, 3)); /* together, though the rule would say no */
    expect_eq(rule.questions, 0);
    gate_open(&gate, 3);
    pool_end(pool);
    gate_fini(&gate);
}

Test(scope, tasks_that_share_a_key_may_overlap_if_the_rule_says_so)
{
    struct gate gate;
    struct rule rule = { 0 };
    struct step steps[3] = { { .id = 1 }, { .id = 2 }, { .id = 1 } };
    lanepool_pool *pool = make_pool(&rule, 3);

    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        steps[i].gate = &gate;
        expect_ok(step_submit_on(pool, &steps[i], 7));
    }
    expect(gate_await(&gate, 2));
    expect(!step_was_called(&steps[2])); /* conflicts with the first, which has not ended */
    gate_open(&gate, 3);
    pool_end(pool);
    expect_eq(steps[2].runs, 1);
    gate_fini(&gate);
}

Test(scope, two_shared_claims_of_a_key_are_not_asked_about)
{
    struct gate gate;
    struct rule rule = { .all_conflict = true };
    struct step steps[2] = { { 0 } };
    lanepool_claim claim = lanepool_shared(1);
    lanepool_pool *pool = make_pool(&rule, 2);

    gate_init(&gate);
    for (int i = 0; i < 2; i++) {
        steps[i].gate = &gate;
        submit(pool, &steps[i], &claim, 1);
    }
    expect(gate_await(&gate, 2));
    expect_eq(rule.questions, 0);
    gate_open(&gate, 2);
    pool_end(pool);
    gate_fini(&gate);
}

Test(scope, tasks_without_claims_are_asked_about_with_all)
{
    struct gate gate;
    struct rule rule = { 0 };
    struct step steps[4] = { { .id = 1 }, { .id = 2 }, { .id = 3 }, { .id = 4 } };
    lanepool_pool *pool = make_pool(&rule, 4);

    gate_init(&gate);
    for (int i = 0; i < 4; i++) {
        steps[i].gate = &gate;
    }
    expect_ok(step_submit_on(pool, &steps[0], 1));
    expect_ok(step_submit_on(pool, &steps[1], 2));
    expect_eq(rule.questions, 0);
    expect_ok(step_submit(pool, &steps[2]));
    expect_questions(&rule, 4); /* about both, in both directions */
    expect_ok(step_submit_on(pool, &steps[3], 3));
    expect_questions(&rule, 6);
    gate_open(&gate, 4);
    pool_end(pool);
    gate_fini(&gate);
}

Test(scope, tasks_that_share_several_keys_are_asked_about_once)
{
    enum { KEYS = 100 };
    struct gate gate;
    struct rule rule = { 0 };
    struct step steps[2] = { { .id = 1 }, { .id = 2 } };
    lanepool_claim claims[2 * KEYS];
    lanepool_pool *pool = make_pool(&rule, 2);

    gate_init(&gate);
    for (uint64_t i = 0; i < 2 * KEYS; i++) {
        claims[i] = lanepool_claim_of(lanepool_key_id(i % KEYS),
                                      i < KEYS ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE);
    }
    for (int i = 0; i < 2; i++) {
        steps[i].gate = &gate;
        submit(pool, &steps[i], claims, 2 * KEYS);
    }
    expect_questions(&rule, 2);
    gate_open(&gate, 2);
    pool_end(pool);
    gate_fini(&gate);
}

/* Submits tasks with `per_key` tasks a key behind one blocked worker. Returns the questions that
 * the last `per_key` tasks, which fill up the last key, have cost. */
static uint32_t questions_of_last_key(uint64_t pending, uint64_t per_key)
{
    struct gate gate;
    struct rule rule = { 0 };
    struct step *steps = memory_get(pending + 1, sizeof *steps);
    uint32_t before = 0;
    lanepool_options options = options_with(&rule, 1);

    gate_init(&gate);
    options.pending_max = LANEPOOL_UNLIMITED;
    lanepool_pool *pool = pool_make_with(&options);
    steps[pending].gate = &gate;
    expect_ok(step_submit_on(pool, &steps[pending], UINT64_MAX));
    expect(gate_await(&gate, 1));
    for (uint64_t i = 0; i < pending; i++) {
        steps[i].id = (uint32_t)i;
        if (i == pending - per_key) {
            before = atomic_load(&rule.questions);
        }
        expect_ok(step_submit_on(pool, &steps[i], i / per_key));
    }
    uint32_t asked = atomic_load(&rule.questions) - before;
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
    free(steps);
    return asked;
}

Test(scope, questions_of_a_submit_do_not_depend_on_what_is_pending)
{
    enum { PER_KEY = 8, EXPECTED = PER_KEY * (PER_KEY - 1) };

    expect_eq(questions_of_last_key(64, PER_KEY), EXPECTED);
    expect_eq(questions_of_last_key(20000, PER_KEY), EXPECTED);
}

Test(scope, every_form_of_a_key_names_the_same_scope)
{
    struct gate gate;
    struct rule rule = { .all_conflict = true };
    struct step steps[4] = { { 0 } };
    lanepool_lane *lane;
    lanepool_claim by_text = lanepool_claim_of(lanepool_key_string("account"), LANEPOOL_EXCLUSIVE);
    lanepool_claim by_address = lanepool_claim_of(lanepool_key_pointer(&gate), LANEPOOL_EXCLUSIVE);
    lanepool_pool *pool = make_pool(&rule, 4);

    gate_init(&gate);
    expect_ok(lanepool_lane_acquire(pool, by_text.key, &lane));
    lanepool_claim by_handle = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    const lanepool_claim *claims[] = { &by_text, &by_handle, &by_address, &by_address };

    for (int i = 0; i < 4; i++) {
        steps[i].gate = &gate;
        submit(pool, &steps[i], claims[i], 1);
    }
    expect(gate_await(&gate, 2));
    expect(!step_was_called(&steps[1]) && !step_was_called(&steps[3]));
    gate_open(&gate, 4);
    lanepool_lane_release(lane);
    pool_end(pool);
    gate_fini(&gate);
}

Test(scope, barrier_waits_for_all_and_is_not_asked_about)
{
    struct gate gate;
    struct rule rule = { 0 };
    struct step steps[3] = { { .id = 1 }, { .id = 2 }, { .id = 3 } };
    lanepool_claim all = lanepool_claim_all();
    lanepool_pool *pool = make_pool(&rule, 3);

    gate_init(&gate);
    for (int i = 0; i < 3; i++) {
        steps[i].gate = &gate;
    }
    expect_ok(step_submit_on(pool, &steps[0], 1));
    submit(pool, &steps[1], &all, 1);
    expect_ok(step_submit_on(pool, &steps[2], 2));
    for (int i = 0; i < 3; i++) {
        expect(gate_await(&gate, 1));
        expect(i == 2 || !step_was_called(&steps[i + 1]));
        gate_open(&gate, 1);
    }
    pool_end(pool);
    expect_eq(rule.questions, 0);
    gate_fini(&gate);
}

/* --- calls that take a key --- */

/* Two tasks of key 1 and one of key 2; the second one of key 1 waits for the first. */
struct scene {
    struct gate gate;
    struct rule rule;
    struct step steps[3];
    lanepool_future *futures[3];
    lanepool_pool *pool;
};

static void open_scene(struct scene *scene, bool all_conflict)
{
    static const uint64_t keys[] = { 1, 1, 2 };

    memset(scene, 0, sizeof *scene);
    gate_init(&scene->gate);
    scene->rule.all_conflict = all_conflict;
    scene->pool = make_pool(&scene->rule, 4);
    for (uint32_t i = 0; i < 3; i++) {
        lanepool_claim claim = lanepool_exclusive(keys[i]);
        lanepool_task task = step_task(&scene->steps[i], &claim, 1);

        scene->steps[i].id = i;
        scene->steps[i].gate = &scene->gate;
        task.future = &scene->futures[i];
        expect_ok(lanepool_pool_submit(scene->pool, &task));
    }
    expect(gate_await(&scene->gate, all_conflict ? 2 : 3));
}

static void close_scene(struct scene *scene)
{
    gate_open(&scene->gate, 3);
    pool_end(scene->pool);
    for (int i = 0; i < 3; i++) {
        lanepool_future_release(scene->futures[i]);
    }
    gate_fini(&scene->gate);
}

static lanepool_status wait_key(lanepool_pool *pool, uint64_t key, uint64_t wait_max_ns)
{
    lanepool_claim claim = lanepool_exclusive(key);

    return lanepool_pool_wait_claims(pool, &claim, 1, wait_max_ns);
}

Test(scope, wait_for_claims_waits_for_the_key_whatever_the_rule_says)
{
    struct scene scene;

    open_scene(&scene, false);
    uint32_t before = atomic_load(&scene.rule.questions);
    expect_status(wait_key(scene.pool, 1, 1), LANEPOOL_TIMED_OUT);
    expect_ok(wait_key(scene.pool, 3, LANEPOOL_FOREVER));
    gate_open(&scene.gate, 3);
    expect_ok(wait_key(scene.pool, 1, LANEPOOL_FOREVER));
    expect_eq(scene.steps[0].runs + scene.steps[1].runs, 2);
    expect_eq(scene.rule.questions, before); /* the wait is no task of the program's */
    close_scene(&scene);
}

Test(scope, wait_for_claims_waits_for_tasks_without_claims)
{
    struct gate gate;
    struct rule rule = { 0 };
    struct step step = { .gate = &gate };
    lanepool_pool *pool = make_pool(&rule, 1);

    gate_init(&gate);
    expect_ok(step_submit(pool, &step));
    expect(gate_await(&gate, 1));
    expect_status(wait_key(pool, 1, 1), LANEPOOL_TIMED_OUT);
    gate_open(&gate, 1);
    expect_ok(wait_key(pool, 1, LANEPOOL_FOREVER));
    expect_eq(step.runs, 1);
    pool_end(pool);
    gate_fini(&gate);
}

Test(scope, cancel_of_a_lane_cancels_the_waiting_tasks_of_its_key)
{
    struct scene scene;
    lanepool_lane *lane;
    size_t count;

    open_scene(&scene, true);
    expect_ok(lanepool_lane_acquire(scene.pool, lanepool_key_id(1), &lane));
    expect_ok(lanepool_lane_cancel(lane, &count));
    expect_eq(count, 1);
    expect_eq(scene.steps[1].runs, 0);
    lanepool_lane_release(lane);
    close_scene(&scene);
    expect_eq(scene.steps[0].runs + scene.steps[2].runs, 2);
}

struct releasing {
    struct step step;
    lanepool_status status;
    bool holds;
};

static int release_in_body(lanepool_run *run, void *context)
{
    struct releasing *releasing = context;

    releasing->status = lanepool_run_release(run, lanepool_key_id(1));
    releasing->holds = lanepool_run_holds(run, lanepool_key_id(1));
    return 0;
}

Test(scope, lanes_cannot_be_paused_or_released_early)
{
    struct rule rule = { 0 };
    struct releasing releasing = { .holds = true };
    lanepool_claim key = lanepool_exclusive(1);
    lanepool_task task = step_task(&releasing.step, &key, 1);
    lanepool_pool *pool = make_pool(&rule, 1);
    lanepool_lane *lane;

    task.function = release_in_body;
    expect_ok(lanepool_lane_acquire(pool, key.key, &lane));
    expect_status(lanepool_lane_pause(lane), LANEPOOL_UNSUPPORTED);
    expect_status(lanepool_lane_resume(lane), LANEPOOL_UNSUPPORTED);
    lanepool_lane_release(lane);
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_status(releasing.status, LANEPOOL_UNSUPPORTED);
    expect(!releasing.holds);
}

/* --- what is shown and handed back --- */

Test(scope, snapshot_shows_claims_and_why_a_task_waits)
{
    struct scene scene;
    lanepool_snapshot *snapshot;
    lanepool_snapshot_reason reasons[4];
    size_t count;

    open_scene(&scene, true);
    expect_ok(lanepool_snapshot_take(scene.pool, &snapshot));
    expect_eq(snapshot->task_count, 3);
    expect_eq(snapshot->lane_count, 2);
    for (size_t i = 0; i < snapshot->lane_count; i++) {
        expect(snapshot->lanes[i].by_rule);
        expect_eq(snapshot->lanes[i].waiting, snapshot->lanes[i].number == 1);
        expect_eq(snapshot->lanes[i].granted, 1);
        expect_eq(snapshot->lanes[i].unknown, 0);
    }
    expect_eq(snapshot->tasks[1].state, LANEPOOL_SNAPSHOT_WAITING);
    expect_ok(lanepool_snapshot_explain(snapshot, 1, reasons, 4, &count));
    expect_eq(count, 1);
    expect_eq(reasons[0].blocker, 0);
    lanepool_snapshot_release(snapshot);
    close_scene(&scene);
}

Test(scope, explain_names_the_task_that_the_rule_objects_to)
{
    struct scene scene;
    char text[400] = "";

    open_scene(&scene, true);
    expect_ok(lanepool_explain(scene.futures[1], text_append, text));
    expect(strstr(text, "conflicts with an earlier one: task ") != NULL);
    close_scene(&scene);
}

static void note_claims(void *context, const lanepool_task *task, uint64_t ticket)
{
    lanepool_claim *claims = context;

    (void)ticket;
    expect_eq(task->claim_count, 2);
    memcpy(claims, task->claims, 2 * sizeof *claims);
    expect(memcmp(claims[1].key.bytes, "b", claims[1].key.size) == 0);
}

Test(scope, handed_back_tasks_have_their_claims)
{
    struct gate gate;
    struct rule rule = { 0 };
    struct step steps[2] = { { .gate = &gate }, { 0 } };
    lanepool_claim claims[3] = { lanepool_shared(4),
                                 lanepool_claim_of(lanepool_key_string("b"), LANEPOOL_EXCLUSIVE),
                                 lanepool_exclusive(4) };
    lanepool_claim seen[2] = { lanepool_claim_all(), lanepool_claim_all() };
    lanepool_pool *pool = make_pool(&rule, 1);

    gate_init(&gate);
    submit(pool, &steps[0], claims, 3);
    expect(gate_await(&gate, 1));
    submit(pool, &steps[1], claims, 3);
    expect_ok(lanepool_pool_pause(pool)); /* so that the second one does not start */
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_shutdown_now(pool, note_claims, seen));
    pool_end(pool);
    expect_eq(steps[1].runs, 0);
    expect_eq(seen[0].key.type, LANEPOOL_KEY_ID);
    expect_eq(seen[0].key.id, 4);
    expect_eq(seen[0].mode, LANEPOOL_EXCLUSIVE);
    expect_eq(seen[1].key.type, LANEPOOL_KEY_BYTES);
    gate_fini(&gate);
}

static int fail(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 3;
}

Test(scope, parked_tasks_are_listed_with_their_claims_and_hold_up_what_conflicts)
{
    struct rule rule = { .all_conflict = true };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    struct step steps[2] = { { 0 } };
    lanepool_claim claim = lanepool_exclusive(9);
    lanepool_task task = step_task(&steps[0], &claim, 1);
    lanepool_options options = options_with(&rule, 1);
    lanepool_parked_tasks *parked;

    policy.at_end = LANEPOOL_FAILURE_POISON;
    options.on_failure = &policy;
    lanepool_pool *pool = pool_make_with(&options);
    task.function = fail;
    expect_ok(lanepool_pool_submit(pool, &task));
    expect_ok(step_submit_on(pool, &steps[1], 9));
    expect_status(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER), LANEPOOL_PARKED);
    expect_eq(steps[1].runs, 0);
    expect_ok(lanepool_pool_parked(pool, &parked));
    expect_eq(parked->count, 1);
    expect_eq(parked->tasks[0].claim_count, 1);
    expect_eq(parked->tasks[0].claims[0].key.id, 9);
    expect_ok(lanepool_pool_resolve(pool, parked->tasks[0].ticket, LANEPOOL_RESOLVE_SKIP));
    lanepool_parked_tasks_release(parked);
    pool_end(pool);
    expect_eq(steps[1].runs, 1);
}
