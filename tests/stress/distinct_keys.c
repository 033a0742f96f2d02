/*
 * Ten million keys, one task each: empty lanes must leave no memory behind.
 *
 *     distinct_keys [--keys N] [--workers W]
 *
 * The resident size is read on an idle pool after the first keys and after all of them. It may grow
 * by a tenth and 4 MiB at most.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanepool/lanepool.h"
#include "stress/arguments.h"
#include "support/process.h"

enum { WARM_UP = 100000, SLACK = 4 << 20, PENDING_MAX = 1 << 16 };

static _Atomic uint64_t calls;

static int body(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return 0;
}

/* Returns false if a submit is refused. */
static bool submit_keys(lanepool_pool *pool, uint64_t first, uint64_t end)
{
    for (uint64_t key = first; key < end; key++) {
        lanepool_claim claim = lanepool_exclusive(key);
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = body;
        task.claims = &claim;
        task.claim_count = 1;
        if (lanepool_pool_submit(pool, &task)) {
            return false;
        }
    }
    return lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK;
}

int main(int argc, char **argv)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    uint64_t keys = argument_number(argc, argv, "--keys", 10000000);
    lanepool_pool *pool;
    unsigned long long warm;
    unsigned long long full;

    options.workers = (unsigned)argument_number(argc, argv, "--workers", 2);
    options.pending_max = PENDING_MAX;
    if (lanepool_pool_create(&options, &pool) || !submit_keys(pool, 0, WARM_UP)) {
        fprintf(stderr, "the pool refuses to work\n");
        return EXIT_FAILURE;
    }
    warm = process_resident_bytes();
    if (!submit_keys(pool, WARM_UP, keys)) {
        fprintf(stderr, "the pool refuses to work\n");
        return EXIT_FAILURE;
    }
    full = process_resident_bytes();
    if (lanepool_pool_destroy(pool)) {
        return EXIT_FAILURE;
    }
    printf("%llu keys: resident %llu KiB after %d, %llu KiB after all\n", (unsigned long long)calls,
           warm >> 10, WARM_UP, full >> 10);
    return calls == keys && full <= warm + warm / 10 + SLACK ? EXIT_SUCCESS : EXIT_FAILURE;
}
