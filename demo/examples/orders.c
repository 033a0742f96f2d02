/* A test that searches for a mistake in a program. A transfer is made in two tasks: the first takes
 * the amount from one account, the second adds it to another. An audit in between finds too little.
 * The pool has no threads: its seed draws the order, so a seed that finds the mistake finds it
 * again. Then the schedule is made smaller: how many draws of the seed does the mistake need? */
#include <inttypes.h>
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { AMOUNT = 10, TRANSFERS = 3, SEEDS = 100 };

struct bank {
    int accounts[2];
    int found; /* by the audit */
};

static int add_amount(lanepool_run *run, void *context)
{
    struct bank *bank = context;
    (void)run;
    bank->accounts[1] += AMOUNT;
    return 0;
}

static int transfer_in_two_tasks(lanepool_run *run, void *context)
{
    struct bank *bank = context;
    bank->accounts[0] -= AMOUNT;
    return lanepool_pool_run(lanepool_run_pool(run), lanepool_key_id(1), add_amount, bank) !=
           LANEPOOL_OK;
}

static int transfer_in_one_task(lanepool_run *run, void *context)
{
    struct bank *bank = context;
    bank->accounts[0] -= AMOUNT;
    return add_amount(run, bank);
}

static int audit(lanepool_run *run, void *context)
{
    struct bank *bank = context;
    (void)run;
    bank->found = bank->accounts[0] + bank->accounts[1];
    return 0;
}

/* Returns how much the audit misses; -1 if a call has failed. */
static int run_with_seed(uint64_t seed, uint64_t plain_from, lanepool_task_fn transfer)
{
    lanepool_pool *pool;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct bank bank = { { TRANSFERS * AMOUNT, 0 }, 0 };
    options.step_seed = seed;
    options.step_plain_from = plain_from;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK)
        return -1;
    bool failed = lanepool_pool_run(pool, lanepool_key_none(), audit, &bank) != LANEPOOL_OK;
    for (int i = 0; i < TRANSFERS; i++)
        failed |= lanepool_pool_run(pool, lanepool_key_id(0), transfer, &bank) != LANEPOOL_OK;
    failed |= lanepool_pool_destroy(pool) != LANEPOOL_OK; /* runs all tasks on this thread */
    return failed ? -1 : TRANSFERS * AMOUNT - bank.found;
}

/* Returns a number of the draw from which on tasks may start as accepted. With one less, the run
 * passes: the draw before it is the one that matters. */
static uint64_t end_draws_early(uint64_t seed, lanepool_task_fn transfer)
{
    uint64_t passes = 0;
    uint64_t fails = 1;
    while (run_with_seed(seed, fails, transfer) == 0) {
        passes = fails;
        fails *= 2;
    }
    while (fails - passes > 1) {
        uint64_t middle = passes + (fails - passes) / 2;
        if (run_with_seed(seed, middle, transfer) == 0)
            passes = middle;
        else
            fails = middle;
    }
    return fails;
}

static void search(const char *name, lanepool_task_fn transfer)
{
    uint64_t seed = 1;
    while (seed <= SEEDS && run_with_seed(seed, 0, transfer) == 0)
        seed++;
    if (seed > SEEDS) {
        printf("%s: %d seeds find no mistake\n", name, SEEDS);
        return;
    }
    printf("%s: with step_seed %" PRIu64 " the audit misses %d, and again %d\n", name, seed,
           run_with_seed(seed, 0, transfer), run_with_seed(seed, 0, transfer));
    uint64_t from = end_draws_early(seed, transfer);
    printf("%s: with step_plain_from %" PRIu64 " it misses %d, with %" PRIu64 " it misses %d\n",
           name, from, run_with_seed(seed, from, transfer), from - 1,
           run_with_seed(seed, from - 1, transfer));
}

int main(void)
{
    search("two tasks", transfer_in_two_tasks);
    search("one task", transfer_in_one_task);
    return 0;
}
