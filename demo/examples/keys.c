/* Transfers between clients: those of one client run in order, others in parallel. */
#include <lanepool/lanepool.h>
#include <stdio.h>

static long balance[4] = { 1000, 0, 0, 1000 }; /* guarded by the clients' lanes, without a lock */

static struct transfer {
    uint64_t from, to;
    long amount;
} transfers[4] = { { 0, 1, 500 }, { 1, 2, 400 }, { 2, 0, 300 }, { 3, 2, 50 } };

static int post(lanepool_run *run, void *context, lanepool_call call)
{
    const struct transfer *transfer = context;
    (void)run;
    if (call == LANEPOOL_CALL_CANCELLED || balance[transfer->from] < transfer->amount)
        return 1; /* refused: money that comes later cannot be spent */
    balance[transfer->from] -= transfer->amount;
    balance[transfer->to] += transfer->amount;
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_status status = lanepool_pool_create(NULL, &pool);
    for (int i = 0; i < 4 && status == LANEPOOL_OK; i++) {
        lanepool_claim claims[2] = { lanepool_claim_id(transfers[i].from, LANEPOOL_EXCLUSIVE),
                                     lanepool_claim_id(transfers[i].to, LANEPOOL_EXCLUSIVE) };
        lanepool_task task = LANEPOOL_TASK_INIT;
        task.function = post;
        task.context = &transfers[i];
        task.claims = claims; /* copied; both lanes are blocked until it is done, and no other */
        task.claim_count = 2;
        status = lanepool_pool_submit(pool, &task);
    }
    lanepool_pool_destroy(pool); /* runs everything accepted */
    printf("balances: %ld %ld %ld %ld\n", balance[0], balance[1], balance[2], balance[3]);
    return status != LANEPOOL_OK;
}
