/*
 * The order that a program may rely on without locks or atomic operations: callbacks and waits come
 * after what tasks have written. In pools that check accesses, ThreadSanitizer sees these orders.
 */
#include <stdlib.h>

#include "support/step.h"
#include "support/test.h"

enum { KEY = 3, TASKS = 40 };

/* What a task and its callbacks write. */
struct account {
    long balance;
    long releases;
    long errors;
};

static struct account account;

static int add_to_account(lanepool_run *run, void *context)
{
    (void)run;
    account.balance++;
    *(long *)context = account.balance;
    return 0;
}

static void free_context(void *context)
{
    free(context);
}

static void count_release(void *context)
{
    (void)context;
    account.releases++;
}

static bool are_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)user;
    return a->context == b->context; /* never */
}

static lanepool_task account_task(lanepool_task_fn function, void *context,
                                  lanepool_release_fn release, const lanepool_claim *claim)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = function;
    task.context = context;
    task.release = release;
    task.claims = claim;
    task.claim_count = claim != NULL;
    return task;
}

static void free_contexts_by_release(const lanepool_options *options)
{
    lanepool_claim claim = lanepool_exclusive(KEY);
    bool has_claims = options->is_compatible == NULL || options->layout == LANEPOOL_PER_KEY;
    lanepool_pool *pool = pool_make_with(options);

    account = (struct account){ 0 };
    for (int i = 0; i < TASKS; i++) {
        long *context = malloc(sizeof *context);
        lanepool_task task =
            account_task(add_to_account, context, free_context, has_claims ? &claim : NULL);

        expect(context != NULL);
        *context = i;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_settle(pool);
    expect_eq(account.balance, TASKS);
    pool_end(pool);
}

Test(check_order, release_may_free_what_the_task_has_written)
{
    for (int sort = 0; sort < 4; sort++) {
        lanepool_options options = LANEPOOL_OPTIONS_INIT;

        options.workers = 2;
        options.layout = sort % 2 == 0 ? LANEPOOL_PER_KEY : LANEPOOL_PER_WORKER;
        options.is_compatible = sort / 2 == 0 ? NULL : are_compatible;
        free_contexts_by_release(&options);
    }
}

Test(check_order, quiesce_comes_after_the_callbacks)
{
    lanepool_claim claim = lanepool_exclusive(KEY);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    long context = 0;
    lanepool_task task = account_task(add_to_account, &context, count_release, &claim);

    account = (struct account){ 0 };
    for (int i = 0; i < TASKS; i++) {
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_settle(pool);
    expect_eq(account.releases, TASKS);
    expect_eq(context, TASKS);
    pool_end(pool);
}

Test(check_order, wait_for_a_group_comes_after_its_members)
{
    lanepool_claim claim = lanepool_exclusive(KEY);
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);
    lanepool_group *group = group_make(false);
    long context = 0;
    lanepool_task task = account_task(add_to_account, &context, NULL, &claim);

    account = (struct account){ 0 };
    task.group = group;
    for (int i = 0; i < TASKS; i++) {
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_group_wait(group, LANEPOOL_FOREVER));
    expect_eq(account.balance, TASKS);
    expect_eq(context, TASKS);
    lanepool_group_destroy(group);
    pool_end(pool);
}

static int add_and_fail(lanepool_run *run, void *context)
{
    (void)add_to_account(run, context);
    return 1;
}

/* The failed task still has its lane. */
static void note_error(void *user, const lanepool_error *error)
{
    (void)user;
    (void)error;
    account.balance++;
    account.errors++;
}

Test(check_order, on_error_may_use_what_the_task_claims)
{
    lanepool_claim claim = lanepool_exclusive(KEY);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    long context = 0;
    lanepool_task task = account_task(add_and_fail, &context, NULL, &claim);
    lanepool_pool *pool;

    account = (struct account){ 0 };
    policy.retries = 1;
    options.workers = 2;
    options.on_error = note_error;
    options.on_failure = &policy;
    pool = pool_make_with(&options);
    for (int i = 0; i < TASKS; i++) {
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_settle(pool);
    expect_eq(account.errors, 2 * TASKS);
    expect_eq(account.balance, 4 * TASKS);
    pool_end(pool);
}

static void count_handed_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    (void)ticket;
    *(long *)context += 1;
    *(long *)task->context = -1;
}

Test(check_order, hand_back_comes_after_the_submits)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    lanepool_claim claim = lanepool_exclusive(KEY);
    long handed_back = 0, contexts[TASKS];
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, KEY));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < TASKS; i++) {
        lanepool_task task = account_task(add_to_account, &contexts[i], NULL, &claim);

        contexts[i] = i;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(lanepool_pool_shutdown_now(pool, count_handed_back, &handed_back));
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(handed_back, TASKS);
    expect_eq(contexts[0], -1);
    gate_fini(&gate);
}

static int hand_over_account(lanepool_run *run, void *context)
{
    lanepool_task receiver = account_task(add_to_account, context, NULL, NULL);

    (void)add_to_account(run, context);
    return lanepool_run_hand_over(run, &receiver) != LANEPOOL_OK;
}

Test(check_order, a_receiver_comes_after_its_giver_also_with_priorities)
{
    for (int i = 0; i < 2; i++) {
        lanepool_claim claim = lanepool_exclusive(KEY);
        lanepool_options options = LANEPOOL_OPTIONS_INIT;
        long context = 0;
        lanepool_task task = account_task(hand_over_account, &context, NULL, &claim);
        lanepool_pool *pool;

        account = (struct account){ 0 };
        options.workers = 2;
        options.priorities = i > 0;
        pool = pool_make_with(&options);
        for (int j = 0; j < TASKS; j++) {
            expect_ok(lanepool_pool_submit(pool, &task));
        }
        pool_settle(pool);
        expect_eq(account.balance, 2 * TASKS);
        pool_end(pool);
    }
}
