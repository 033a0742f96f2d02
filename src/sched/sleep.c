/* Owns the sleepers and the word that counts them; the protocol is in sleep.h. */
#include "sched/sleep.h"

#include "base/planted.h"

#define ONE_SEARCHING ((uint64_t)1)
#define ONE_SLEEPING  ((uint64_t)1 << 32)

bool lanepool_i_park_init(lanepool_i_park *park, size_t worker_count, size_t resident,
                          void (*start)(void *owner, size_t index), void *owner)
{
    atomic_init(&park->word, (worker_count - resident) * ONE_SLEEPING);
    park->resident = resident;
    park->start = start;
    park->owner = owner;
    park->sleeper_count = 0;
    park->sleepers = lanepool_i_memory_alloc(worker_count * sizeof *park->sleepers);
    if (park->sleepers == NULL)
        return false;
    for (size_t i = 0; i < worker_count; i++) {
        lanepool_i_sleeper *sleeper = &park->sleepers[i];
        atomic_init(&sleeper->flag, i < resident ? LANEPOOL_I_AWAKE : LANEPOOL_I_ABSENT);
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

/* A worker that sleeps may become absent, and one that is absent may come, at any moment. */
static bool claim(lanepool_i_park *park, size_t index, uint32_t wanted, uint64_t now_counts)
{
    lanepool_i_sleeper *sleeper = &park->sleepers[index];
    uint32_t flag = load_seq(&sleeper->flag);
    if (flag != wanted || !cas_seq(&sleeper->flag, &flag, LANEPOOL_I_AWAKE))
        return false;
    fetch_add_seq(&park->word, now_counts - ONE_SLEEPING);
    return true;
}

static bool try_wake(lanepool_i_park *park, size_t index)
{
    if (!claim(park, index, LANEPOOL_I_ASLEEP, ONE_SEARCHING))
        return false;
    lanepool_i_semaphore_post(&park->sleepers[index].semaphore);
    return true;
}

static bool try_start(lanepool_i_park *park, size_t index)
{
    if (!claim(park, index, LANEPOOL_I_ABSENT, 0))
        return false;
    park->start(park->owner, index);
    return true;
}

/* A worker that passes from one of these states to the other behind this thread's look was awake in
 * between, and its last look comes after the publication. */
void lanepool_i_park_wake_slowly(lanepool_i_park *park)
{
    for (size_t i = 0; i < park->sleeper_count; i++)
        if (try_wake(park, i))
            return;
    for (size_t i = park->resident; i < park->sleeper_count; i++)
        if (try_start(park, i))
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
        store_release(&park->sleepers[index].flag, LANEPOOL_I_ASLEEP);
    else
        exchange_seq(&park->sleepers[index].flag, LANEPOOL_I_ASLEEP);
}

static void count_wake_up(lanepool_i_sleeper *sleeper)
{
    store_relaxed(&sleeper->wake_ups, load_relaxed(&sleeper->wake_ups) + 1);
}

static void wait_for_post(lanepool_i_sleeper *sleeper)
{
    lanepool_i_semaphore_wait(&sleeper->semaphore);
    count_wake_up(sleeper);
}

void lanepool_i_park_sleep(lanepool_i_park *park, size_t index)
{
    wait_for_post(&park->sleepers[index]);
}

/* Whoever takes the flag moves the counts; if a waker did, its post is on the way. */
void lanepool_i_park_stay(lanepool_i_park *park, size_t index)
{
    lanepool_i_sleeper *sleeper = &park->sleepers[index];
    if (exchange_seq(&sleeper->flag, LANEPOOL_I_AWAKE) != LANEPOOL_I_AWAKE)
        fetch_add_seq(&park->word, ONE_SEARCHING - ONE_SLEEPING);
    else
        wait_for_post(sleeper);
}

/* --- coming and going --- */

bool lanepool_i_park_sleep_or_leave(lanepool_i_park *park, size_t index, uint64_t deadline_ns)
{
    lanepool_i_sleeper *sleeper = &park->sleepers[index];
    uint32_t asleep = LANEPOOL_I_ASLEEP;
    bool woken = lanepool_i_semaphore_wait_until(&sleeper->semaphore, deadline_ns);
    if (!woken && cas_seq(&sleeper->flag, &asleep, LANEPOOL_I_AWAKE)) {
        fetch_sub_seq(&park->word, ONE_SLEEPING);
        return false;
    }
    if (!woken)
        lanepool_i_semaphore_wait(&sleeper->semaphore);
    count_wake_up(sleeper);
    return true;
}

/* As who lies down: the count first, then the flag. */
void lanepool_i_park_be_absent(lanepool_i_park *park, size_t index)
{
    fetch_add_seq(&park->word, ONE_SLEEPING);
    exchange_seq(&park->sleepers[index].flag, LANEPOOL_I_ABSENT);
}

bool lanepool_i_park_come_back(lanepool_i_park *park, size_t index)
{
    return claim(park, index, LANEPOOL_I_ABSENT, 0);
}

void lanepool_i_park_lack(lanepool_i_park *park, size_t index)
{
    exchange_seq(&park->sleepers[index].flag, LANEPOOL_I_LACKING);
    for (size_t i = park->resident; i < park->sleeper_count; i++)
        if (claim(park, i, LANEPOOL_I_ABSENT, 0))
            exchange_seq(&park->sleepers[i].flag, LANEPOOL_I_LACKING);
}

void lanepool_i_park_allow(lanepool_i_park *park)
{
    for (size_t i = park->resident; i < park->sleeper_count; i++) {
        uint32_t lacking = LANEPOOL_I_LACKING;
        if (cas_seq(&park->sleepers[i].flag, &lacking, LANEPOOL_I_AWAKE))
            lanepool_i_park_be_absent(park, i);
    }
}
