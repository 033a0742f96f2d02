/* Owns the sleepers and the word that counts them; sleep.h explains the protocol. */
#include "sched/sleep.h"

#include "base/planted.h"

#define ONE_SEARCHING ((uint64_t)1)
#define ONE_SLEEPING  ((uint64_t)1 << 32)

bool lanepool_i_sleepers_init(lanepool_i_sleepers *sleepers, size_t worker_count, size_t resident,
                              void (*start)(void *owner, size_t index), void *owner)
{
    atomic_init(&sleepers->word, (worker_count - resident) * ONE_SLEEPING);
    atomic_init(&sleepers->has_long_searcher, false);
    sleepers->resident = resident;
    sleepers->start = start;
    sleepers->owner = owner;
    sleepers->sleeper_count = 0;
    sleepers->all = lanepool_i_memory_alloc(worker_count * sizeof *sleepers->all);
    if (sleepers->all == NULL)
        return false;
    for (size_t i = 0; i < worker_count; i++) {
        lanepool_i_sleeper *sleeper = &sleepers->all[i];
        atomic_init(&sleeper->flag, i < resident ? LANEPOOL_I_AWAKE : LANEPOOL_I_ABSENT);
        atomic_init(&sleeper->wake_ups, 0);
        if (!lanepool_i_semaphore_init(&sleeper->semaphore)) {
            lanepool_i_sleepers_fini(sleepers);
            return false;
        }
        sleepers->sleeper_count++;
    }
    return true;
}

void lanepool_i_sleepers_fini(lanepool_i_sleepers *sleepers)
{
    for (size_t i = 0; i < sleepers->sleeper_count; i++)
        lanepool_i_semaphore_fini(&sleepers->all[i].semaphore);
    lanepool_i_memory_free(sleepers->all);
}

/*
 * Orders. These are in the total order (see sleep.h): a worker begins to sleep, a worker ends its
 * search, a waker reads the flag or the word. The step that makes a worker awake again need not be.
 * No other thread relies on a check after that step. A waker that still sees the worker asleep
 * tries to claim it, and the swap fails, since a swap gets the newest value. A waker that does not
 * see the worker search wakes one worker more.
 */

/* Claims the worker if its flag is `wanted`; it then counts as `counts_as`. The swap expects this
 * exact value, since the flag may change from ASLEEP to ABSENT, or back, at any moment. Acquire:
 * the absent worker's last thread happens before its next one. */
static bool claim_worker(lanepool_i_sleepers *sleepers, size_t index, uint32_t wanted,
                         uint64_t counts_as)
{
    lanepool_i_sleeper *sleeper = &sleepers->all[index];
    uint32_t flag = load_seq(&sleeper->flag);
    if (flag != wanted || !cas_acquire(&sleeper->flag, &flag, LANEPOOL_I_AWAKE))
        return false;
    fetch_add_relaxed(&sleepers->word, counts_as - ONE_SLEEPING);
    return true;
}

static bool try_wake(lanepool_i_sleepers *sleepers, size_t index)
{
    if (!claim_worker(sleepers, index, LANEPOOL_I_ASLEEP, ONE_SEARCHING))
        return false;
    lanepool_i_semaphore_post(&sleepers->all[index].semaphore);
    return true;
}

static bool try_start(lanepool_i_sleepers *sleepers, size_t index)
{
    if (!claim_worker(sleepers, index, LANEPOOL_I_ABSENT, 0))
        return false;
    sleepers->start(sleepers->owner, index);
    return true;
}

/* A worker may change from asleep to absent, or back, after this thread has read its flag. Then it
 * was awake in between, and its last check follows the publication. */
void lanepool_i_sleepers_wake_slowly(lanepool_i_sleepers *sleepers)
{
    for (size_t i = 0; i < sleepers->sleeper_count; i++)
        if (try_wake(sleepers, i))
            return;
    for (size_t i = sleepers->resident; i < sleepers->sleeper_count; i++)
        if (try_start(sleepers, i))
            return;
}

void lanepool_i_sleepers_wake_one(lanepool_i_sleepers *sleepers, size_t index)
{
    try_wake(sleepers, index);
}

void lanepool_i_sleepers_wake_all(lanepool_i_sleepers *sleepers)
{
    for (size_t i = 0; i < sleepers->sleeper_count; i++)
        try_wake(sleepers, i);
}

void lanepool_i_sleepers_start_search(lanepool_i_sleepers *sleepers)
{
    fetch_add_relaxed(&sleepers->word, ONE_SEARCHING);
}

bool lanepool_i_sleepers_end_search(lanepool_i_sleepers *sleepers)
{
    return lanepool_i_sleepers_searching(fetch_sub_seq(&sleepers->word, ONE_SEARCHING)) == 1;
}

void lanepool_i_sleepers_prepare(lanepool_i_sleepers *sleepers, size_t index)
{
    fetch_add_seq(&sleepers->word, ONE_SLEEPING - ONE_SEARCHING);
    if (PLANTED(WEAK_SLEEP_FLAG))
        store_release(&sleepers->all[index].flag, LANEPOOL_I_ASLEEP);
    else
        exchange_seq(&sleepers->all[index].flag, LANEPOOL_I_ASLEEP);
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

void lanepool_i_sleepers_sleep(lanepool_i_sleepers *sleepers, size_t index)
{
    wait_for_post(&sleepers->all[index]);
}

bool lanepool_i_sleepers_sleep_until(lanepool_i_sleepers *sleepers, size_t index,
                                     uint64_t deadline_ns)
{
    lanepool_i_sleeper *sleeper = &sleepers->all[index];
    bool woken = lanepool_i_semaphore_wait_until(&sleeper->semaphore, deadline_ns);
    if (woken)
        count_wake_up(sleeper);
    return woken;
}

/* The thread that took the flag updates the counts. If a waker took it, its post will follow. */
void lanepool_i_sleepers_stay_awake(lanepool_i_sleepers *sleepers, size_t index)
{
    lanepool_i_sleeper *sleeper = &sleepers->all[index];
    if (exchange_relaxed(&sleeper->flag, LANEPOOL_I_AWAKE) != LANEPOOL_I_AWAKE)
        fetch_add_relaxed(&sleepers->word, ONE_SEARCHING - ONE_SLEEPING);
    else
        wait_for_post(sleeper);
}

/* --- leaving and returning --- */

bool lanepool_i_sleepers_sleep_or_leave(lanepool_i_sleepers *sleepers, size_t index,
                                        uint64_t deadline_ns)
{
    lanepool_i_sleeper *sleeper = &sleepers->all[index];
    uint32_t asleep = LANEPOOL_I_ASLEEP;
    bool woken = lanepool_i_semaphore_wait_until(&sleeper->semaphore, deadline_ns);
    if (!woken && cas_relaxed(&sleeper->flag, &asleep, LANEPOOL_I_AWAKE)) {
        fetch_sub_relaxed(&sleepers->word, ONE_SLEEPING);
        return false;
    }
    if (!woken)
        lanepool_i_semaphore_wait(&sleeper->semaphore);
    count_wake_up(sleeper);
    return true;
}

/* Same order as lanepool_i_sleepers_prepare(): the count first, then the flag. */
void lanepool_i_sleepers_set_absent(lanepool_i_sleepers *sleepers, size_t index)
{
    fetch_add_seq(&sleepers->word, ONE_SLEEPING);
    exchange_seq(&sleepers->all[index].flag, LANEPOOL_I_ABSENT);
}

bool lanepool_i_sleepers_take_back(lanepool_i_sleepers *sleepers, size_t index)
{
    return claim_worker(sleepers, index, LANEPOOL_I_ABSENT, 0);
}

void lanepool_i_sleepers_thread_failed(lanepool_i_sleepers *sleepers, size_t index)
{
    exchange_seq(&sleepers->all[index].flag, LANEPOOL_I_UNSTARTABLE);
    for (size_t i = sleepers->resident; i < sleepers->sleeper_count; i++)
        if (claim_worker(sleepers, i, LANEPOOL_I_ABSENT, 0))
            exchange_seq(&sleepers->all[i].flag, LANEPOOL_I_UNSTARTABLE);
}

void lanepool_i_sleepers_retry_threads(lanepool_i_sleepers *sleepers)
{
    for (size_t i = sleepers->resident; i < sleepers->sleeper_count; i++) {
        uint32_t unstartable = LANEPOOL_I_UNSTARTABLE;
        if (cas_relaxed(&sleepers->all[i].flag, &unstartable, LANEPOOL_I_AWAKE))
            lanepool_i_sleepers_set_absent(sleepers, i);
    }
}
