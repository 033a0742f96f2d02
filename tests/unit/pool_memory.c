/*
 * The pieces of memory that the library takes from the system for a pool, one by one. The linker
 * lets the library call the two functions below instead of the system's (tests/CMakeLists.txt).
 */
#include <stdlib.h>
#include <string.h>

#include "route/pool.h"
#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { PIECES_MAX = 1024, WORKERS = 3 };

/* While it watches, pieces begin with arbitrary contents, and no piece is empty. */
static struct {
    _Atomic bool watches;
    _Atomic unsigned asked;          /* requests since the watch began */
    _Atomic unsigned refused;        /* the request that is refused; 0: none */
    _Atomic(void *) all[PIECES_MAX]; /* those in use that it has seen */
} pieces;

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);

/* Returns true if an element was `from` and is now `to`. */
static bool change_piece(void *from, void *to)
{
    for (size_t i = 0; i < PIECES_MAX; i++) {
        void *piece = atomic_load(&pieces.all[i]);
        if (piece == from && atomic_compare_exchange_strong(&pieces.all[i], &piece, to)) {
            return true;
        }
    }
    return false;
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    void *memory;

    if (!atomic_load(&pieces.watches)) {
        return __real_aligned_alloc(alignment, size);
    }
    if (size == 0 || atomic_fetch_add(&pieces.asked, 1) + 1 == atomic_load(&pieces.refused)) {
        return NULL;
    }
    memory = __real_aligned_alloc(alignment, size);
    if (memory) {
        memset(memory, 0xa5, size);
        if (!change_piece(NULL, memory)) {
            abort();
        }
    }
    return memory;
}

void __wrap_free(void *memory)
{
    if (memory) {
        (void)change_piece(memory, NULL);
    }
    __real_free(memory);
}

static bool is_in_use(const void *memory)
{
    for (size_t i = 0; i < PIECES_MAX; i++) {
        if (atomic_load(&pieces.all[i]) == memory) {
            return true;
        }
    }
    return false;
}

static size_t count_in_use(void)
{
    size_t count = 0;

    for (size_t i = 0; i < PIECES_MAX; i++) {
        count += atomic_load(&pieces.all[i]) != NULL;
    }
    return count;
}

/* `refused` is the number of the request that is refused, or 0. */
static void watch(unsigned refused)
{
    atomic_store(&pieces.asked, 0);
    atomic_store(&pieces.refused, refused);
    atomic_store(&pieces.watches, true);
}

/* This thread frees its record of a pool that is gone when it looks for any record. */
static void end_watch(void)
{
    (void)lanepool_i_thread_record_find(NULL);
    atomic_store(&pieces.watches, false);
    expect_eq(count_in_use(), 0);
}

static lanepool_status create(lanepool_pool **pool)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = WORKERS;
    return lanepool_pool_create(&options, pool);
}

Test(pool_memory, a_pool_that_gets_too_little_leaves_nothing)
{
    lanepool_status status = LANEPOOL_NOMEM;
    lanepool_pool *pool;
    unsigned refused = 0;

    while (status == LANEPOOL_NOMEM) {
        watch(++refused);
        status = create(&pool);
        expect((pool == NULL) == (status == LANEPOOL_NOMEM));
        expect_ok(lanepool_pool_destroy(pool));
        end_watch();
    }
    expect_ok(status);
    expect(refused > WORKERS);
}

Test(pool_memory, a_new_pool_has_counted_nothing)
{
    lanepool_worker_stats workers[WORKERS];
    lanepool_stats stats;
    lanepool_pool *pool;

    watch(0);
    expect_ok(create(&pool));
    expect_ok(lanepool_pool_stats(pool, &stats, workers, WORKERS));
    expect_eq(stats.wake_ups, 0);
    for (int i = 0; i < WORKERS; i++) {
        expect_eq(workers[i].wake_ups, 0);
    }
    expect_ok(lanepool_pool_destroy(pool));
    end_watch();
}

/* The system need not give empty pieces: C leaves that to it. */
Test(pool_memory, a_snapshot_of_an_empty_pool_has_no_empty_piece)
{
    lanepool_snapshot *snapshot;
    lanepool_pool *pool;

    watch(0);
    expect_ok(create(&pool));
    expect_ok(lanepool_snapshot_take(pool, &snapshot));
    expect_eq(snapshot->task_count, 0);
    expect_eq(snapshot->lane_count, 0);
    lanepool_snapshot_release(snapshot);
    expect_ok(lanepool_pool_destroy(pool));
    end_watch();
}

/* --- in a child of fork() --- */

struct forked {
    lanepool_pool *pool;
    const void *record, *workers, *sleepers;
    bool *are_freed; /* in memory that the child shares with its parent */
};

static void destroy_in_child(void *context)
{
    const struct forked *forked = context;
    bool were_in_use = is_in_use(forked->pool) && is_in_use(forked->record) &&
                       is_in_use(forked->workers) && is_in_use(forked->sleepers);

    if (lanepool_pool_destroy(forked->pool) == LANEPOOL_OK) {
        *forked->are_freed = were_in_use && !is_in_use(forked->pool) &&
                             !is_in_use(forked->record) && !is_in_use(forked->workers) &&
                             !is_in_use(forked->sleepers);
    }
}

Test(pool_memory, a_child_frees_what_the_pool_was_created_with_and_its_threads_record)
{
    struct forked forked = { .are_freed = process_shared_memory(sizeof *forked.are_freed) };

    watch(0);
    expect_ok(create(&forked.pool));
    pool_settle(forked.pool);
    forked.record = lanepool_i_thread_record_find(forked.pool);
    forked.workers = forked.pool->workers.all;
    forked.sleepers = forked.pool->workers.sleepers.all;
    expect_eq(process_run_apart(destroy_in_child, &forked), 0);
    expect(*forked.are_freed);
    expect_ok(lanepool_pool_destroy(forked.pool));
    end_watch();
    process_shared_memory_free(forked.are_freed, sizeof *forked.are_freed);
}
