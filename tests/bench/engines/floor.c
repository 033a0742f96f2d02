/*
 * The cost of the fastest engine that we know: a lower bound to compare the library with. It has
 * the library's inbox, role and lanes, but no shared claims, futures, limits or reclaim. Its index
 * does not grow, and it spins where a library must not. It is not meant for use.
 *
 * Submitters append to one inbox. A worker that gets the role routes tasks to lanes, in order.
 * Tasks at the head of all their lanes are ready. A worker that finishes a task runs the next one
 * of its lane.
 */
#include <pthread.h>

#include "engine.h"
#include "floor/blocks.h"
#include "floor/inbox.h"
#include "floor/park.h"
#include "floor/ready.h"
#include "floor/task.h"

#define ROUTED_MAX    64 /* tasks that a worker routes at a time */
#define QUANTUM       64 /* tasks that run in a row, or in one chain, before the inbox is checked */
#define SEARCHES_MAX  24
#define SEARCHES_SOON 6 /* searches before a worker yields between two searches */
#define PAUSES_MAX    32

struct worker {
    struct floor_ready ready;
    alignas(128) struct floor_chain free_blocks;
    unsigned index;
    pthread_t thread;
};

static struct worker workers[FLOOR_WORKERS_MAX];
static unsigned worker_count;
static struct floor_park park;
static struct floor_blocks blocks;
static struct floor_inbox inbox;
static struct floor_index lane_index;
static alignas(128) atomic_bool is_stopping;

/* The tasks that were taken from the inbox and are not routed yet. Changed by the role's holder. */
static alignas(128) atomic_bool role;
static _Atomic(struct floor_task *) rest;
static struct floor_task *rest_last;

static _Thread_local struct floor_task *my_blocks;

static bool has_tasks_to_route(void)
{
    return atomic_load_explicit(&rest, memory_order_relaxed) != NULL || floor_inbox_has(&inbox);
}

static bool has_work(void)
{
    if (has_tasks_to_route())
        return true;
    for (unsigned i = 0; i < worker_count; i++)
        if (floor_ready_count(&workers[i].ready) > 0)
            return true;
    return false;
}

/* Returns true if the entry is at the head of the lane at once. */
static inline bool append(struct floor_lane *lane, uintptr_t reference)
{
    atomic_store_explicit(&floor_entry_at(reference)->next, 0, memory_order_relaxed);
    if (atomic_load_explicit(&lane->last, memory_order_acquire) == 0) {
        atomic_store_explicit(&lane->last, reference, memory_order_release);
        return true;
    }
    uintptr_t before = atomic_exchange_explicit(&lane->last, reference, memory_order_acq_rel);
    if (before == 0)
        return true;
    atomic_store_explicit(&floor_entry_at(before)->next, reference, memory_order_release);
    return false;
}

static inline bool append_entry(struct floor_task *task, uint32_t index)
{
    uintptr_t reference = floor_reference(task, index);
    struct floor_entry *entry = floor_entry_at(reference);
    entry->of.lane = floor_index_find(&lane_index, entry->of.key);
    return append(entry->of.lane, reference);
}

/* Returns true if the task is ready. */
static inline bool route_one(struct floor_task *task)
{
    uint32_t count = task->entry_count;
    if (count == 1)
        return append_entry(task, 0);
    uint32_t turns = 0;
    /* One more, so that the task cannot become ready before all its entries are in their lanes. */
    atomic_store_explicit(&task->waits_for, count + 1, memory_order_relaxed);
    for (uint32_t i = 0; i < count; i++)
        turns += append_entry(task, i);
    return turns == count || atomic_fetch_sub_explicit(&task->waits_for, turns + 1,
                                                       memory_order_acq_rel) == turns + 1;
}

/* Routes some tasks. Returns the first ready one; the others go to the worker's queue. Needs the
 * role. */
static struct floor_task *route(struct worker *me, bool *has_more)
{
    struct floor_task *task = atomic_load_explicit(&rest, memory_order_relaxed);
    struct floor_task *first = NULL;
    struct floor_list ready = { NULL, NULL, 0 };
    if (task == NULL)
        task = floor_inbox_take(&inbox, &rest_last);
    for (int i = 0; i < ROUTED_MAX && task != NULL; i++) {
        floor_fetch_early(task);
        struct floor_task *next = task == rest_last ? NULL : floor_inbox_after(task);
        if (route_one(task)) {
            if (first == NULL)
                first = task;
            else
                floor_list_add(&ready, task);
        }
        task = next;
    }
    atomic_store_explicit(&rest, task, memory_order_relaxed);
    floor_ready_add(&me->ready, &ready);
    *has_more = ready.count > 0 || task != NULL;
    return first;
}

/* Returns the entry that is at the head after this one, or 0. */
static inline uintptr_t leave_lane(struct floor_entry *entry, uintptr_t reference)
{
    uintptr_t next = atomic_load_explicit(&entry->next, memory_order_acquire);
    uintptr_t last = reference;
    unsigned spins = 0;
    if (next != 0)
        return next;
    if (atomic_compare_exchange_strong_explicit(&entry->of.lane->last, &last, 0,
                                                memory_order_acq_rel, memory_order_acquire))
        return 0;
    while ((next = atomic_load_explicit(&entry->next, memory_order_acquire)) == 0)
        floor_spin(&spins);
    return next;
}

/* Counts an entry that has got to the head. Returns its task if that is ready now, or NULL. */
static inline struct floor_task *arrive(uintptr_t reference)
{
    struct floor_task *task = floor_task_of(reference);
    if (task->entry_count == 1 ||
        atomic_load_explicit(&task->waits_for, memory_order_acquire) == 1 ||
        atomic_fetch_sub_explicit(&task->waits_for, 1, memory_order_acq_rel) == 1)
        return task;
    return NULL;
}

/* Runs the task, then the next one in its lane, and so on for a while. */
static void run_chain(struct worker *me, struct floor_task *task)
{
    for (int length = 0; task != NULL; length++) {
        struct floor_task *follower = NULL;
        struct floor_list others = { NULL, NULL, 0 };
        bench_task_run(task->work);
        for (uint32_t i = 0; i < task->entry_count; i++) {
            uintptr_t reference = floor_reference(task, i);
            uintptr_t next = leave_lane(floor_entry_at(reference), reference);
            struct floor_task *ready = next != 0 ? arrive(next) : NULL;
            if (ready == NULL)
                continue;
            if (follower == NULL && length < QUANTUM)
                follower = ready;
            else
                floor_list_add(&others, ready);
        }
        floor_blocks_give(&blocks, &me->free_blocks, task);
        if (others.count > 0) {
            floor_ready_add(&me->ready, &others);
            atomic_thread_fence(memory_order_seq_cst);
            floor_park_wake(&park);
        }
        task = follower;
    }
}

static struct floor_task *take_from_others(struct worker *me, bool *has_more)
{
    for (unsigned i = 1; i < worker_count; i++) {
        struct worker *other = &workers[(me->index + i) % worker_count];
        struct floor_list taken = floor_ready_halve(&other->ready);
        if (taken.count == 0)
            continue;
        struct floor_task *first = taken.first;
        taken.first = atomic_load_explicit(&first->next, memory_order_relaxed);
        taken.count--;
        floor_ready_add(&me->ready, &taken);
        *has_more = taken.count > 0;
        return first;
    }
    return NULL;
}

static struct floor_task *find(struct worker *me, unsigned *quantum, bool *has_more)
{
    struct floor_task *task = NULL;
    if (++*quantum < QUANTUM && (task = floor_ready_pop(&me->ready)) != NULL) {
        *has_more = floor_ready_count(&me->ready) > 0;
        return task;
    }
    *quantum = 0;
    if (has_tasks_to_route() && floor_try_lock(&role)) {
        task = route(me, has_more);
        floor_unlock(&role);
    }
    if (task == NULL && (task = floor_ready_pop(&me->ready)) != NULL)
        *has_more = floor_ready_count(&me->ready) > 0;
    return task != NULL ? task : take_from_others(me, has_more);
}

/* Waits a little longer each time; from some search on, yields, too. */
static void pause_search(unsigned search)
{
    int pauses = search >= SEARCHES_SOON || 4 << search > PAUSES_MAX ? PAUSES_MAX : 4 << search;
    for (int i = 0; i < pauses; i++)
        floor_pause();
    if (search + 1 >= SEARCHES_SOON)
        sched_yield();
}

static void sleep_until_woken(struct worker *me)
{
    struct floor_sleeper *sleeper = &park.sleepers[me->index];
    floor_park_announce(&park, sleeper);
    if (has_work() || atomic_load(&is_stopping))
        floor_park_return(&park, sleeper);
    else
        floor_park_wait(sleeper);
}

static void *work(void *argument)
{
    struct worker *me = argument;
    unsigned quantum = 0, searches = 0;
    bool searches_now = true;
    floor_park_search(&park);
    for (;;) {
        bool has_more = false;
        struct floor_task *task = find(me, &quantum, &has_more);
        if (task != NULL) {
            if (searches_now) {
                floor_park_found(&park);
                has_more = has_work();
            }
            searches_now = false;
            if (has_more)
                floor_park_wake(&park);
            run_chain(me, task);
        } else if (!searches_now) {
            searches_now = true;
            searches = 0;
            floor_park_search(&park);
        } else if (searches < SEARCHES_MAX) {
            pause_search(searches++);
        } else if (atomic_load(&is_stopping)) {
            return NULL;
        } else {
            sleep_until_woken(me);
            searches = 0;
        }
    }
}

static void start(const struct bench_setup *setup)
{
    bench_require(setup->workers <= FLOOR_WORKERS_MAX, "so few workers");
    worker_count = setup->workers;
    floor_index_init(&lane_index, setup->key_count);
    floor_park_init(&park, worker_count);
    for (unsigned i = 0; i < worker_count; i++) {
        workers[i].index = i;
        bench_require(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "a worker");
    }
}

static void submit(const struct bench_task *work_task)
{
    uint32_t count = bench_task_lanes(work_task);
    struct floor_task *task = floor_blocks_take(&blocks, &my_blocks, count);
    task->work = work_task;
    task->entry_count = count;
    for (uint32_t i = 0; i < count; i++) {
        uintptr_t reference = floor_reference(task, i);
        floor_entry_at(reference)->of.key = floor_wide_key(bench_task_key(work_task, i));
        if ((reference & 1) != 0)
            ((struct floor_large_task *)task)->entries[i].task = task;
    }
    if (floor_inbox_push(&inbox, task))
        floor_park_wake(&park);
}

static void stop(void)
{
    atomic_store(&is_stopping, true);
    for (unsigned i = 0; i < worker_count; i++)
        if (floor_park_claim(&park.sleepers[i]))
            sem_post(&park.sleepers[i].semaphore);
    for (unsigned i = 0; i < worker_count; i++)
        pthread_join(workers[i].thread, NULL);
}

const struct bench_hooks bench_engine = {
    .name = "floor",
    .features = BENCH_SEVERAL_KEYS | BENCH_GATES | BENCH_SEVERAL_SUBMITTERS,
    .start = start,
    .submit = submit,
    .stop = stop,
};
