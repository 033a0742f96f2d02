/* A posting fails twice and succeeds. Another one fails for good: it is parked until main decides.
 */
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { CLIENTS = 2 };

static struct client {
    unsigned failures; /* how many attempts fail */
} clients[CLIENTS] = { { 2 }, { 99 } };

static int post(lanepool_run *run, void *context)
{
    struct client *client = context;
    if (client->failures > 0) {
        client->failures--;
        return 1; /* any code but 0: this attempt has failed, and has changed nothing */
    }
    printf("posted in attempt %u\n", lanepool_run_attempt(run));
    return 0;
}

/* Skips every parked task: it ends as FAILED, and its lane continues. */
static void skip_parked(lanepool_pool *pool)
{
    lanepool_parked_tasks *parked;
    if (lanepool_pool_parked(pool, &parked) != LANEPOOL_OK)
        return;
    for (size_t i = 0; i < parked->count; i++) {
        const lanepool_parked_task *task = &parked->tasks[i];
        printf("parked after %u attempts, skipped\n", task->attempts);
        if (lanepool_pool_resolve(pool, task->ticket, LANEPOOL_RESOLVE_SKIP) != LANEPOOL_OK)
            printf("already resolved\n");
    }
    lanepool_parked_tasks_release(parked);
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    policy.retries = 3;
    policy.delay_ns = 1000000; /* 1 ms; then 2 ms, 4 ms ... */
    policy.delay_max_ns = 1000000000;
    policy.at_end = LANEPOOL_FAILURE_POISON; /* park the task */
    if (lanepool_pool_create(LANEPOOL_OPTIONS(.on_failure = &policy), &pool) != LANEPOOL_OK)
        return 1;
    for (uint64_t i = 0; i < CLIENTS; i++) {
        if (lanepool_pool_run(pool, lanepool_key_id(i), post, &clients[i]) != LANEPOOL_OK)
            return 1;
    }
    while (lanepool_pool_destroy(pool) == LANEPOOL_PARKED) /* nothing else is left */
        skip_parked(pool);
    return 0;
}
