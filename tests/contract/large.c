/* Extreme sizes: many claims, many tasks on one key, deep submission. */
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>

#include "support/memory.h"
#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { CLAIMS = 100000, TASKS = 1000000, DEPTH = 100000 };

/* The size of a task with one claim, and a tenth more for the memory around blocks. */
enum { TASK_BYTES = 64, TASKS_BYTES_MAX = TASKS / 10 * 11 * TASK_BYTES };

Test(large, rollup_over_a_hundred_thousand_keys)
{
    lanepool_claim *claims = memory_get(CLAIMS, sizeof *claims);
    struct journal *journal = memory_get(1, sizeof *journal);
    struct step steps[5] = { { .id = 0 }, { .id = 1 }, { .id = 2 }, { .id = 3 }, { .id = 4 } };
    lanepool_stats stats;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (uint32_t i = 0; i < CLAIMS; i++) {
        claims[i] =
            lanepool_claim_of(lanepool_key_id(i), i % 2 ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED);
    }
    for (uint32_t i = 0; i < 5; i++) {
        steps[i].journal = journal;
    }
    /* One task on one key, three tasks on all keys, one more on one key: they run strictly in
     * order. */
    expect_ok(step_submit_on(pool, &steps[0], CLAIMS - 1));
    for (int i = 1; i < 4; i++) {
        lanepool_task task = step_task(&steps[i], claims, CLAIMS);

        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect_ok(step_submit_on(pool, &steps[4], 1));
    pool_settle(pool);
    expect_ok(lanepool_pool_trim(pool));
    for (uint32_t i = 0; i < 5; i++) {
        expect_eq(journal_place(journal, i), i);
    }
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.live_lanes, 0);
    pool_end(pool);
    free(claims);
    free(journal);
}

Test(large, one_key_named_a_hundred_thousand_times)
{
    lanepool_claim *claims = memory_get(CLAIMS, sizeof *claims);
    struct step steps[2] = { { 0 } };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    for (uint32_t i = 0; i < CLAIMS; i++) {
        claims[i] = lanepool_exclusive(7);
    }
    for (int i = 0; i < 2; i++) {
        lanepool_task task = step_task(&steps[i], claims, CLAIMS);

        expect_ok(lanepool_pool_submit(pool, &task));
    }
    pool_end(pool);
    expect_eq(steps[0].runs, 1);
    expect_eq(steps[1].runs, 1);
    free(claims);
}

/* The task's number is its context. The counters are plain, because the key guards them. */
static struct {
    uint64_t next;
    uint64_t out_of_turn;
} million;

static int count_in_turn(lanepool_run *run, void *context)
{
    (void)run;
    million.out_of_turn += million.next != (uint64_t)(uintptr_t)context;
    million.next++;
    return 0;
}

Test(large, a_million_tasks_wait_on_one_key)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_pool *pool;
    unsigned long long bytes_before;
    unsigned long long bytes_after;

    gate_init(&gate);
    options.workers = 2;
    options.pending_max = LANEPOOL_UNLIMITED;
    pool = pool_make_with(&options);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    task.function = count_in_turn;
    task.claims = &claim;
    task.claim_count = 1;
    bytes_before = process_resident_bytes();
    for (uint64_t i = 0; i < TASKS; i++) {
        task.context = (void *)(uintptr_t)i;
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    bytes_after = process_resident_bytes();
    expect(PROCESS_IS_SANITIZED || bytes_after - bytes_before <= TASKS_BYTES_MAX);
    gate_open(&gate, 1);
    pool_end(pool);
    expect_eq(million.next, TASKS);
    expect_eq(million.out_of_turn, 0);
    gate_fini(&gate);
}

static int submit_deeper(lanepool_run *run, void *context)
{
    uint64_t *left = context;
    lanepool_claim claim = lanepool_exclusive(3);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = submit_deeper;
    task.context = left;
    task.claims = &claim;
    task.claim_count = 1;
    if (--*left > 0 && lanepool_pool_submit(lanepool_run_pool(run), &task)) {
        *left = UINT64_MAX;
    }
    return 0;
}

Test(large, each_task_submits_the_next_on_its_own_key)
{
    uint64_t left = DEPTH;
    lanepool_claim claim = lanepool_exclusive(3);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    task.function = submit_deeper;
    task.context = &left;
    task.claims = &claim;
    task.claim_count = 1;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(left, 0);
}

/* A submitter with a small stack; sanitizers need more. */
enum {
    SMALL_STACK = PROCESS_IS_SANITIZED             ? 512 << 10
                  : PTHREAD_STACK_MIN > (16 << 10) ? PTHREAD_STACK_MIN
                                                   : 16 << 10
};

struct small {
    lanepool_pool *pool;
    lanepool_claim *claims;
    struct step step;
    lanepool_status status;
};

static void *submit_with_small_stack(void *argument)
{
    struct small *small = argument;
    lanepool_task task = step_task(&small->step, small->claims, CLAIMS);

    small->status = lanepool_pool_submit(small->pool, &task);
    return NULL;
}

Test(large, many_claims_need_no_stack)
{
    struct small small = { .claims = memory_get(CLAIMS, sizeof *small.claims) };
    pthread_attr_t attributes;
    pthread_t thread;

    for (uint32_t i = 0; i < CLAIMS; i++) {
        small.claims[i] = lanepool_exclusive(i);
    }
    small.pool = pool_make(1, LANEPOOL_PER_KEY);
    expect_eq(pthread_attr_init(&attributes), 0);
    expect_eq(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
    expect_eq(pthread_create(&thread, &attributes, submit_with_small_stack, &small), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    pool_end(small.pool);
    expect_ok(small.status);
    expect_eq(small.step.runs, 1);
    free(small.claims);
}
