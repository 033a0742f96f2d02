/*
 * Sleeping and waking of workers.
 *
 * The word: sleeping (32) | searching (32). A worker is busy, searching, or sleeping with its flag
 * set.
 *
 * The wake rule, for a thread that has published work. If no worker searches and one sleeps, the
 * thread claims a sleeper: it swaps the sleeper's flag to AWAKE and posts its semaphore. The
 * claimed worker counts as searching from then on.
 *
 * A searcher that has found a task stops searching. If it was the last searcher and more work is
 * left, it wakes another worker by the same rule.
 *
 * A searcher that has found nothing stops searching, counts as sleeping, and sets its flag. Then it
 * checks everywhere for work once more, and waits on its semaphore unless there is some.
 *
 * Why no work is lost. Four steps are in the total order of seq_cst operations: a publication of
 * work, the waker's reads of the word and the flags, the setting of a flag, and the sleeper's last
 * check. If the waker saw a searcher, the last searcher to stop checks for work after it has
 * stopped. If the waker saw no sleeper, or found no flag set, then each worker sets its flag later,
 * and its last check follows the publication.
 *
 * One searcher at a time may search for long. Whether it does decides nothing here: it counts as
 * searching until it stops, like any other.
 *
 * A worker that naps counts as busy: it neither searches nor sleeps, and no thread wakes it. The
 * clock ends its nap. Then it counts as searching, and only then it looks for work.
 *
 * Why a nap loses no work. A thread that saw the searcher before its nap left work to it. After the
 * nap the worker searches: it either wakes another one when it leaves with a task, or makes the
 * last check before it sleeps. A thread that publishes during the nap applies the wake rule to the
 * other workers, as if this one were in a task. Ready tasks published before the nap are found at
 * once: between the search and the nap, the worker checks the rings and the overflow list, in the
 * total order.
 *
 * A worker that has slept for a while may do some work that no thread waits for, and then sleeps
 * again. It counts as sleeping all the time. A waker claims it and posts its semaphore as always;
 * the worker notices the claim after a bounded number of steps.
 *
 * Elastic pools. Workers from `resident` on may be *absent*: they have no thread. An absent worker
 * counts as sleeping, and its flag is ABSENT. The thread that claims this flag starts a thread for
 * the worker. Wakers try sleeping workers first.
 *
 * A worker that has slept for its idle time leaves:
 *   1. It swaps its own flag from ASLEEP to AWAKE, unless a waker was first. It counts as busy.
 *   2. When its thread has nothing left to do but end, it becomes absent in the order above:
 *      count, flag, one more check everywhere.
 *   3. If it finds work, it claims its flag again and is back, unless another thread was first.
 *
 * An absent worker that was claimed counts as busy until its new thread begins to search: until
 * then no thread leaves work to it.
 *
 * If the system refuses the thread, this worker and all absent ones become *unstartable*: not
 * counted, like busy workers, until a worker makes them absent again. Other threads may have found
 * the flag claimed and left their work; the claimer acts for them (worker_loop.c).
 *
 * Callers: any thread for the wake functions and is_absent(); any worker for retry_threads(); for
 * the rest worker `index`, or the thread that has claimed it.
 */
#ifndef LANEPOOL_SRC_SCHED_SLEEP_H
#define LANEPOOL_SRC_SCHED_SLEEP_H

#include "base/atomic.h"
#include "platform/platform.h"

/* The values of a worker's flag. */
enum {
    LANEPOOL_I_AWAKE = 0, /* busy, searching, or claimed */
    LANEPOOL_I_ASLEEP = 1,
    LANEPOOL_I_ABSENT = 2,     /* has no thread; one can be started */
    LANEPOOL_I_UNSTARTABLE = 3 /* has no thread; the system refused one */
};

/* Guard: A atomic, W the worker. */
typedef struct lanepool_i_sleeper {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint32_t flag; /* A */
    _Atomic uint64_t wake_ups;                             /* A: W writes */
    lanepool_i_semaphore semaphore;
} lanepool_i_sleeper;

typedef struct lanepool_i_sleepers {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t word;
    _Atomic bool has_long_searcher; /* A */
    lanepool_i_sleeper *all;        /* I */
    size_t sleeper_count;           /* I */
    size_t resident;                /* I: workers below this index are never absent */
    /* Starts the thread of an absent worker, which the caller has claimed. */
    void (*start)(void *owner, size_t index); /* I */
    void *owner;                              /* I */
} lanepool_i_sleepers;

/* Workers from `resident` on are absent. If there are none, `start` may be NULL. */
bool lanepool_i_sleepers_init(lanepool_i_sleepers *sleepers, size_t worker_count, size_t resident,
                              void (*start)(void *owner, size_t index), void *owner);
void lanepool_i_sleepers_fini(lanepool_i_sleepers *sleepers);

/* Wakes one sleeping worker, or else starts an absent one. */
void lanepool_i_sleepers_wake_slowly(lanepool_i_sleepers *sleepers);
/* Wakes worker `index` if it sleeps, even if other workers search. */
void lanepool_i_sleepers_wake_one(lanepool_i_sleepers *sleepers, size_t index);
/* Wakes all sleeping workers; starts no absent ones. */
void lanepool_i_sleepers_wake_all(lanepool_i_sleepers *sleepers);
/* Returns true if the worker has no thread. */
static inline bool lanepool_i_sleepers_is_absent(const lanepool_i_sleepers *sleepers, size_t index)
{
    return load_seq(&sleepers->all[index].flag) >= LANEPOOL_I_ABSENT;
}

static inline uint32_t lanepool_i_sleepers_searching(uint64_t word)
{
    return (uint32_t)word;
}

/* Includes absent workers. */
static inline uint32_t lanepool_i_sleepers_sleeping(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* The word, read in the total order of seq_cst operations. */
static inline uint64_t lanepool_i_sleepers_load(const lanepool_i_sleepers *sleepers)
{
    return load_seq(&sleepers->word);
}

/* The word when no worker searches or sleeps. */
#define LANEPOOL_I_ALL_BUSY ((uint64_t)0)

/* Applies the wake rule. `seen` is the word, read after the work was published. */
static inline void lanepool_i_sleepers_wake_if(lanepool_i_sleepers *sleepers, uint64_t seen)
{
    if (lanepool_i_sleepers_searching(seen) == 0 && lanepool_i_sleepers_sleeping(seen) != 0)
        lanepool_i_sleepers_wake_slowly(sleepers);
}

static inline void lanepool_i_sleepers_wake(lanepool_i_sleepers *sleepers)
{
    lanepool_i_sleepers_wake_if(sleepers, lanepool_i_sleepers_load(sleepers));
}

static inline bool lanepool_i_sleepers_all_busy(const lanepool_i_sleepers *sleepers)
{
    return lanepool_i_sleepers_load(sleepers) == LANEPOOL_I_ALL_BUSY;
}

void lanepool_i_sleepers_start_search(lanepool_i_sleepers *sleepers);
/* Returns true if this was the last searcher. */
bool lanepool_i_sleepers_end_search(lanepool_i_sleepers *sleepers);
/* Lets a searcher search for long. Returns false if another one does. */
static inline bool lanepool_i_sleepers_try_search_long(lanepool_i_sleepers *sleepers)
{
    return !load_relaxed(&sleepers->has_long_searcher) &&
           !exchange_relaxed(&sleepers->has_long_searcher, true);
}

static inline void lanepool_i_sleepers_end_search_long(lanepool_i_sleepers *sleepers)
{
    store_relaxed(&sleepers->has_long_searcher, false);
}

/* Stops searching and sets the flag. Then the worker checks for work once more, and either sleeps
 * or stays awake. */
void lanepool_i_sleepers_prepare(lanepool_i_sleepers *sleepers, size_t index);
/* After both of these the worker counts as searching. */
void lanepool_i_sleepers_sleep(lanepool_i_sleepers *sleepers, size_t index);
void lanepool_i_sleepers_stay_awake(lanepool_i_sleepers *sleepers, size_t index);
/* Sleeps until the deadline at most. Returns true if the worker was woken and counts as searching.
 * Otherwise the worker still counts as sleeping, and sleeps once more after what it does now. */
bool lanepool_i_sleepers_sleep_until(lanepool_i_sleepers *sleepers, size_t index,
                                     uint64_t deadline_ns);
/* Returns true unless the worker was claimed: then its semaphore is posted, or soon will be. */
static inline bool lanepool_i_sleepers_is_asleep(const lanepool_i_sleepers *sleepers, size_t index)
{
    return load_relaxed(&sleepers->all[index].flag) == LANEPOOL_I_ASLEEP;
}
/* Sleeps until the deadline at most. Returns true if the worker was woken and counts as searching;
 * false if it counts as busy and is to leave. */
bool lanepool_i_sleepers_sleep_or_leave(lanepool_i_sleepers *sleepers, size_t index,
                                        uint64_t deadline_ns);
/* Makes a leaving worker absent: from then on its next thread may be started. Then the caller
 * checks for work once more. */
void lanepool_i_sleepers_set_absent(lanepool_i_sleepers *sleepers, size_t index);
/* Claims an absent worker for its old thread; it counts as busy. Returns false if another thread
 * has claimed it. */
bool lanepool_i_sleepers_take_back(lanepool_i_sleepers *sleepers, size_t index);
/* Makes a claimed worker unstartable, since the system refused a thread, and all absent ones
 * too. */
void lanepool_i_sleepers_thread_failed(lanepool_i_sleepers *sleepers, size_t index);
/* Makes unstartable workers absent again. Then the caller checks for work once more. */
void lanepool_i_sleepers_retry_threads(lanepool_i_sleepers *sleepers);

#endif
