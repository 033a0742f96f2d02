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

static int post(lanepool_run *run, void *context)
{
    struct posting *posting = context;
    if (posting->client == 1 && !bank_is_back) {
        posting->reason = "the bank does not answer";
        printf("posting of client 1: attempt %u fails\n", lanepool_run_attempt(run));
        return 1; /* nothing has changed: it may be called again */
    }
    balance[posting->client] += posting->amount;
    return 0;
}

static int sum_up(lanepool_run *run, void *context)
{
    long sum = 0;
    (void)context;
    for (int i = 0; i < CLIENTS; i++)
        if (lanepool_run_holds(run, lanepool_key_id((uint64_t)i)))
            sum += balance[i];
        else
            printf("month-end: without client %d\n", i);
    printf("month-end: %ld\n", sum);
    return 0;
}

/* Lists the parked tasks, and retries them. */
static void try_again(lanepool_pool *pool)
{
    lanepool_parked_tasks *failures;
    if (lanepool_pool_parked(pool, &failures) != LANEPOOL_OK)
        return;
    bank_is_back = true;
    for (size_t i = 0; i < failures->count; i++) {
        const lanepool_parked_task *failure = &failures->tasks[i];
        const struct posting *posting = failure->context;
        printf("parked after %u attempts: %s\n", failure->attempts, posting->reason);
        if (lanepool_pool_resolve(pool, failure->ticket, LANEPOOL_RESOLVE_RETRY) != LANEPOOL_OK)
            printf("already resolved\n");
    }
    lanepool_parked_tasks_release(failures);
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_failure_policy without = LANEPOOL_FAILURE_POLICY_INIT;
    policy.retries = 2;
    policy.delay_ns = 1000000;       /* 1 ms before the first retry, 2 ms before the second */
    policy.delay_max_ns = 100000000; /* and never more than 100 ms */
    policy.at_end = LANEPOOL_FAILURE_POISON;
    without.at_poison = LANEPOOL_AT_POISON_RUN_WITHOUT;
    lanepool_status status = lanepool_pool_create(LANEPOOL_OPTIONS(.on_failure = &policy), &pool);
    for (int i = 0; i < 4 && status == LANEPOOL_OK; i++)
        status = lanepool_pool_run(pool, lanepool_key_id(postings[i].client), post, &postings[i]);
    if (status == LANEPOOL_OK)
        status = lanepool_pool_submit(
            pool, LANEPOOL_TASK(.function = sum_up, .on_failure = &without,
                                LANEPOOL_CLAIMS(lanepool_exclusive(0), lanepool_exclusive(1),
                                                lanepool_exclusive(2))));
    while (lanepool_pool_destroy(pool) == LANEPOOL_PARKED) /* nothing else is left */
        try_again(pool);
    printf("client 1: %ld\n", balance[1]);
    return status != LANEPOOL_OK;
}
