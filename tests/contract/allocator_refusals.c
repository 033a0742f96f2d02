/*
 * An allocator that refuses each request in turn, with each feature that takes memory of its own:
 * every submit is accepted or refused with NOMEM, each accepted task ends once, and all memory goes
 * back.
 */
#include <string.h>

#include "support/step.h"
#include "support/store.h"
#include "support/test.h"

enum { TASKS = 300, KEYS = 40, SEQUENCES = 3, REQUESTS_MAX = 400 };

/* A set of features of the pool and of its tasks. */
enum {
    CONTEXTS = 1,
    SEQUENCE = 2,
    PRIORITIES = 4,
    POLICY = 8,
    LANE_LIMITS = 16,
    DELAYS = 32,
    ALL = CONTEXTS | PRIORITIES | POLICY | LANE_LIMITS | DELAYS
};

struct trial {
    unsigned features;
    struct store store;
    lanepool_pool *pool;
    lanepool_sequence *sequences[SEQUENCES];
    struct step steps[TASKS];
    bool accepted[TASKS];
    _Atomic unsigned opens, closes;
    _Atomic unsigned wrong; /* answers of lanepool_run_context() that it must not give */
};

/* --- what the tasks do --- */

static int open_context(void *user, lanepool_key key, void **context)
{
    struct trial *trial = user;

    (void)key;
    atomic_fetch_add(&trial->opens, 1);
    *context = trial;
    return 0;
}

static void close_context(void *user, lanepool_key key, void *context)
{
    struct trial *trial = user;

    (void)key;
    atomic_fetch_add(&trial->closes, context == trial);
}

/* Opens the context of each claim, and then takes a step. */
static int body(lanepool_run *run, void *argument)
{
    struct step *step = argument;
    struct trial *trial = step->value;

    for (size_t i = 0; trial->features & CONTEXTS && i < lanepool_run_claim_count(run); i++) {
        void *context = NULL;
        lanepool_status status = lanepool_run_context_at(run, i, &context, NULL);
        lanepool_claim claim;
        lanepool_status without = lanepool_run_claim(run, i, &claim) == LANEPOOL_POISONED
                                      ? LANEPOOL_INVALID
                                      : LANEPOOL_NOMEM;
        bool is_right = status == LANEPOOL_OK ? context == trial : status == without;

        atomic_fetch_add(&trial->wrong, !is_right);
    }
    return step_body(run, argument);
}

/* --- one trial --- */

static lanepool_status create(struct trial *trial, const lanepool_allocator *allocator)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_context_options contexts = LANEPOOL_CONTEXT_OPTIONS_INIT;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    contexts.open = open_context;
    contexts.close = close_context;
    contexts.lingering_max = 4;
    policy.retries = 1;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    policy.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    options.workers = 2;
    options.user = trial;
    options.allocator = allocator;
    options.contexts = trial->features & CONTEXTS ? &contexts : NULL;
    options.on_failure = trial->features & POLICY ? &policy : NULL;
    options.priorities = (trial->features & PRIORITIES) != 0;
    options.lane_pending_max = trial->features & LANE_LIMITS ? 5 : 0;
    return lanepool_pool_create(&options, &trial->pool);
}

static lanepool_status submit_to_sequence(struct trial *trial, const lanepool_task *task,
                                          uint32_t number)
{
    lanepool_sequence *sequence = trial->sequences[number % SEQUENCES];

    if (sequence == NULL) {
        return LANEPOOL_NOMEM;
    }
    return number % 4 == 0 ? lanepool_sequence_submit_after(sequence, task, 1000)
                           : lanepool_sequence_submit(sequence, task);
}

static lanepool_status submit(struct trial *trial, uint32_t number)
{
    lanepool_claim claims[] = { lanepool_exclusive(number % KEYS),
                                lanepool_shared(number % 7 + KEYS) };
    struct step *step = &trial->steps[number];
    lanepool_task task = step_task(step, claims, number % 3);
    bool is_delayed = trial->features & DELAYS && number % 5 == 0;

    *step = (struct step){ .value = trial, .code = number % 50 == 1 && trial->features & POLICY };
    task.function = body;
    task.release = step_release;
    task.priority = trial->features & PRIORITIES ? number % 4 : 0;
    if (trial->features & SEQUENCE) {
        task.claim_count = 0;
        return submit_to_sequence(trial, &task, number);
    }
    return is_delayed ? lanepool_pool_submit_after(trial->pool, &task, 1000)
                      : lanepool_pool_submit_within(trial->pool, &task, 0);
}

static void create_sequences(struct trial *trial, lanepool_executor **executor)
{
    lanepool_status status = lanepool_pool_executor(trial->pool, executor);

    expect(status == LANEPOOL_OK || status == LANEPOOL_NOMEM);
    for (int i = 0; i < SEQUENCES && status == LANEPOOL_OK; i++) {
        lanepool_status created = lanepool_sequence_create(*executor, &trial->sequences[i]);

        expect(created == LANEPOOL_OK || created == LANEPOOL_NOMEM);
    }
}

static void destroy_sequences(struct trial *trial, lanepool_executor *executor)
{
    for (int i = 0; i < SEQUENCES; i++) {
        if (trial->sequences[i] != NULL) {
            expect_ok(lanepool_sequence_wait(trial->sequences[i], LANEPOOL_FOREVER));
            expect_ok(lanepool_sequence_destroy(trial->sequences[i]));
        }
    }
    if (executor != NULL) {
        expect_ok(lanepool_executor_destroy(executor));
    }
}

/* Parked tasks end with the pool. */
static void use(struct trial *trial)
{
    lanepool_executor *executor = NULL;

    if (trial->features & SEQUENCE) {
        create_sequences(trial, &executor);
    }
    for (uint32_t i = 0; i < TASKS; i++) {
        lanepool_status status = submit(trial, i);

        trial->accepted[i] = status == LANEPOOL_OK;
        expect(status == LANEPOOL_OK || status == LANEPOOL_NOMEM ||
               (status == LANEPOOL_FULL && trial->features & LANE_LIMITS));
    }
    destroy_sequences(trial, executor);
    lanepool_status status = lanepool_pool_quiesce(trial->pool, LANEPOOL_FOREVER);
    expect(status == LANEPOOL_OK || status == LANEPOOL_NOMEM ||
           (status == LANEPOOL_PARKED && trial->features & POLICY));
    expect_ok(lanepool_pool_destroy_now(trial->pool));
}

static void expect_each_end(const struct trial *trial)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        const struct step *step = &trial->steps[i];

        expect_eq(step->releases, trial->accepted[i]);
        expect_eq(step->runs > 0 || step->cancels > 0, trial->accepted[i]);
        expect(step->code != 0 || step->runs + step->cancels <= 1);
    }
    expect_eq(trial->closes, trial->opens);
    expect_eq(trial->wrong, 0);
}

/* Returns whether a request was refused. */
static bool is_refused(unsigned features, size_t refused_from, bool refuses_one)
{
    static struct trial trial;
    bool has_refused;

    memset(&trial, 0, sizeof trial);
    trial.features = features;
    lanepool_allocator allocator = store_open(&trial.store);
    trial.store.refused_from = refused_from;
    trial.store.refuses_one = refuses_one;
    lanepool_status status = create(&trial, &allocator);
    expect(status == LANEPOOL_OK || status == LANEPOOL_NOMEM);
    if (status == LANEPOOL_OK) {
        use(&trial);
        expect_each_end(&trial);
    }
    has_refused = trial.store.asked >= refused_from;
    store_close(&trial.store);
    return has_refused;
}

/* At least one request is refused; the last trials meet none. */
static void refuse_each_request(unsigned features)
{
    for (int refuses_one = 0; refuses_one < 2; refuses_one++) {
        size_t at = 1;

        while (at < REQUESTS_MAX && is_refused(features, at, refuses_one)) {
            at++;
        }
        expect(at > 1 && at < REQUESTS_MAX);
    }
}

Test(allocator_refusals, no_task_is_lost_with_contexts)
{
    refuse_each_request(CONTEXTS);
}

Test(allocator_refusals, no_task_is_lost_in_sequences)
{
    refuse_each_request(SEQUENCE);
}

Test(allocator_refusals, no_task_is_lost_with_priorities)
{
    refuse_each_request(PRIORITIES);
}

Test(allocator_refusals, no_task_is_lost_with_a_failure_policy)
{
    refuse_each_request(POLICY);
}

Test(allocator_refusals, no_task_is_lost_with_limits_per_lane)
{
    refuse_each_request(LANE_LIMITS);
}

Test(allocator_refusals, no_task_is_lost_with_all_of_them)
{
    refuse_each_request(ALL);
}
