/* A hot account: credits claim it COMMUTING and add atomically, so they run in parallel. Balances
 * claim it SHARED: each sees every earlier credit and no later one. */
#include <lanepool/lanepool.h>
#include <stdatomic.h>
#include <stdio.h>

enum { ACCOUNT = 7 };

static _Atomic long balance;

static int credit(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    atomic_fetch_add_explicit(&balance, 1, memory_order_relaxed); /* the lane orders the rest */
    return 0;
}

static int print_balance(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    printf("balance: %ld\n", atomic_load_explicit(&balance, memory_order_relaxed));
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_status status = lanepool_pool_create(NULL, &pool);
    for (int i = 1; i <= 2000 && status == LANEPOOL_OK; i++) {
        status = lanepool_pool_submit(
            pool, LANEPOOL_TASK(.function = credit, LANEPOOL_CLAIMS(lanepool_commuting(ACCOUNT))));
        if (i % 1000 == 0 && status == LANEPOOL_OK)
            status = lanepool_pool_submit(pool,
                                          LANEPOOL_TASK(.function = print_balance,
                                                        LANEPOOL_CLAIMS(lanepool_shared(ACCOUNT))));
    }
    if (status != LANEPOOL_OK)
        return 1;
    return lanepool_pool_destroy(pool);
}
