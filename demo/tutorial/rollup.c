/* Keys and rollups: deposits claim one account, a transfer claims two, a statement shares both. */
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { ANN, BOB };

static int balance[2]; /* each is guarded by its account's lane */

static int deposit(lanepool_run *run, void *account)
{
    (void)run;
    *(int *)account += 100;
    return 0;
}

static int transfer(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    balance[ANN] -= 30;
    balance[BOB] += 30;
    return 0;
}

static int state(lanepool_run *run, void *total)
{
    *(int *)total = balance[ANN] + balance[BOB];
    lanepool_run_set_result(run, total);
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_future *statement = NULL;
    lanepool_result result;
    int total;
    const lanepool_claim ann = lanepool_exclusive(ANN);
    const lanepool_claim bob = lanepool_exclusive(BOB);
    const lanepool_task *tasks[] = {
        LANEPOOL_TASK(.function = deposit, .context = &balance[ANN], LANEPOOL_CLAIMS(ann)),
        LANEPOOL_TASK(.function = deposit, .context = &balance[BOB], LANEPOOL_CLAIMS(bob)),
        LANEPOOL_TASK(.function = transfer, LANEPOOL_CLAIMS(ann, bob)),
        LANEPOOL_TASK(.function = state, .context = &total, .future = &statement,
                      LANEPOOL_CLAIMS(lanepool_shared(ANN), lanepool_shared(BOB))),
    };
    if (lanepool_pool_create(NULL, &pool) != LANEPOOL_OK)
        return 1;
    for (int i = 0; i < 4; i++)
        if (lanepool_pool_submit(pool, tasks[i]) != LANEPOOL_OK)
            return 1;
    if (lanepool_future_wait(statement, LANEPOOL_FOREVER, &result) != LANEPOOL_OK)
        return 1;
    printf("ann and bob: %d\n", *(int *)result.value);
    lanepool_future_release(statement);
    lanepool_pool_destroy(pool);
    printf("ann: %d, bob: %d\n", balance[ANN], balance[BOB]);
    return 0;
}
