/*
 * Stands in for lanepool: the few calls that ledgerbatch makes of a pool, without threads. A submit
 * runs the task at once. A task that fails poisons the lanes that it has, and later tasks run
 * without these.
 */
#include <stdlib.h>

#include "lanepool/lanepool.h"
#include "memory.h"

struct lanepool_pool {
    bool *poisoned; /* by key */
    size_t key_count;
};

struct lanepool_run {
    const lanepool_pool *pool;
    const lanepool_task *task;
};

lanepool_status lanepool_pool_create(const lanepool_options *options, lanepool_pool **pool)
{
    (void)options;
    *pool = memory_zeroed(1, sizeof **pool);
    return LANEPOOL_OK;
}

lanepool_status lanepool_pool_destroy(lanepool_pool *pool)
{
    free(pool->poisoned);
    free(pool);
    return LANEPOOL_OK;
}

static bool is_poisoned(const lanepool_pool *pool, uint64_t key)
{
    return key < pool->key_count && pool->poisoned[key];
}

static void poison(lanepool_pool *pool, uint64_t key)
{
    if (key >= pool->key_count) {
        bool *poisoned = memory_zeroed(key + 1, sizeof *poisoned);
        for (size_t i = 0; i < pool->key_count; i++) {
            poisoned[i] = pool->poisoned[i];
        }
        free(pool->poisoned);
        pool->poisoned = poisoned;
        pool->key_count = key + 1;
    }
    pool->poisoned[key] = true;
}

bool lanepool_run_holds(const lanepool_run *run, lanepool_key key)
{
    bool claims = false;
    for (size_t i = 0; i < run->task->claim_count; i++) {
        claims |= run->task->claims[i].key.id == key.id;
    }
    return claims && !is_poisoned(run->pool, key.id);
}

lanepool_status lanepool_pool_submit(lanepool_pool *pool, const lanepool_task *task)
{
    lanepool_run run = { pool, task };
    if (task->function(&run, task->context) != 0) {
        for (size_t i = 0; i < task->claim_count; i++) {
            poison(pool, task->claims[i].key.id);
        }
    }
    return LANEPOOL_OK;
}

lanepool_status lanepool_pool_submit_batch(lanepool_pool *pool, const lanepool_task *tasks,
                                           size_t task_count, uint64_t wait_max_ns,
                                           size_t *accepted)
{
    lanepool_status status = LANEPOOL_OK;
    (void)wait_max_ns;
    for (*accepted = 0; *accepted < task_count; ++*accepted) {
        status = lanepool_pool_submit(pool, &tasks[*accepted]);
    }
    return status;
}

lanepool_status lanepool_pool_shutdown(lanepool_pool *pool)
{
    (void)pool;
    return LANEPOOL_OK;
}

lanepool_status lanepool_pool_shutdown_now(lanepool_pool *pool, lanepool_handback_fn handback,
                                           void *context)
{
    (void)pool;
    (void)handback;
    (void)context;
    return LANEPOOL_OK;
}

lanepool_status lanepool_pool_await(lanepool_pool *pool, uint64_t wait_max_ns)
{
    (void)pool;
    (void)wait_max_ns;
    return LANEPOOL_OK;
}
