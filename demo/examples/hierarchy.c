/* Hierarchical keys: a posting claims its branch SHARED and its account EXCLUSIVE. A close of the
 * branch claims the branch alone, EXCLUSIVE: one claim covers every account of the branch. */
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { BRANCHES = 2, ACCOUNTS = 3 };

static long balance[BRANCHES][ACCOUNTS]; /* guarded by its account's lane, or by its branch's */

static uint64_t branch_key(unsigned branch)
{
    return (uint64_t)branch << 32;
}

static uint64_t account_key(unsigned branch, unsigned account)
{
    return branch_key(branch) | (account + 1);
}

static int post(lanepool_run *run, void *account)
{
    (void)run;
    *(long *)account += 10;
    return 0;
}

static int close_branch(lanepool_run *run, void *accounts)
{
    long sum = 0;
    (void)run;
    for (int i = 0; i < ACCOUNTS; i++)
        sum += ((long *)accounts)[i];
    printf("branch 0 closes with %ld\n", sum);
    return 0;
}

static lanepool_status submit_posting(lanepool_pool *pool, unsigned branch, unsigned account)
{
    return lanepool_pool_submit(
        pool, LANEPOOL_TASK(.function = post, .context = &balance[branch][account],
                            LANEPOOL_CLAIMS(lanepool_shared(branch_key(branch)),
                                            lanepool_exclusive(account_key(branch, account)))));
}

static lanepool_status submit_close(lanepool_pool *pool, unsigned branch)
{
    return lanepool_pool_run(pool, lanepool_key_id(branch_key(branch)), close_branch,
                             balance[branch]);
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_status status = lanepool_pool_create(NULL, &pool);
    for (unsigned round = 0; round < 2 && status == LANEPOOL_OK; round++) {
        for (unsigned i = 0; i < BRANCHES * ACCOUNTS && status == LANEPOOL_OK; i++)
            status = submit_posting(pool, i % BRANCHES, i / BRANCHES);
        if (round == 0 && status == LANEPOOL_OK)
            status = submit_close(pool, 0); /* branch 1 continues */
    }
    if (status != LANEPOOL_OK)
        return 1;
    lanepool_pool_destroy(pool);
    for (int i = 0; i < BRANCHES; i++)
        printf("branch %d: %ld %ld %ld\n", i, balance[i][0], balance[i][1], balance[i][2]);
    return 0;
}
