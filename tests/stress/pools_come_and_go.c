/*
 * Pools that are created, do a little work and are destroyed: they must leave no threads,
 * descriptors or memory behind.
 *
 *     pools_come_and_go [--pools N] [--workers W]
 *
 * Each accepted task must run or be cancelled once. After each pool its threads must have ended.
 * Descriptors are counted, and the resident size is read, after the first tenth of the pools and
 * after all of them. Memory may grow by 1 MiB at most.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanepool/lanepool.h"
#include "stress/arguments.h"
#include "support/process.h"

enum { TASKS = 4, SLACK = 1 << 20 };

static _Atomic uint64_t ends; /* tasks that ran or were cancelled */

static int body(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    atomic_fetch_add_explicit(&ends, 1, memory_order_relaxed);
    return 0;
}

static void cancelled(void *context, lanepool_status why)
{
    (void)context;
    if (why == LANEPOOL_SHUT_DOWN) {
        atomic_fetch_add_explicit(&ends, 1, memory_order_relaxed);
    }
}

static bool never_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return false;
}

/* Creates, uses and ends pool number n. Layouts and kinds of rule alternate, and every third pool
 * is stopped. */
static bool live(uint64_t n, unsigned workers)
{
    static const lanepool_options defaults = LANEPOOL_OPTIONS_INIT;
    lanepool_options options = defaults;
    lanepool_claim claim =
        lanepool_claim_of(lanepool_key_string("a key that is copied"), LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future = NULL;
    lanepool_pool *pool;
    bool good;

    options.workers = workers;
    options.layout = n & 1 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    options.is_compatible = n & 2 ? never_compatible : NULL;
    if (lanepool_pool_create(&options, &pool)) {
        return false;
    }
    task.function = body;
    task.cancelled = cancelled;
    task.claims = &claim;
    task.claim_count = !options.is_compatible;
    task.future = &future;
    good = true;
    for (int i = 0; i < TASKS && good; i++) {
        good = lanepool_pool_submit(pool, &task) == LANEPOOL_OK;
        lanepool_future_release(future);
    }
    if (n % 3 == 0) {
        good = good && lanepool_pool_shutdown_now(pool, NULL, NULL) == LANEPOOL_OK;
    }
    return lanepool_pool_destroy(pool) == LANEPOOL_OK && good;
}

int main(int argc, char **argv)
{
    uint64_t pools = argument_number(argc, argv, "--pools", 100000);
    unsigned workers = (unsigned)argument_number(argc, argv, "--workers", 2);
    unsigned long long bytes_before = 0;
    unsigned long long bytes_after;
    size_t descriptors_before = 0;
    size_t descriptors_after;
    bool bytes_grew;

    for (uint64_t n = 0; n < pools; n++) {
        if (n == pools / 10) {
            bytes_before = process_resident_bytes();
            descriptors_before = process_descriptor_count();
        }
        if (!live(n, workers) || !process_has_threads(PROCESS_THREADS_AT_REST)) {
            fprintf(stderr, "pool %llu does not work or leaves threads\n", (unsigned long long)n);
            return EXIT_FAILURE;
        }
    }
    bytes_after = process_resident_bytes();
    descriptors_after = process_descriptor_count();
    printf("%llu pools, %llu tasks: resident %llu KiB, then %llu KiB; %zu descriptors, then %zu\n",
           (unsigned long long)pools, (unsigned long long)ends, bytes_before >> 10,
           bytes_after >> 10, descriptors_before, descriptors_after);
    /* A sanitizer's allocator retains freed memory for a while. */
    bytes_grew = !PROCESS_IS_SANITIZED && bytes_after > bytes_before + SLACK;
    return !bytes_grew && descriptors_after == descriptors_before && ends == pools * TASKS
               ? EXIT_SUCCESS
               : EXIT_FAILURE;
}
