/* Deposits to one account: they run in order, one at a time, without a lock. */
#include <lanepool/lanepool.h>
#include <stdio.h>

static int deposit(lanepool_run *run, void *balance)
{
    (void)run;
    printf("balance: %d\n", *(int *)balance += 50);
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    int balance = 0; /* only tasks that claim account 7 touch it */
    lanepool_status status = lanepool_pool_create(NULL, &pool);
    for (int i = 0; i < 3 && status == LANEPOOL_OK; i++)
        status = lanepool_pool_run(pool, lanepool_key_id(7), deposit, &balance);
    return status || lanepool_pool_destroy(pool); /* destroy runs everything first */
}
