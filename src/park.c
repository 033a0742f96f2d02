/* Owns the sleepers and the word that counts them; the protocol is in park.h. */
#include "park.h"

#include "planted.h"

#define ONE_SEARCHING ((uint64_t)1)
#define ONE_SLEEPING  ((uint64_t)1 << 32)

bool lanepool_i_park_init(lanepool_i_park *park, size_t worker_count)
{
    atomic_init(&park->word, 0);
    park->sleeper_count = 0;
    park->sleepers = lanepool_i_memory_alloc(worker_count * sizeof *park->sleepers);
    if (park->sleepers == NULL)
        return false;
    for (size_t i = 0; i < worker_count; i++) {
        lanepool_i_sleeper *sleeper = &park->sleepers[i];
        atomic_init(&sleeper->asleep, 0);
        atomic_init(&sleeper->wake_ups, 0);
        if (!lanepool_i_semaphore_init(&sleeper->semaphore)) {
            lanepool_i_park_fini(park);
            return false;
        }
        park->sleeper_count++;
    }
    return true;
}

void lanepool_i_park_fini(lanepool_i_park *park)
{
    for (size_t i = 0; i < park->sleeper_count; i++)
        lanepool_i_semaphore_fini(&park->sleepers[i].semaphore);
    lanepool_i_memory_free(park->sleepers);
}

static bool try_wake(lanepool_i_park *park, size_t index)
{
    lanepool_i_sleeper *sleeper = &park->sleepers[index];
    if (load_seq(&sleeper->asleep) == 0 || exchange_seq(&sleeper->asleep, 0) == 0)
        return false;
    fetch_add_seq(&park->word, ONE_SEARCHING - ONE_SLEEPING);
    lanepool_i_semaphore_post(&sleeper->semaphore);
    return true;
}

void lanepool_i_park_wake_slowly(lanepool_i_park *park)
{
    for (size_t i = 0; i < park->sleeper_count; i++)
        if (try_wake(park, i))
            return;
}

void lanepool_i_park_wake_one(lanepool_i_park *park, size_t index)
{
    try_wake(park, index);
}

void lanepool_i_park_wake_all(lanepool_i_park *park)
{
    for (size_t i = 0; i < park->sleeper_count; i++)
        try_wake(park, i);
}

void lanepool_i_park_start_search(lanepool_i_park *park)
{
    fetch_add_seq(&park->word, ONE_SEARCHING);
}

bool lanepool_i_park_end_search(lanepool_i_park *park)
{
    return lanepool_i_park_searching(fetch_sub_seq(&park->word, ONE_SEARCHING)) == 1;
}

void lanepool_i_park_lie_down(lanepool_i_park *park, size_t index)
{
    fetch_add_seq(&park->word, ONE_SLEEPING - ONE_SEARCHING);
    if (PLANTED(WEAK_SLEEP_FLAG))
        store_release(&park->sleepers[index].asleep, 1);
    else
        exchange_seq(&park->sleepers[index].asleep, 1);
}

static void wait_for_post(lanepool_i_sleeper *sleeper)
{
    lanepool_i_semaphore_wait(&sleeper->semaphore);
    store_relaxed(&sleeper->wake_ups, load_relaxed(&sleeper->wake_ups) + 1);
}

void lanepool_i_park_sleep(lanepool_i_park *park, size_t index)
{
    wait_for_post(&park->sleepers[index]);
}

/* Whoever takes the flag moves the counts; if a waker did, its post is on the way. */
void lanepool_i_park_stay(lanepool_i_park *park, size_t index)
{
    lanepool_i_sleeper *sleeper = &park->sleepers[index];
    if (exchange_seq(&sleeper->asleep, 0) != 0)
        fetch_add_seq(&park->word, ONE_SEARCHING - ONE_SLEEPING);
    else
        wait_for_post(sleeper);
}
