/* Checks of a rule: changed answers, and answers against the claims. */
#include "support/gate.h"
#include "support/step.h"
#include "support/test.h"

enum { KEY = 7, TASKS = 4 };

/* A rule over keys that the program can turn round. */
struct rule_state {
    bool turned;
    unsigned asked;
    bool answers_in_turn;
    unsigned changed;
    unsigned against_claims;
    unsigned other;
    uint64_t tickets[2];
};

static bool follow_state(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    struct rule_state *state = user;

    (void)a;
    (void)b;
    state->asked++;
    return state->answers_in_turn ? state->asked % 3 != 1 : state->turned;
}

static void count_failed(void *user, const lanepool_failed_check *failed)
{
    struct rule_state *state = user;

    if (failed->kind == LANEPOOL_CHECK_RULE_CHANGED) {
        state->changed++;
    } else if (failed->kind == LANEPOOL_CHECK_RULE_AGAINST_CLAIMS) {
        state->against_claims++;
    } else {
        state->other++;
    }
    state->tickets[0] = failed->other_ticket;
    state->tickets[1] = failed->ticket;
}

static lanepool_pool *checking_pool(struct rule_state *state, lanepool_layout layout,
                                    uint64_t checks)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.layout = layout;
    options.is_compatible = follow_state;
    options.user = state;
    options.on_check = count_failed;
    options.checks = checks;
    return pool_make_with(&options);
}

static void submit_step(lanepool_pool *pool, struct step *step, bool claims)
{
    lanepool_claim claim = lanepool_exclusive(KEY);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = step_body;
    task.context = step;
    task.claims = claims ? &claim : NULL;
    task.claim_count = claims;
    expect_ok(lanepool_pool_submit(pool, &task));
}

/* Submits a task that stays at a gate, others behind it, and then opens the gate. */
static void submit_behind_a_gate(lanepool_pool *pool, struct rule_state *state, bool claims,
                                 bool turns)
{
    struct gate gate;
    struct step steps[TASKS] = { { 0 } };

    gate_init(&gate);
    steps[0].gate = &gate;
    submit_step(pool, &steps[0], claims);
    expect(gate_await(&gate, 1));
    for (int i = 1; i < TASKS; i++) {
        submit_step(pool, &steps[i], claims);
        state->turned ^= turns;
    }
    gate_open(&gate, 1);
    pool_end(pool);
    gate_fini(&gate);
    for (int i = 0; i < TASKS; i++) {
        expect_eq(steps[i].runs, 1);
    }
}

Test(check_rule, a_rule_that_stays_the_same_is_not_reported)
{
    for (int turned = 0; turned < 2; turned++) {
        struct rule_state state = { .turned = turned != 0 };

        submit_behind_a_gate(checking_pool(&state, LANEPOOL_PER_KEY, LANEPOOL_CHECK_RULE), &state,
                             false, false);
        expect_eq(state.changed + state.against_claims + state.other, 0);
        expect(state.asked > 0);
    }
}

Test(check_rule, a_rule_that_answers_otherwise_when_asked_again_is_reported)
{
    struct rule_state state = { .answers_in_turn = true };

    submit_behind_a_gate(checking_pool(&state, LANEPOOL_PER_KEY, LANEPOOL_CHECK_RULE), &state,
                         false, false);
    expect(state.changed > 0);
}

/* The first task is asked about again with each that comes later. */
Test(check_rule, a_rule_that_later_lets_a_waiting_task_overlap_is_reported)
{
    struct rule_state state = { 0 };

    submit_behind_a_gate(checking_pool(&state, LANEPOOL_PER_KEY, LANEPOOL_CHECK_RULE), &state,
                         false, true);
    expect(state.changed > 0);
    expect_eq(state.against_claims, 0);
    expect(state.tickets[0] < state.tickets[1]);
}

Test(check_rule, a_rule_against_the_claims_is_reported_if_asked_for)
{
    struct rule_state state = { .turned = true };

    submit_behind_a_gate(checking_pool(&state, LANEPOOL_PER_KEY, LANEPOOL_CHECK_RULE), &state, true,
                         false);
    expect_eq(state.against_claims, 0);
    submit_behind_a_gate(checking_pool(&state, LANEPOOL_PER_KEY, LANEPOOL_CHECK_RULE_CLAIMS),
                         &state, true, false);
    expect(state.against_claims > 0);
    expect_eq(state.changed, 0);
    state.against_claims = 0;
    submit_behind_a_gate(checking_pool(&state, LANEPOOL_PER_KEY, LANEPOOL_CHECK_RULE_CLAIMS),
                         &state, false, false);
    expect_eq(state.against_claims, 0);
}

Test(check_rule, lanes_for_workers_ask_again_too)
{
    struct rule_state state = { .answers_in_turn = true };

    submit_behind_a_gate(checking_pool(&state, LANEPOOL_PER_WORKER, LANEPOOL_CHECK_RULE), &state,
                         false, false);
    expect(state.changed > 0);
}

Test(check_rule, checks_need_a_rule_and_known_bits)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;

    options.checks = LANEPOOL_CHECK_RULE;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_UNSUPPORTED);
    options.checks = LANEPOOL_CHECK_RULE_CLAIMS;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_UNSUPPORTED);
    options.checks = 8;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
}

/* This program is not built for it. What is missing depends on the build. */
Test(check_rule, a_check_of_accesses_says_what_is_missing)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;
    bool is_missing = lanepool_check_accesses_missing() != NULL;

    options.workers = 1;
    options.checks = LANEPOOL_CHECK_ACCESSES;
    expect_status(lanepool_pool_create(&options, &pool),
                  is_missing ? LANEPOOL_UNSUPPORTED : LANEPOOL_OK);
    if (!is_missing) {
        pool_end(pool);
    }
}
