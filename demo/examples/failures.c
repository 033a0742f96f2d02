/* A client's bank does not answer: its posting is retried, then parked. The month-end goes
 * without that client, and the other clients continue. In the end the posting is retried once
 * more. */
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { CLIENTS = 3 };

static bool bank_is_back; /* written while no task runs */
static long balance[CLIENTS];

static struct posting {
    uint64_t client;
    long amount;
    const char *reason; /* why it has failed, for the list of parked tasks */
} postings[4] = { { 0, 100, NULL }, { 1, 20, NULL }, { 2, 3, NULL }, { 1, 50, NULL } };

static int post(lanepool_run *run, void *context, lanepool_call call)
{
    struct posting *posting = context;
    if (call == LANEPOOL_CALL_CANCELLED)
        return 1;
    if (posting->client == 1 && !bank_is_back) {
        posting->reason = "the bank does not answer";
        printf("posting of client 1: attempt %u fails\n", lanepool_run_attempt(run));
        return 1; /* nothing has changed: it may be called again */
    }
    balance[posting->client] += posting->amount;
    return 0;
}

static int sum_up(lanepool_run *run, void *context, lanepool_call call)
{
    const lanepool_claim *clients = context;
    long sum = 0;
    for (int i = 0; i < CLIENTS && call == LANEPOOL_CALL_RUN; i++)
        if (lanepool_run_holds(run, &clients[i]))
            sum += balance[i];
        else
            printf("month-end: without client %d\n", i);
    printf("month-end: %ld\n", sum);
    return 0;
}

static lanepool_status submit(lanepool_pool *pool, lanepool_task_fn function, void *context,
                              const lanepool_claim *claims, size_t count)
{
    lanepool_failure_policy without = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = LANEPOOL_TASK_INIT;
    without.at_poison = LANEPOOL_AT_POISON_GO_WITHOUT;
    task.function = function;
    task.context = context;
    task.claims = claims;
    task.claim_count = count;
    task.on_failure = count > 1 ? &without : NULL; /* for one claim, the pool's policy */
    return lanepool_pool_submit(pool, &task);
}

/* Lists the parked tasks, and retries them. */
static void try_again(lanepool_pool *pool)
{
    lanepool_failures *failures;
    if (lanepool_pool_failures(pool, &failures) != LANEPOOL_OK)
        return;
    bank_is_back = true;
    for (size_t i = 0; i < failures->count; i++) {
        const lanepool_failure *failure = &failures->tasks[i];
        const struct posting *posting = failure->context;
        printf("kept after %u attempts: %s\n", failure->attempts, posting->reason);
        if (lanepool_pool_resolve(pool, failure->ticket, LANEPOOL_RESOLVE_RETRY) != LANEPOOL_OK)
            printf("somebody else has resolved it\n");
    }
    lanepool_failures_release(failures);
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_claim clients[CLIENTS];
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    policy.retries = 2;
    policy.delay_ns = 1000000;       /* 1 ms before the first retry, 2 ms before the second */
    policy.delay_max_ns = 100000000; /* and never more than 100 ms */
    policy.at_end = LANEPOOL_FAILURE_POISON;
    options.on_failure = &policy;
    lanepool_status status = lanepool_pool_create(&options, &pool);
    for (uint64_t i = 0; i < CLIENTS; i++)
        clients[i] = lanepool_claim_id(i, LANEPOOL_EXCLUSIVE);
    for (int i = 0; i < 4 && status == LANEPOOL_OK; i++)
        status = submit(pool, post, &postings[i], &clients[postings[i].client], 1);
    if (status == LANEPOOL_OK)
        status = submit(pool, sum_up, clients, clients, CLIENTS);
    while (lanepool_pool_destroy(pool) ==
           LANEPOOL_HELD) /* only parked tasks, and tasks behind them, are left */
        try_again(pool);
    printf("client 1: %ld\n", balance[1]);
    return status != LANEPOOL_OK;
}
