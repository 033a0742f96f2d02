/* Owns the fibers of a pool, and the notes of a task's way; see accesses.h. */
#include "feature/check/accesses.h"

#include "core/call_record.h"
#include "core/run.h"
#include "core/task_check.h"
#include "lanepool/check.h"
#include "platform/fiber.h"
#include "platform/notes.h"
#include "route/pool.h"

#include <string.h>

extern const lanepool_i_feature lanepool_i_feature_accesses;

/* ThreadSanitizer has about 8,000 threads at most, fibers included. */
#define FIBERS_IN_ALL      2048
#define FIBERS_OF_A_WORKER 64
#define FIBERS_AT_LEAST    2
#define KEYS               ((size_t)4096)

/* A worker's fibers, used in turn: two tasks have an accidental order only if they meet on one. Of
 * the worker's thread. */
typedef struct fiber_ring {
    lanepool_i_fiber *mother; /* knows only what the pool's creator has done */
    lanepool_i_fiber *free[FIBERS_OF_A_WORKER];
    size_t first;
    size_t count; /* of the free ones */
    size_t made;
} fiber_ring;

/* The objects of a key. They are names only. */
typedef struct key_objects {
    uint64_t of_mode[LANEPOOL_I_MODES];
} key_objects;

/* Of a pool. Keys that share their objects only hide accesses. */
typedef struct lanepool_i_accesses {
    key_objects keys[KEYS];
    fiber_ring rings[];
} lanepool_i_accesses;

/* In a task's block. */
typedef struct access_room {
    long long object;
    long long visits; /* with visits: an object of its own */
    bool has_visits;  /* a cut, or a progressive rollup */
    bool is_alone;    /* a barrier, or has its lanes from one */
} access_room;

static access_room *room_of(const lanepool_pool *pool, lanepool_i_task *task)
{
    return lanepool_i_features_room(pool, &lanepool_i_feature_accesses, task);
}

/* --- claims --- */

static key_objects *objects_of(const lanepool_pool *pool, const lanepool_i_lane *lane)
{
    return &pool->accesses->keys[lane->key.hash % KEYS];
}

static void acquire_claim(const lanepool_pool *pool, const lanepool_i_lane *lane,
                          lanepool_mode mode)
{
    const key_objects *objects = objects_of(pool, lane);
    for (size_t other = 0; other < LANEPOOL_I_MODES; other++)
        if (!lanepool_modes_overlap(mode, other))
            lanepool_i_note_acquire(&objects->of_mode[other]);
}

static void release_claim(const lanepool_pool *pool, const lanepool_i_lane *lane,
                          lanepool_mode mode)
{
    lanepool_i_note_release(&objects_of(pool, lane)->of_mode[mode]);
}

static bool has_rule(const lanepool_pool *pool)
{
    return pool->options.is_compatible != NULL;
}

/* --- the way of a task --- */

static bool wants_check(const lanepool_options *options)
{
    return (options->checks & LANEPOOL_CHECK_ACCESSES) != 0;
}

static void init_room(lanepool_pool *pool, const lanepool_task *task, lanepool_i_task *block)
{
    room_of(pool, block)->has_visits = lanepool_i_description_has_visits(task);
    room_of(pool, block)->is_alone = false;
}

static lanepool_status note_submit(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_task *task, lanepool_i_task *block)
{
    (void)record;
    lanepool_i_note_restart(&room_of(pool, block)->object); /* the block may have been another's */
    if (lanepool_i_description_has_visits(task))
        lanepool_i_note_restart(&room_of(pool, block)->visits);
    lanepool_i_note_release(&pool->notes.submits);
    return LANEPOOL_OK;
}

static void note_start(lanepool_pool *pool, lanepool_i_task *task)
{
    const access_room *room = room_of(pool, task);
    lanepool_i_note_acquire(&room->object);
    lanepool_i_note_acquire(&pool->notes.controls);
    if (room->has_visits)
        lanepool_i_note_acquire(&room->visits);
    if (has_rule(pool) || room->is_alone || lanepool_i_task_is_barrier(task))
        lanepool_i_note_acquire(&pool->notes.ends);
    else
        pool->rule->each_claim(pool, task, acquire_claim);
}

/* The thread that does this has the whole call behind it. */
static void note_end(lanepool_pool *pool, lanepool_i_task *task)
{
    const access_room *room = room_of(pool, task);
    lanepool_i_note_release(&room->object);
    lanepool_i_note_release(&pool->notes.ends);
    if (room->is_alone || lanepool_i_task_is_barrier(task))
        lanepool_i_note_release(&pool->notes.controls);
    else if (!has_rule(pool))
        pool->rule->each_claim(pool, task, release_claim);
}

static void note_early_release(lanepool_pool *pool, lanepool_i_task *task,
                               const lanepool_i_lane *lane, lanepool_mode mode)
{
    (void)task;
    release_claim(pool, lane, mode);
}

/* The thread that ends a detached task. Another thread may have completed it. */
static void note_end_of_record(lanepool_pool *pool, struct lanepool_detached *call)
{
    lanepool_i_task *task = call->suspended.task;
    if (!lanepool_i_call_record_is_detached(call))
        return;
    lanepool_i_note_acquire(call);
    lanepool_i_note_acquire(&room_of(pool, task)->object);
    note_end(pool, task);
}

static void note_hand_over(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver)
{
    room_of(pool, receiver)->is_alone =
        room_of(pool, task)->is_alone || lanepool_i_task_is_barrier(task);
}

/* --- a call --- */

typedef struct checked_call {
    lanepool_pool *pool;
    lanepool_run *run;
    lanepool_i_task *task; /* perhaps a visitor */
    int code;
} checked_call;

static void note_used_worker(const lanepool_run *run)
{
    if (run->asks_worker)
        lanepool_i_note_release(run->record->worker);
}

static void make_call(void *argument)
{
    checked_call *call = argument;
    note_start(call->pool, call->task);
    call->code = call->task->function(call->run, call->task->context);
    note_end(call->pool, call->task);
    if (call->run->call != NULL && call->run->call->receiver != NULL)
        lanepool_i_note_release(&room_of(call->pool, call->run->call->receiver)->object);
    note_used_worker(call->run);
}

/* Visits of a round have no order: each acquires the cut's object, but releases that of visits. A
 * later round follows the visits of the earlier ones. `is_counted` does not change in a round. */
static void visit_in_fiber(void *argument)
{
    checked_call *call = argument;
    const lanepool_i_visitor *visitor = (const lanepool_i_visitor *)call->task;
    lanepool_i_task *cut = call->task->context;
    access_room *room = room_of(call->pool, cut);
    const lanepool_i_lane *lane = visitor->entry.entry.at.lane;
    lanepool_mode mode = lanepool_i_mode_of_owner(visitor->entry.owner);
    lanepool_i_note_acquire(&room->object);
    lanepool_i_note_acquire(&call->pool->notes.controls);
    if (lanepool_i_visits_of(cut)->is_counted)
        lanepool_i_note_acquire(&room->visits);
    acquire_claim(call->pool, lane, mode);
    call->code = lanepool_i_visitor_call(visitor, call->run);
    release_claim(call->pool, lane, mode);
    lanepool_i_note_release(&room->visits);
    lanepool_i_note_release(&call->pool->notes.ends);
    note_used_worker(call->run);
}

static size_t fibers_of_a_worker(const lanepool_pool *pool)
{
    size_t count = FIBERS_IN_ALL / pool->options.workers;
    if (count < FIBERS_AT_LEAST)
        return FIBERS_AT_LEAST;
    return count < FIBERS_OF_A_WORKER ? count : FIBERS_OF_A_WORKER;
}

static lanepool_i_fiber *take_free_fiber(fiber_ring *ring)
{
    if (ring->count == 0)
        return NULL;
    lanepool_i_fiber *fiber = ring->free[ring->first];
    ring->first = (ring->first + 1) % FIBERS_OF_A_WORKER;
    ring->count--;
    return fiber;
}

/* Returns NULL if all are taken, by waits inside tasks, and no more can be made. */
static lanepool_i_fiber *take_fiber(const lanepool_pool *pool, fiber_ring *ring)
{
    lanepool_i_fiber *fiber = NULL;
    if (ring->made < fibers_of_a_worker(pool))
        fiber = lanepool_i_fiber_create(ring->mother, pool->options.worker_stack_size);
    ring->made += fiber != NULL;
    return fiber != NULL ? fiber : take_free_fiber(ring);
}

static void give_fiber(fiber_ring *ring, lanepool_i_fiber *fiber)
{
    ring->free[(ring->first + ring->count) % FIBERS_OF_A_WORKER] = fiber;
    ring->count++;
}

/* A task that its submitter or a pump runs has an order with what else that thread does. A
 * sequence's work is no task of the program: the sequence makes notes of its own. */
static bool needs_fiber(const lanepool_run *run, const lanepool_i_task *task)
{
    return run->worker != SIZE_MAX && task->function != lanepool_i_run_work &&
           (load_relaxed(&task->word) & LANEPOOL_I_BY_CALLER) == 0;
}

/* Without a fiber, the task is part of the one that waits. */
static int call_on_fiber(checked_call *call, void (*make)(void *argument))
{
    lanepool_pool *pool = call->pool;
    fiber_ring *ring =
        needs_fiber(call->run, call->task) ? &pool->accesses->rings[call->run->worker] : NULL;
    lanepool_i_fiber *fiber = ring != NULL ? take_fiber(pool, ring) : NULL;
    if (fiber == NULL) {
        make(call);
        return call->code;
    }
    lanepool_i_fiber_call(fiber, make, call);
    give_fiber(ring, fiber);
    return call->code;
}

static int call_checked(lanepool_pool *pool, lanepool_run *run, lanepool_i_task *task)
{
    checked_call call = { pool, run, task, 0 };
    return call_on_fiber(&call, make_call);
}

static int visit_checked(lanepool_pool *pool, lanepool_run *run, lanepool_i_visitor *visitor)
{
    checked_call call = { pool, run, &visitor->block, 0 };
    return call_on_fiber(&call, visit_in_fiber);
}

/* --- beginning and end --- */

static void destroy_fibers(fiber_ring *ring)
{
    lanepool_i_fiber *fiber;
    while ((fiber = take_free_fiber(ring)) != NULL)
        lanepool_i_fiber_destroy(fiber);
    if (ring->mother != NULL)
        lanepool_i_fiber_destroy(ring->mother);
}

bool lanepool_i_accesses_init(lanepool_pool *pool)
{
    size_t size = sizeof(lanepool_i_accesses) + pool->options.workers * sizeof(fiber_ring);
    if (!wants_check(&pool->options))
        return true;
    pool->accesses = lanepool_i_memory_alloc(size);
    if (pool->accesses == NULL)
        return false;
    memset(pool->accesses, 0, size);
    for (size_t i = 0; i < pool->options.workers; i++) {
        pool->accesses->rings[i].mother = lanepool_i_fiber_create(NULL, 0);
        if (pool->accesses->rings[i].mother == NULL) {
            lanepool_i_accesses_fini(pool);
            return false;
        }
    }
    return true;
}

void lanepool_i_accesses_fini(lanepool_pool *pool)
{
    if (pool->accesses == NULL)
        return;
    for (size_t i = 0; i < pool->options.workers; i++)
        destroy_fibers(&pool->accesses->rings[i]);
    lanepool_i_memory_free(pool->accesses);
    pool->accesses = NULL;
}

static void begin_worker(lanepool_pool *pool)
{
    (void)pool;
    lanepool_i_fibers_share_thread_locals();
}

const char *lanepool_check_accesses_missing(void)
{
    return lanepool_i_fibers_missing();
}

const lanepool_i_feature lanepool_i_feature_accesses = {
    .is_wanted = wants_check,
    .offer = LANEPOOL_I_ACCESS_CHECKS,
    .all_wide = true,
    .room_size = sizeof(access_room),
    .init_room = init_room,
    .build = note_submit,
    .begin_worker = begin_worker,
    .call = call_checked,
    .call_at_lane = visit_checked,
    .release_early = note_early_release,
    .end_call = note_end_of_record,
    .reported = note_end,
    .hand_over = note_hand_over,
};
