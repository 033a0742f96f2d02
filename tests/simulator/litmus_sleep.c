/*
 * Litmus programs of the sleeping workers alone: publishers count work up and wake, workers count
 * it down and sleep. Each follows the steps of worker.c. If a wake-up is lost, all threads wait.
 */
#include "sched/sleep.h"
#include "simulator/litmus.h"
#include "simulator/simulator.h"

enum { WORKERS_MAX = 2, STARTS_MAX = 12, IDLE_NS = 3 };

static struct {
    lanepool_i_sleepers sleepers;
    _Atomic uint32_t work;    /* published and not taken yet */
    _Atomic uint32_t done;    /* all work was taken */
    _Atomic uint32_t refused; /* a thread was refused, and none was tried since */
    uint32_t workers;
    uint32_t resident;
    uint32_t each; /* work of each publisher */
    bool meets;    /* the first work ends when the second one runs */
    lanepool_i_semaphore met;
    uint32_t refuse_at; /* the number of the start that is refused, from 1; or 0 */
    atomic_uint left;
    atomic_uint starts;
    lanepool_i_thread threads[STARTS_MAX];
    uint32_t indexes[STARTS_MAX];
    uint32_t owned[WORKERS_MAX]; /* written by the worker's thread, one after the other */
} all;

static bool is_work_left(void)
{
    return load_seq(&all.done) != 0 || load_seq(&all.work) != 0;
}

static bool take_work(void)
{
    uint32_t seen = load_acquire(&all.work);

    while (seen != 0)
        if (cas_acq_rel(&all.work, &seen, seen - 1))
            return true;
    return false;
}

static void run_work(void)
{
    uint32_t left = atomic_fetch_sub_explicit(&all.left, 1, memory_order_relaxed);

    if (left != 1) {
        if (all.meets)
            lanepool_i_semaphore_wait(&all.met);
        return;
    }
    if (all.meets)
        lanepool_i_semaphore_post(&all.met);
    store_seq(&all.done, 1);
    lanepool_i_sleepers_wake_all(&all.sleepers);
}

static void end_search(void)
{
    if (lanepool_i_sleepers_end_search(&all.sleepers) && is_work_left())
        lanepool_i_sleepers_wake(&all.sleepers);
}

static void retry_threads(void)
{
    uint32_t refused = 1;

    if (load_relaxed(&all.refused) == 0 || !cas_seq(&all.refused, &refused, 0))
        return;
    lanepool_i_sleepers_retry_threads(&all.sleepers);
    if (is_work_left())
        lanepool_i_sleepers_wake(&all.sleepers);
}

/* Returns false if the worker is gone; another thread may run it by now. */
static bool sleep_or_leave(uint32_t worker)
{
    if (worker < all.resident) {
        lanepool_i_sleepers_sleep(&all.sleepers, worker);
        return true;
    }
    if (lanepool_i_sleepers_sleep_or_leave(&all.sleepers, worker, sim_now() + IDLE_NS))
        return true;
    all.owned[worker]++;
    lanepool_i_sleepers_set_absent(&all.sleepers, worker);
    if (load_seq(&all.done) != 0 || !is_work_left() ||
        !lanepool_i_sleepers_take_back(&all.sleepers, worker))
        return false;
    all.owned[worker]++;
    lanepool_i_sleepers_start_search(&all.sleepers);
    return true;
}

static void work(uint32_t worker, bool searching)
{
    all.owned[worker]++;
    while (load_acquire(&all.done) == 0) {
        retry_threads();
        if (take_work()) {
            if (searching)
                end_search();
            searching = false;
            run_work();
            continue;
        }
        if (!searching) {
            searching = true;
            lanepool_i_sleepers_start_search(&all.sleepers);
            continue;
        }
        lanepool_i_sleepers_prepare(&all.sleepers, worker);
        if (is_work_left())
            lanepool_i_sleepers_stay_awake(&all.sleepers, worker);
        else if (!sleep_or_leave(worker))
            return;
    }
    if (searching)
        lanepool_i_sleepers_end_search(&all.sleepers);
}

static void *run_absent(void *argument)
{
    lanepool_i_sleepers_start_search(&all.sleepers);
    work(*(uint32_t *)argument, true);
    return NULL;
}

/* The thread that has claimed the worker starts it. */
static void start(void *owner, size_t index)
{
    (void)owner;
    uint32_t number = atomic_fetch_add_explicit(&all.starts, 1, memory_order_relaxed);

    if (number + 1 != all.refuse_at && number < STARTS_MAX) {
        all.indexes[number] = (uint32_t)index;
        if (!lanepool_i_thread_start(&all.threads[number], 0, run_absent, &all.indexes[number]))
            sim_fail("no thread");
        return;
    }
    lanepool_i_sleepers_thread_failed(&all.sleepers, index);
    store_seq(&all.refused, 1);
}

static void work_or_publish(uint32_t thread)
{
    if (thread < all.resident) {
        work(thread, false);
        return;
    }
    for (uint32_t i = 0; i < all.each; i++) {
        if (all.resident < all.workers)
            sim_sleep(IDLE_NS * (i + thread % 2)); /* when a worker is about to leave */
        fetch_add_seq(&all.work, 1);
        lanepool_i_sleepers_wake(&all.sleepers);
    }
}

static void play(uint32_t workers, uint32_t resident, uint32_t publishers, uint32_t each,
                 uint32_t refuse_at, bool meets)
{
    all.workers = workers;
    all.resident = resident;
    all.each = each;
    all.refuse_at = refuse_at;
    all.meets = meets;
    atomic_init(&all.work, 0);
    atomic_init(&all.done, 0);
    atomic_init(&all.refused, 0);
    atomic_init(&all.left, publishers * each);
    atomic_init(&all.starts, 0);
    for (uint32_t i = 0; i < WORKERS_MAX; i++)
        all.owned[i] = 0;
    if (!lanepool_i_semaphore_init(&all.met) ||
        !lanepool_i_sleepers_init(&all.sleepers, workers, resident, start, NULL))
        sim_fail("no sleepers");
    litmus_threads(resident + publishers, work_or_publish);
    for (uint32_t i = 0; i < atomic_load(&all.starts) && i < STARTS_MAX; i++)
        if (i + 1 != refuse_at)
            lanepool_i_thread_join(&all.threads[i]);
    if (atomic_load(&all.left) != 0)
        sim_fail("no thread has taken the last work");
    lanepool_i_sleepers_fini(&all.sleepers);
    lanepool_i_semaphore_fini(&all.met);
}

LITMUS(sleep_one)
{
    (void)unused;
    play(1, 1, 1, 2, 0, false);
}

LITMUS(sleep_two)
{
    (void)unused;
    play(2, 2, 1, 3, 0, false);
}

LITMUS(sleep_meet)
{
    (void)unused;
    play(2, 2, 1, 2, 0, true);
}

LITMUS(sleep_publishers)
{
    (void)unused;
    play(2, 2, 2, 2, 0, false);
}

LITMUS(sleep_absent)
{
    (void)unused;
    play(2, 1, 2, 2, 0, false);
}

LITMUS(sleep_all_absent)
{
    (void)unused;
    play(1, 0, 2, 2, 0, false);
}

LITMUS(sleep_refused)
{
    (void)unused;
    play(2, 1, 2, 2, 1, false);
}
