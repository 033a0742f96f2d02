/* A cut: adds up all balances as of one place in the order. An account that is busy for long delays
 * the total, and no other account. */
#include <lanepool/lanepool.h>
#include <semaphore.h>
#include <stdio.h>

enum { ANN, BOB, CLEO, ACCOUNTS };

static int balance[ACCOUNTS]; /* each is guarded by its account's lane */
static int seen[ACCOUNTS];    /* what the visits see: each has a part of its own */
static sem_t transferred;

static int deposit(lanepool_run *run, void *account)
{
    (void)run;
    *(int *)account += 100;
    return 0;
}

static int deposit_late(lanepool_run *run, void *account)
{
    sem_wait(&transferred); /* ends only after a task that was submitted behind the cut */
    return deposit(run, account);
}

static int transfer(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    balance[ANN] -= 30;
    balance[BOB] += 30;
    printf("ann: %d, bob: %d\n", balance[ANN], balance[BOB]);
    sem_post(&transferred);
    return 0;
}

static int visit(lanepool_run *run, void *context, size_t index)
{
    (void)run, (void)context;
    seen[index] = balance[index]; /* the number of the claim is that of the account */
    return 0;
}

static int add_up(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    printf("total: %d + %d + %d = %d\n", seen[ANN], seen[BOB], seen[CLEO],
           seen[ANN] + seen[BOB] + seen[CLEO]);
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    const lanepool_claim ann = lanepool_exclusive(ANN);
    const lanepool_claim bob = lanepool_exclusive(BOB);
    const lanepool_claim cleo = lanepool_exclusive(CLEO);
    const lanepool_task *tasks[] = {
        LANEPOOL_TASK(.function = deposit, .context = &balance[ANN], LANEPOOL_CLAIMS(ann)),
        LANEPOOL_TASK(.function = deposit, .context = &balance[BOB], LANEPOOL_CLAIMS(bob)),
        LANEPOOL_TASK(.function = deposit_late, .context = &balance[CLEO], LANEPOOL_CLAIMS(cleo)),
        LANEPOOL_TASK(.function = add_up, .at_lane = visit,
                      LANEPOOL_CLAIMS(lanepool_shared(ANN), lanepool_shared(BOB),
                                      lanepool_shared(CLEO))),
        LANEPOOL_TASK(.function = transfer, LANEPOOL_CLAIMS(ann, bob)),
    };
    if (sem_init(&transferred, 0, 0) ||
        lanepool_pool_create(LANEPOOL_OPTIONS(.workers = 2), &pool) != LANEPOOL_OK)
        return 1;
    for (int i = 0; i < 5; i++)
        if (lanepool_pool_submit(pool, tasks[i]) != LANEPOOL_OK)
            return 1;
    return lanepool_pool_destroy(pool);
}
