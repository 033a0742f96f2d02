/* A task uses an account that it does not claim. ThreadSanitizer reports it in every run, with one
 * worker, too: docs/checks.md. Build it with -fsanitize=thread. */
#include <lanepool/lanepool.h>
#include <stdio.h>
#include <stdlib.h>

enum { RENT = 1, CASH = 2 };

static long balances[3];

static int pay_rent(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    balances[RENT] += 900;
    balances[CASH] -= 900; /* not claimed */
    return 0;
}

static int sell(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    balances[CASH] += 40;
    return 0;
}

/* ThreadSanitizer asks the program for this. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return LANEPOOL_CHECK_SUPPRESSIONS;
}

int main(void)
{
    lanepool_pool *pool;
    const char *missing = lanepool_check_accesses_missing();
    if (missing != NULL) {
        printf("accesses are not checked: %s\n", missing);
        return EXIT_FAILURE;
    }
    lanepool_status status = lanepool_pool_create(
        LANEPOOL_OPTIONS(.workers = 1, .checks = LANEPOOL_CHECK_ACCESSES), &pool);
    if (status == LANEPOOL_OK)
        status = lanepool_pool_run(pool, lanepool_key_id(RENT), pay_rent, NULL);
    if (status == LANEPOOL_OK)
        status = lanepool_pool_run(pool, lanepool_key_id(CASH), sell, NULL);
    if (status == LANEPOOL_OK)
        status = lanepool_pool_destroy(pool);
    return status == LANEPOOL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
