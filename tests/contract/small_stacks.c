/*
 * Threads with the smallest stacks that the system allows: the library neither recurses nor puts
 * large objects on a stack, however long the chains of tasks are.
 */
#define _GNU_SOURCE /* pthread_setattr_default_np */
#include <limits.h>
#include <pthread.h>
#include <string.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { LENGTH = 100000, SHORT_LENGTH = 2000, SANITIZED_STACK = 4 << 20 };

static size_t smallest_stack(void)
{
    return PROCESS_IS_SANITIZED ? SANITIZED_STACK : (size_t)PTHREAD_STACK_MIN;
}

/* Runs the body on a thread with the smallest stack. The workers of pools created by it have such
 * stacks, too. */
static void run_on_small_stack(void *(*body)(void *argument), void *argument)
{
    pthread_attr_t before;
    pthread_attr_t small;
    pthread_t thread;

    expect_eq(pthread_getattr_default_np(&before), 0);
    expect_eq(pthread_attr_init(&small), 0);
    expect_eq(pthread_attr_setstacksize(&small, smallest_stack()), 0);
    expect_eq(pthread_setattr_default_np(&small), 0);
    expect_eq(pthread_create(&thread, NULL, body, argument), 0);
    pthread_join(thread, NULL);
    expect_eq(pthread_setattr_default_np(&before), 0);
    pthread_attr_destroy(&small);
    pthread_attr_destroy(&before);
}

/* --- every call --- */

enum { CALLS = 24 };

struct calls {
    lanepool_options options;
    struct step steps[8];
    _Atomic uint32_t continuations;
    _Atomic uint32_t handed_back;
    lanepool_status status[CALLS];
    size_t count;
};

static void note(struct calls *calls, lanepool_status status)
{
    calls->status[calls->count++] = status;
}

static void count_continuation(void *context, const lanepool_result *result)
{
    struct calls *calls = context;

    (void)result;
    atomic_fetch_add(&calls->continuations, 1);
}

static void count_handback(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct calls *calls = context;

    (void)task;
    (void)ticket;
    atomic_fetch_add(&calls->handed_back, 1);
}

static bool never_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return false;
}

/* Submits in every form, and waits for the tasks. */
static void submit_and_wait(struct calls *calls, lanepool_pool *pool)
{
    lanepool_claim claims[2] = { lanepool_claim_of(lanepool_key_string("one"), LANEPOOL_EXCLUSIVE),
                                 lanepool_shared(2) };
    size_t claim_count = calls->options.is_compatible ? 0 : 2;
    lanepool_task tasks[5];
    lanepool_future *future;
    lanepool_stats stats;

    for (int i = 0; i < 5; i++) {
        tasks[i] = step_task(&calls->steps[i], claims, claim_count);
        tasks[i].release = step_release;
    }
    tasks[0].future = &future;
    note(calls, lanepool_pool_submit(pool, &tasks[0]));
    note(calls, lanepool_pool_submit_within(pool, &tasks[1], 1000000000));
    note(calls, lanepool_pool_submit_or_run(pool, &tasks[2]));
    note(calls, lanepool_pool_submit_batch(pool, &tasks[3], 2, LANEPOOL_FOREVER, NULL));
    note(calls, lanepool_future_then(future, count_continuation, calls));
    note(calls, lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    note(calls, lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    note(calls, lanepool_pool_stats(pool, &stats, NULL, 0));
    lanepool_future_release(future);
}

static void hold_a_lane(struct calls *calls, lanepool_pool *pool)
{
    lanepool_key key = lanepool_key_string("one");
    lanepool_claim claim;
    lanepool_lane *lane;
    lanepool_task task = step_task(&calls->steps[5], &claim, 1);

    note(calls, lanepool_lane_acquire(pool, key, &lane));
    claim = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    note(calls, lanepool_pool_submit(pool, &task));
    lanepool_lane_release(lane);
}

static void *make_every_call(void *argument)
{
    struct calls *calls = argument;
    lanepool_pool *pool;

    note(calls, lanepool_pool_create(&calls->options, &pool));
    submit_and_wait(calls, pool);
    if (!calls->options.is_compatible) {
        hold_a_lane(calls, pool);
    }
    note(calls, step_submit(pool, &calls->steps[6]));
    note(calls, step_submit(pool, &calls->steps[7]));
    note(calls, lanepool_pool_shutdown_now(pool, count_handback, calls));
    note(calls, lanepool_pool_await(pool, LANEPOOL_FOREVER));
    note(calls, lanepool_pool_destroy(pool));
    return NULL;
}

static void every_call_succeeds(lanepool_layout layout, lanepool_compatible_fn rule)
{
    static const lanepool_options defaults = LANEPOOL_OPTIONS_INIT;
    struct calls calls;
    uint32_t runs = 0;

    memset(&calls, 0, sizeof calls);
    calls.options = defaults;
    calls.options.workers = 2;
    calls.options.layout = layout;
    calls.options.is_compatible = rule;
    run_on_small_stack(make_every_call, &calls);
    for (size_t i = 0; i < calls.count; i++) {
        expect_ok(calls.status[i]);
    }
    expect_eq(calls.continuations, 1);
    for (int i = 0; i < 8; i++) {
        runs += calls.steps[i].runs;
        expect_eq(calls.steps[i].releases, i < 5);
    }
    expect_eq(runs + calls.handed_back, rule ? 7 : 8);
}

Test(small_stacks, every_call_fits)
{
    every_call_succeeds(LANEPOOL_PER_KEY, NULL);
    every_call_succeeds(LANEPOOL_PER_WORKER, NULL);
    every_call_succeeds(LANEPOOL_PER_KEY, never_compatible);
    every_call_succeeds(LANEPOOL_PER_WORKER, never_compatible);
}

/* --- long chains, in which each task makes the next one ready --- */

struct chain {
    lanepool_options options;
    uint64_t length;
    uint64_t claims_each; /* claims of neighbouring keys; 0: the rule decides */
    uint64_t stride;      /* the distance between the first keys of two consecutive tasks */
    struct gate gate;
    uint64_t next; /* plain, because the tasks run one by one */
    uint64_t out_of_turn;
    lanepool_status status;
};

static struct chain *current;

static int count_in_turn(lanepool_run *run, void *context)
{
    uint64_t number = (uint64_t)(uintptr_t)context;

    (void)run;
    if (number == 0) {
        gate_pass(&current->gate);
    }
    current->out_of_turn += number != current->next++;
    return 0;
}

static void *run_chain(void *argument)
{
    struct chain *chain = argument;
    lanepool_pool *pool;

    chain->status = lanepool_pool_create(&chain->options, &pool);
    for (uint64_t i = 0; i < chain->length && chain->status == LANEPOOL_OK; i++) {
        lanepool_claim claims[2] = {
            lanepool_exclusive(i * chain->stride),
            lanepool_exclusive(i * chain->stride + 1),
        };
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = count_in_turn;
        task.context = (void *)(uintptr_t)i;
        task.claims = claims;
        task.claim_count = chain->claims_each;
        chain->status = lanepool_pool_submit(pool, &task);
    }
    gate_open(&chain->gate, 1);
    if (chain->status == LANEPOOL_OK) {
        chain->status = lanepool_pool_destroy(pool);
    }
    return NULL;
}

/* Runs a chain. The caller has filled in the rest of the description. */
static void chain_ends(struct chain *chain)
{
    chain->options.struct_size = sizeof chain->options;
    chain->options.workers = 2;
    current = chain;
    gate_init(&chain->gate);
    run_on_small_stack(run_chain, chain);
    expect_ok(chain->status);
    expect_eq(chain->next, chain->length);
    expect_eq(chain->out_of_turn, 0);
    gate_fini(&chain->gate);
}

Test(small_stacks, tasks_of_one_key_end_one_after_the_other)
{
    struct chain chain = { .length = LENGTH, .claims_each = 1 };
    struct chain per_worker = { .length = LENGTH, .claims_each = 1 };

    chain_ends(&chain);
    per_worker.options.layout = LANEPOOL_PER_WORKER;
    chain_ends(&per_worker);
}

Test(small_stacks, rollups_that_share_a_key_with_the_next_end_one_after_the_other)
{
    struct chain chain = { .length = LENGTH, .claims_each = 2, .stride = 1 };

    chain_ends(&chain);
}

Test(small_stacks, tasks_that_a_rule_puts_in_line_end_one_after_the_other)
{
    struct chain chain = { .length = LENGTH };
    struct chain per_worker = { .length = SHORT_LENGTH }; /* calls the rule for each waiting task */

    chain.options.is_compatible = never_compatible;
    chain_ends(&chain);
    per_worker.options.is_compatible = never_compatible;
    per_worker.options.layout = LANEPOOL_PER_WORKER;
    chain_ends(&per_worker);
}

/* --- submission from inside --- */

struct nested {
    uint64_t left;
    lanepool_status status;
};

static int submit_the_next(lanepool_run *run, void *context)
{
    struct nested *nested = context;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = submit_the_next;
    task.context = nested;
    if (--nested->left > 0) {
        lanepool_status status = lanepool_pool_submit(lanepool_run_pool(run), &task);

        /* Once submitted, the next task owns `nested`. */
        if (status != LANEPOOL_OK) {
            nested->status = status;
        }
    }
    return 0;
}

static void *submit_the_first(void *argument)
{
    struct nested *nested = argument;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool;
    lanepool_status first; /* from its submit on, `nested` belongs to the task */

    options.workers = 1;
    task.function = submit_the_next;
    task.context = nested;
    first = lanepool_pool_create(&options, &pool);
    if (first == LANEPOOL_OK) {
        first = lanepool_pool_submit(pool, &task);
    }
    if (lanepool_pool_destroy(pool) != LANEPOOL_OK) {
        nested->left = UINT64_MAX;
    }
    if (first != LANEPOOL_OK) {
        nested->status = first;
    }
    return NULL;
}

Test(small_stacks, tasks_submit_one_another_deeply)
{
    struct nested nested = { .left = LENGTH };

    run_on_small_stack(submit_the_first, &nested);
    expect_ok(nested.status);
    expect_eq(nested.left, 0);
}
