/*
 * Where workers sleep, and who wakes them.
 *
 * The word:  sleeping (32) | searching (32). A worker is busy, searching, or
 * sleeping with its flag set and a semaphore to wait on.
 *
 * The wake rule, for whoever has published work: if no worker searches, claim
 * the flag of one sleeper by exchange and post its semaphore; it counts as
 * searching from then on.
 * A worker that searched and leaves with work wakes one more, by the same rule,
 * if it was the last searcher and more work is left.
 * A worker that found nothing stops searching, sets its flag, looks once more
 * everywhere, and then waits.
 *
 * Why no work is lost: publishing, the waker's looks at the word and at the
 * flags, the setting of a flag and the sleeper's last looks are all in the
 * total order of `seq` operations. If the waker saw a searcher, that one looks
 * again after it stopped searching. If it found no flag set, the sleeper's last
 * look comes after the publication.
 *
 *
 * Workers from `resident` on may be *absent*: they have no thread. An absent worker
 * counts as sleeping, and its flag says ABSENT; who claims that flag starts the
 * thread. Sleepers are woken first.
 * A worker that has slept for long leaves: it takes its own flag, unless a waker was
 * first, and counts as busy until its thread has nothing more to do than to end. Then
 * it becomes absent as others lie down: counted, flag, one more look everywhere. If
 * something is there it comes back, unless its flag was claimed meanwhile.
 * One that was claimed while it was absent counts as busy, too, until its thread
 * comes into its loop and begins to search: nobody leaves work to it. If no thread can be had all
 * that are absent become *lacking*, as good as busy for ever, until they are made absent again; who
 * tried sees to those who may have found a flag taken (pool.c).
 *
 * Who may call at once: wake functions and `absent`, any thread; the rest, worker `index`, or who
 * has claimed it.
 */
#ifndef LANEPOOL_SRC_SCHED_SLEEP_H
#define LANEPOOL_SRC_SCHED_SLEEP_H

#include "base/atomic.h"
#include "platform/platform.h"

/* What a worker's flag says. */
enum {
    LANEPOOL_I_AWAKE = 0, /* busy, searching, or claimed */
    LANEPOOL_I_ASLEEP = 1,
    LANEPOOL_I_ABSENT = 2,     /* it has no thread, and one can be started */
    LANEPOOL_I_UNSTARTABLE = 3 /* it has none, and none could be had */
};

/* Guard: A atomic, W the worker. */
typedef struct lanepool_i_sleeper {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint32_t flag; /* A */
    _Atomic uint64_t wake_ups;                             /* A: W writes */
    lanepool_i_semaphore semaphore;
} lanepool_i_sleeper;

typedef struct lanepool_i_sleepers {
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t word;
    lanepool_i_sleeper *all; /* I */
    size_t sleeper_count;    /* I */
    size_t resident;         /* I: workers below are never absent */
    /* Starts the thread of an absent worker, which the caller has claimed. */
    void (*start)(void *owner, size_t index); /* I */
    void *owner;                              /* I */
} lanepool_i_sleepers;

/* Workers from `resident` on are absent; without any of these `start` may be NULL. */
bool lanepool_i_sleepers_init(lanepool_i_sleepers *sleepers, size_t worker_count, size_t resident,
                              void (*start)(void *owner, size_t index), void *owner);
void lanepool_i_sleepers_fini(lanepool_i_sleepers *sleepers);

void lanepool_i_sleepers_wake_slowly(lanepool_i_sleepers *sleepers);
/* Wakes worker `index` if it sleeps, whoever searches. */
void lanepool_i_sleepers_wake_one(lanepool_i_sleepers *sleepers, size_t index);
/* Wakes who sleeps; starts nobody. */
void lanepool_i_sleepers_wake_all(lanepool_i_sleepers *sleepers);
/* Whether a worker has no thread. */
static inline bool lanepool_i_sleepers_is_absent(const lanepool_i_sleepers *sleepers, size_t index)
{
    return load_seq(&sleepers->all[index].flag) >= LANEPOOL_I_ABSENT;
}

static inline uint32_t lanepool_i_sleepers_searching(uint64_t word)
{
    return (uint32_t)word;
}

/* Absent ones included. */
static inline uint32_t lanepool_i_sleepers_sleeping(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* The word, read in the total order of `seq` operations. */
static inline uint64_t lanepool_i_sleepers_load(const lanepool_i_sleepers *sleepers)
{
    return load_seq(&sleepers->word);
}

/* The word while no worker searches or sleeps. */
#define LANEPOOL_I_ALL_BUSY ((uint64_t)0)

/* The wake rule, with the word as it was seen after the publication of work. */
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
/* True: this was the last searcher. */
bool lanepool_i_sleepers_end_search(lanepool_i_sleepers *sleepers);
/* Stops searching and sets the flag. Then look once more, and either sleep or stay. */
void lanepool_i_sleepers_prepare(lanepool_i_sleepers *sleepers, size_t index);
/* Both return searching. */
void lanepool_i_sleepers_sleep(lanepool_i_sleepers *sleepers, size_t index);
void lanepool_i_sleepers_stay_awake(lanepool_i_sleepers *sleepers, size_t index);
/* Sleeps until the deadline at most, and returns searching; false: it counts as busy, and leaves.
 */
bool lanepool_i_sleepers_sleep_or_leave(lanepool_i_sleepers *sleepers, size_t index,
                                        uint64_t deadline_ns);
/* Of a worker that leaves: from now on another thread may be started. Then look once more. */
void lanepool_i_sleepers_set_absent(lanepool_i_sleepers *sleepers, size_t index);
/* Returns busy; false: another thread is coming. */
bool lanepool_i_sleepers_take_back(lanepool_i_sleepers *sleepers, size_t index);
/* Of a claimed worker: no thread could be had. Nor is one tried for in place of the others. */
void lanepool_i_sleepers_thread_failed(lanepool_i_sleepers *sleepers, size_t index);
/* Makes what is lacking absent again. Then look once more. */
void lanepool_i_sleepers_retry_threads(lanepool_i_sleepers *sleepers);

#endif
