/* A test that searches for a mistake in a program. A deposit is made in two tasks: the teller reads
 * the balance, and a second task writes the new one. If another teller reads in between, a deposit
 * is lost. The pool has no threads: its seed draws the order, so a seed that finds the mistake
 * finds it again. */
#include <inttypes.h>
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { ACCOUNT = 7, AMOUNT = 10, SEEDS = 100 };

struct deposit {
    int *balance;
    int read;
};

static int write_balance(lanepool_run *run, void *context)
{
    struct deposit *deposit = context;
    (void)run;
    *deposit->balance = deposit->read + AMOUNT;
    return 0;
}

static int deposit_in_two_tasks(lanepool_run *run, void *context)
{
    struct deposit *deposit = context;
    deposit->read = *deposit->balance;
    return lanepool_pool_run(lanepool_run_pool(run), lanepool_key_id(ACCOUNT), write_balance,
                             deposit) != LANEPOOL_OK;
}

static int deposit_in_one_task(lanepool_run *run, void *context)
{
    struct deposit *deposit = context;
    deposit->read = *deposit->balance;
    return write_balance(run, deposit);
}

/* Returns the balance after a deposit at each of two tellers; -1 if a call has failed. */
static int run_with_seed(uint64_t seed, lanepool_task_fn deposit)
{
    lanepool_pool *pool;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    int balance = 0;
    struct deposit deposits[2] = { { &balance, 0 }, { &balance, 0 } };
    options.step_seed = seed;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK)
        return -1;
    bool failed = false;
    for (int teller = 0; teller < 2; teller++)
        failed |= lanepool_pool_run(pool, lanepool_key_none(), deposit, &deposits[teller]);
    failed |= lanepool_pool_destroy(pool) != LANEPOOL_OK; /* runs all tasks on this thread */
    return failed ? -1 : balance;
}

static void search(const char *name, lanepool_task_fn deposit)
{
    uint64_t seed = 1;
    while (seed <= SEEDS && run_with_seed(seed, deposit) == 2 * AMOUNT)
        seed++;
    if (seed > SEEDS)
        printf("%s: %d seeds find no mistake\n", name, SEEDS);
    else
        printf("%s: step_seed %" PRIu64 " leaves %d, and again %d\n", name, seed,
               run_with_seed(seed, deposit), run_with_seed(seed, deposit));
}

int main(void)
{
    search("two tasks", deposit_in_two_tasks);
    search("one task", deposit_in_one_task);
    return 0;
}
