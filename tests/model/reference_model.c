/*
 * The pool compared with the brute-force model of the conflict rules.
 *
 * Every body stops at its own gate. The test decides which task finishes next, or submits the next
 * task. After each step it compares which tasks have started. In PER_KEY with a worker for each
 * task, exactly the tasks that may run must have started: a missing start is a wait that does not
 * end, a wrong one is an order violation. PER_WORKER may delay tasks, but never the oldest one.
 */
#include <stdatomic.h>
#include <string.h>

#include "lanepool/lanepool.h"
#include "support/conflict_model.h"
#include "support/gate.h"
#include "support/random.h"
#include "support/step.h"
#include "support/test.h"

enum { CLAIMS_PER_TASK_MAX = 3, KEY_COUNT = 4, KIND_COUNT = 3, RANDOM_ROUNDS = 500 };

/* BY_SCOPE: a relation that is asked only about tasks that share a key, or have no claims; some of
 * the tasks without claims have a kind. */
enum rule { BY_CLAIMS, BY_RELATION, BY_KINDS, BY_SCOPE };

struct round;

struct body {
    struct round *round;
    uint32_t task;
    struct gate gate;
    bool seen_started; /* the test has seen its start */
    _Atomic bool ended;
    _Atomic uint32_t too_early; /* earlier conflicting tasks that had not ended at its start */
};

struct round {
    struct conflict_model model;
    struct body bodies[MODEL_TASKS_MAX];
    lanepool_claim claims[MODEL_TASKS_MAX][CLAIMS_PER_TASK_MAX];
    size_t claim_counts[MODEL_TASKS_MAX];
    uint64_t kinds[MODEL_TASKS_MAX];
    bool rule_allows[MODEL_TASKS_MAX][MODEL_TASKS_MAX]; /* what the rule answers */
    _Atomic uint32_t asked_outside;                     /* questions about tasks out of scope */
    enum rule rule;
    uint64_t seed;
    uint64_t random;
};

static int run_body(lanepool_run *run, void *context)
{
    struct body *body = context;
    struct round *round = body->round;

    (void)run;
    for (uint32_t earlier = 0; earlier < body->task; earlier++) {
        if (model_conflict(&round->model, earlier, body->task) &&
            !atomic_load(&round->bodies[earlier].ended)) {
            atomic_fetch_add(&body->too_early, 1);
        }
    }
    gate_pass(&body->gate);
    atomic_store(&body->ended, true);
    return 0;
}

static bool share(const struct round *round, uint32_t a, uint32_t b)
{
    for (size_t i = 0; i < round->claim_counts[a]; i++) {
        for (size_t j = 0; j < round->claim_counts[b]; j++) {
            const lanepool_claim *first = &round->claims[a][i];
            const lanepool_claim *second = &round->claims[b][j];

            if (first->key.id == second->key.id &&
                !lanepool_modes_overlap(first->mode, second->mode)) {
                return true;
            }
        }
    }
    return false;
}

/* Returns true if the rule may be asked about the two tasks. */
static bool are_in_scope(const struct round *round, uint32_t a, uint32_t b)
{
    return round->claim_counts[a] == 0 || round->claim_counts[b] == 0 || share(round, a, b);
}

static bool answer(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct body *first = a->context;
    const struct body *second = b->context;

    (void)user;
    if (!are_in_scope(first->round, first->task, second->task)) {
        atomic_fetch_add(&first->round->asked_outside, 1);
    }
    return first->round->rule_allows[first->task][second->task];
}

static void draw_claims_of(struct round *round, uint32_t task)
{
    static const lanepool_mode modes[] = { LANEPOOL_EXCLUSIVE, LANEPOOL_EXCLUSIVE, LANEPOOL_SHARED,
                                           LANEPOOL_COMMUTING };

    round->claim_counts[task] = random_below(&round->random, CLAIMS_PER_TASK_MAX + 1);
    for (size_t i = 0; i < round->claim_counts[task]; i++) {
        round->claims[task][i] =
            lanepool_claim_of(lanepool_key_id(random_below(&round->random, KEY_COUNT)),
                              modes[random_below(&round->random, sizeof modes / sizeof *modes)]);
    }
}

static void draw_claims(struct round *round)
{
    for (uint32_t task = 0; task < round->model.count; task++) {
        draw_claims_of(round, task);
    }
    for (uint32_t a = 0; a < round->model.count; a++) {
        for (uint32_t b = 0; b < round->model.count; b++) {
            round->model.allows[a][b] = !share(round, a, b);
        }
    }
}

/* The relation is neither symmetric nor transitive. Two kinds have one answer for each
 * direction. */
static void draw_relation(struct round *round)
{
    bool kind_allows[KIND_COUNT + 1][KIND_COUNT + 1];
    uint32_t percent = 40 + random_below(&round->random, 60);

    for (uint32_t a = 0; a <= KIND_COUNT; a++) {
        for (uint32_t b = 0; b <= KIND_COUNT; b++) {
            kind_allows[a][b] = random_below(&round->random, 100) < percent;
        }
    }
    for (uint32_t a = 0; a < round->model.count; a++) {
        if (round->rule == BY_SCOPE && random_below(&round->random, 5)) {
            draw_claims_of(round, a);
        }
        if (round->rule != BY_RELATION && round->claim_counts[a] == 0) {
            round->kinds[a] = random_below(&round->random, KIND_COUNT + 1);
        }
    }
    for (uint32_t a = 0; a < round->model.count; a++) {
        for (uint32_t b = 0; b < round->model.count; b++) {
            round->rule_allows[a][b] = round->kinds[a] && round->kinds[b]
                                           ? kind_allows[round->kinds[a]][round->kinds[b]]
                                           : random_below(&round->random, 100) < percent;
            round->model.allows[a][b] = !are_in_scope(round, a, b) || round->rule_allows[a][b];
        }
    }
}

static void start_round(struct round *round, enum rule rule, uint32_t count, uint64_t seed)
{
    memset(round, 0, sizeof *round);
    round->rule = rule;
    round->seed = seed;
    round->random = seed;
    round->model.count = count;
    for (uint32_t task = 0; task < count; task++) {
        round->bodies[task].round = round;
        round->bodies[task].task = task;
        gate_init(&round->bodies[task].gate);
    }
    if (rule == BY_CLAIMS) {
        draw_claims(round);
    } else {
        draw_relation(round);
    }
}

static void end_round(struct round *round)
{
    for (uint32_t task = 0; task < round->model.count; task++) {
        gate_fini(&round->bodies[task].gate);
    }
}

static void submit_next(lanepool_pool *pool, struct round *round)
{
    uint32_t next = round->model.submitted++;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = run_body;
    task.context = &round->bodies[next];
    task.claims = round->claims[next];
    task.claim_count = round->claim_counts[next];
    task.kind = round->kinds[next];
    expect_ok(lanepool_pool_submit(pool, &task));
}

/* Waits until a task has started, and records that. */
static void see_start(struct round *round, uint32_t task)
{
    struct body *body = &round->bodies[task];

    if (!body->seen_started && !gate_await(&body->gate, 1)) {
        test_fail(__FILE__, __LINE__, "task %u may run and does not start; round of seed %llu",
                  task, (unsigned long long)round->seed);
    }
    body->seen_started = true;
}

static void check_order(struct round *round)
{
    for (uint32_t task = 0; task < round->model.submitted; task++) {
        struct body *body = &round->bodies[task];

        if (!body->seen_started && gate_has_arrival(&body->gate)) {
            body->seen_started = true;
        }
        if (atomic_load(&body->too_early) || (body->seen_started && !round->model.finished[task] &&
                                              !model_may_run(&round->model, task))) {
            test_fail(__FILE__, __LINE__, "task %u started too early; round of seed %llu", task,
                      (unsigned long long)round->seed);
        }
    }
}

/* Waits until all tasks that must start have started. Then checks for starts that must not be. */
static void compare(struct round *round, lanepool_layout layout)
{
    if (layout == LANEPOOL_PER_KEY) {
        for (uint32_t task = 0; task < round->model.submitted; task++) {
            if (model_may_run(&round->model, task)) {
                see_start(round, task);
            }
        }
    } else if (model_oldest(&round->model) < round->model.count) {
        see_start(round, model_oldest(&round->model));
    }
    check_order(round);
}

/* Lets one of the running tasks finish, chosen at random. */
static void finish_one(struct round *round)
{
    uint32_t running[MODEL_TASKS_MAX];
    uint32_t count = 0;
    uint32_t chosen;

    for (uint32_t task = 0; task < round->model.submitted; task++) {
        if (round->bodies[task].seen_started && !round->model.finished[task]) {
            running[count++] = task;
        }
    }
    chosen = running[random_below(&round->random, count)];
    round->model.finished[chosen] = true;
    gate_open(&round->bodies[chosen].gate, 1);
}

static void play(lanepool_pool *pool, struct round *round, lanepool_layout layout)
{
    const struct conflict_model *model = &round->model;

    while (model->submitted < model->count || model_oldest(model) < model->count) {
        bool can_finish = model_oldest(model) < model->count;
        bool can_submit = model->submitted < model->count;

        if (can_submit && (!can_finish || random_below(&round->random, 3))) {
            submit_next(pool, round);
        } else {
            finish_one(round);
        }
        compare(round, layout);
    }
    pool_settle(pool);
    expect_eq(round->asked_outside, 0);
    end_round(round);
}

static lanepool_pool *make_pool(enum rule rule, lanepool_layout layout, lanepool_routing routing,
                                unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.layout = layout;
    options.routing = routing;
    options.is_compatible = rule == BY_CLAIMS ? NULL : answer;
    return pool_make_with(&options);
}

static void play_random_rounds(enum rule rule, lanepool_layout layout)
{
    static struct round round;

    for (int routing = LANEPOOL_ROUTING_AUTO; routing <= LANEPOOL_ROUTING_SUBMITTER; routing++) {
        lanepool_pool *pool =
            make_pool(rule, layout, (lanepool_routing)routing,
                      layout == LANEPOOL_PER_KEY ? MODEL_TASKS_MAX : MODEL_TASKS_MAX / 2);

        for (uint64_t seed = 1; seed <= RANDOM_ROUNDS; seed++) {
            start_round(&round, rule, MODEL_TASKS_MAX, seed);
            play(pool, &round, layout);
        }
        pool_end(pool);
    }
}

Test(reference_model, claims_per_key)
{
    play_random_rounds(BY_CLAIMS, LANEPOOL_PER_KEY);
}

Test(reference_model, relation_per_key)
{
    play_random_rounds(BY_RELATION, LANEPOOL_PER_KEY);
}

Test(reference_model, kinds_per_key)
{
    play_random_rounds(BY_KINDS, LANEPOOL_PER_KEY);
}

Test(reference_model, scope_per_key)
{
    play_random_rounds(BY_SCOPE, LANEPOOL_PER_KEY);
}

Test(reference_model, claims_per_worker)
{
    play_random_rounds(BY_CLAIMS, LANEPOOL_PER_WORKER);
}

Test(reference_model, relation_per_worker)
{
    play_random_rounds(BY_RELATION, LANEPOOL_PER_WORKER);
}

Test(reference_model, kinds_per_worker)
{
    play_random_rounds(BY_KINDS, LANEPOOL_PER_WORKER);
}

/* Plays every relation over four tasks once, so that no special case is left out. */
Test(reference_model, every_relation_over_four_tasks)
{
    enum { TASKS = 4, ANSWERS = TASKS * (TASKS - 1) };
    static struct round round;
    lanepool_pool *pool = make_pool(BY_RELATION, LANEPOOL_PER_KEY, LANEPOOL_ROUTING_DEFAULT, TASKS);

    for (uint32_t relation = 0; relation < 1u << ANSWERS; relation++) {
        uint32_t bit = 0;

        start_round(&round, BY_RELATION, TASKS, relation);
        for (uint32_t a = 0; a < TASKS; a++) {
            for (uint32_t b = 0; b < TASKS; b++) {
                if (a != b) {
                    round.model.allows[a][b] = (relation >> bit++ & 1) != 0;
                    round.rule_allows[a][b] = round.model.allows[a][b];
                }
            }
        }
        play(pool, &round, LANEPOOL_PER_KEY);
    }
    pool_end(pool);
}
