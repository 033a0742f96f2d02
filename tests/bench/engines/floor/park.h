/* Sleeping and waking. One word counts the workers that search and those that sleep. While one
 * searches, no worker is woken. A waker turns one sleeper into a searcher in the word; then it
 * claims the flag of a sleeper. */
#ifndef FLOOR_PARK_H
#define FLOOR_PARK_H

#include <semaphore.h>
#include <stdalign.h>

#include "floor/spin.h"

#define FLOOR_WORKERS_MAX 64
#define FLOOR_SEARCHING   1u
#define FLOOR_SLEEPING    0x10000u

struct floor_sleeper {
    alignas(128) atomic_bool sleeps;
    sem_t semaphore;
};

struct floor_park {
    /* Searching workers in the lower half, sleeping ones in the upper half. */
    alignas(128) atomic_uint counts;
    struct floor_sleeper sleepers[FLOOR_WORKERS_MAX];
    unsigned sleeper_count;
};

static inline void floor_park_init(struct floor_park *park, unsigned workers)
{
    park->sleeper_count = workers;
    for (unsigned i = 0; i < workers; i++)
        bench_require(sem_init(&park->sleepers[i].semaphore, 0, 0) == 0, "a semaphore");
}

static inline bool floor_park_wants_waking(unsigned counts)
{
    return counts % FLOOR_SLEEPING == 0 && counts >= FLOOR_SLEEPING;
}

/* Claims a sleeper's flag, so that no other thread wakes it. Returns true if it was set. */
static inline bool floor_park_claim(struct floor_sleeper *sleeper)
{
    return atomic_load_explicit(&sleeper->sleeps, memory_order_relaxed) &&
           atomic_exchange(&sleeper->sleeps, false);
}

/* Wakes one of the sleepers. There is one, or will be soon. */
static inline void floor_park_wake_any(struct floor_park *park)
{
    for (unsigned i = 0, spins = 0;; i = (i + 1) % park->sleeper_count) {
        if (floor_park_claim(&park->sleepers[i])) {
            sem_post(&park->sleepers[i].semaphore);
            return;
        }
        floor_spin(&spins);
    }
}

static inline void floor_park_wake(struct floor_park *park)
{
    unsigned counts = atomic_load_explicit(&park->counts, memory_order_relaxed);
    if (__builtin_expect(!floor_park_wants_waking(counts), 1))
        return;
    counts = atomic_load(&park->counts);
    while (floor_park_wants_waking(counts))
        if (atomic_compare_exchange_weak(&park->counts, &counts,
                                         counts - FLOOR_SLEEPING + FLOOR_SEARCHING)) {
            floor_park_wake_any(park);
            return;
        }
}

static inline void floor_park_search(struct floor_park *park)
{
    atomic_fetch_add(&park->counts, FLOOR_SEARCHING);
}

static inline void floor_park_found(struct floor_park *park)
{
    atomic_fetch_sub(&park->counts, FLOOR_SEARCHING);
}

static inline void floor_park_wait(struct floor_sleeper *sleeper)
{
    while (sem_wait(&sleeper->semaphore) != 0) {
    }
}

/* Announces that this worker is about to sleep; it must check once more for work afterwards. */
static inline void floor_park_announce(struct floor_park *park, struct floor_sleeper *sleeper)
{
    atomic_store(&sleeper->sleeps, true);
    atomic_fetch_add(&park->counts, FLOOR_SLEEPING - FLOOR_SEARCHING);
}

/* Returns to searching, because there was work. A waker may have chosen this worker in the
 * meantime. */
static inline void floor_park_return(struct floor_park *park, struct floor_sleeper *sleeper)
{
    unsigned counts = atomic_load(&park->counts);
    bool has_returned = false;
    while (!has_returned && counts >= FLOOR_SLEEPING)
        has_returned = atomic_compare_exchange_weak(&park->counts, &counts,
                                                    counts - FLOOR_SLEEPING + FLOOR_SEARCHING);
    if (has_returned && atomic_exchange(&sleeper->sleeps, false))
        return;
    floor_park_wait(sleeper);
    if (has_returned) /* the waker has counted another searcher: wake one */
        floor_park_wake_any(park);
}

#endif
