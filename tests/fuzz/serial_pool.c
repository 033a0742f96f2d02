/*
 * Stands in for lanepool: the few calls that ledgerbatch makes of a pool, without threads. A submit
 * runs the task at once. A task that fails poisons the lanes that it has, and later tasks run
 * without these. A cut is an entry for each visit, and poisons the lanes of failed visits only.
 * Journal entries are written when there are as many as a call may have, and at the end. Tasks are
 * released at the end.
 */
#include <stdlib.h>

#include "lanepool/lanepool.h"
#include "memory.h"

struct lanepool_pool {
    bool *poisoned; /* by key */
    size_t key_count;
    lanepool_journal_options journal;
    void *user;
    lanepool_journal_entry *entries; /* that are not written yet */
    size_t entry_count, capacity;
    lanepool_task *unreleased;
    size_t unreleased_count, unreleased_capacity;
    bool has_failed;
};

struct lanepool_run {
    const lanepool_pool *pool;
    const lanepool_task *task;
    void *record;
};

lanepool_status lanepool_pool_create(const lanepool_options *options, lanepool_pool **pool)
{
    *pool = memory_zeroed(1, sizeof **pool);
    (*pool)->journal = *options->journal;
    (*pool)->user = options->user;
    return LANEPOOL_OK;
}

lanepool_status lanepool_pool_destroy(lanepool_pool *pool)
{
    for (size_t i = 0; i < pool->unreleased_count; i++) {
        pool->unreleased[i].release(pool->unreleased[i].context);
    }
    free(pool->unreleased);
    free(pool->entries);
    free(pool->poisoned);
    free(pool);
    return LANEPOOL_OK;
}

static void write_entries(lanepool_pool *pool)
{
    if (pool->entry_count > 0 && !pool->has_failed) {
        pool->has_failed =
            pool->journal.write(pool->user, pool->entries, pool->entry_count, 0) != 0;
    }
    pool->entry_count = 0;
}

static void add_entry(lanepool_pool *pool, void *record)
{
    pool->entries =
        memory_grow(pool->entries, &pool->capacity, pool->entry_count + 1, sizeof *pool->entries);
    pool->entries[pool->entry_count++] = (lanepool_journal_entry){ .record = record };
    if (pool->entry_count == pool->journal.batch_max) {
        write_entries(pool);
    }
}

lanepool_status lanepool_run_set_record(lanepool_run *run, void *record)
{
    run->record = record;
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

static void release_later(lanepool_pool *pool, const lanepool_task *task)
{
    pool->unreleased = memory_grow(pool->unreleased, &pool->unreleased_capacity,
                                   pool->unreleased_count + 1, sizeof *pool->unreleased);
    pool->unreleased[pool->unreleased_count++] = *task;
}

static void run_task(lanepool_pool *pool, const lanepool_task *task)
{
    lanepool_run run = { pool, task, NULL };
    if (task->function(&run, task->context) == 0) {
        add_entry(pool, run.record);
        return;
    }
    for (size_t i = 0; i < task->claim_count; i++) {
        poison(pool, task->claims[i].key.id);
    }
}

static void run_cut(lanepool_pool *pool, const lanepool_task *task)
{
    bool failed = false;
    for (size_t i = 0; i < task->claim_count; i++) {
        lanepool_run run = { pool, task, NULL };
        if (is_poisoned(pool, task->claims[i].key.id)) {
            continue;
        }
        if (task->at_lane(&run, task->context, i) == 0) {
            add_entry(pool, run.record);
        } else {
            poison(pool, task->claims[i].key.id);
            failed = true;
        }
    }
    if (failed) {
        task->cancelled(task->context, LANEPOOL_IN_PARTS);
    } else {
        run_task(pool, task);
    }
    release_later(pool, task);
}

lanepool_status lanepool_pool_submit(lanepool_pool *pool, const lanepool_task *task)
{
    if (pool->has_failed) {
        return LANEPOOL_SHUT_DOWN;
    }
    if (task->at_lane) {
        run_cut(pool, task);
    } else {
        run_task(pool, task);
    }
    return LANEPOOL_OK;
}

lanepool_status lanepool_pool_submit_batch(lanepool_pool *pool, const lanepool_task *tasks,
                                           size_t task_count, uint64_t wait_max_ns,
                                           size_t *accepted)
{
    lanepool_status status = LANEPOOL_OK;
    (void)wait_max_ns;
    for (*accepted = 0; *accepted < task_count && status == LANEPOOL_OK;) {
        status = lanepool_pool_submit(pool, &tasks[*accepted]);
        *accepted += status == LANEPOOL_OK;
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
    (void)wait_max_ns;
    write_entries(pool);
    return pool->has_failed ? LANEPOOL_UNWRITTEN : LANEPOOL_OK;
}
