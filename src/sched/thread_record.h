/*
 * The thread record: what one thread stores for one pool. That is free blocks, credits, its share
 * of the counters, and the pool's calls that the thread is inside of.
 *
 * A thread finds its record through its slot: the head of a list with one record for each pool that
 * it has used. Thread and pool own a record together; the one that ends last frees it. The pool
 * collects the records of ended threads when it creates one, and when it ends. The thread frees the
 * records of ended pools when it walks its list, and when it ends. A worker's record is owned by
 * the pool alone and outlives the thread.
 *
 * Guards: T the thread, A atomic, L the list's lock, I immutable.
 */
#ifndef LANEPOOL_SRC_SCHED_THREAD_RECORD_H
#define LANEPOOL_SRC_SCHED_THREAD_RECORD_H

#include "base/list.h"
#include "base/slab.h"
#include "lane/lane.h"
#include "sched/lane_quota.h"
#include "sched/worker.h"
#include "task/event_ring.h"
#include "task/task.h"

typedef struct lanepool_i_thread_record lanepool_i_thread_record;

struct lanepool_i_thread_record {
    _Atomic(lanepool_pool *) pool;            /* A: NULL once the pool is gone */
    lanepool_i_thread_record *next_of_thread; /* T */
    lanepool_i_worker *worker;                /* I: NULL unless the thread is a worker */
    size_t worker_index;                      /* I: SIZE_MAX unless the thread is a worker */
    lanepool_i_ring *ring;                    /* I: its events, or NULL */
    lanepool_i_cache cache;                   /* T */
    lanepool_i_slab *slab;                    /* I: of the cache */
    uint64_t futures; /* T: blocks that the thread took for futures, less those it gave back here */
    uint64_t admitted;                  /* T: credits: tasks that it may submit without asking */
    uint64_t lanes;                     /* T: lanes reserved and not used yet */
    uint64_t attempts;                  /* T: records of failures, reserved and not used yet */
    uint64_t lane_credits;              /* T: in place of `admitted`, in a pool with lane limits */
    lanepool_i_charge charge;           /* T: of the task being submitted, until built */
    lanepool_i_task *last_appended;     /* T: a guess at the inbox's tail; never dereferenced */
    uint32_t urgent;                    /* T: of the tasks built since its last append; worker.h */
    lanepool_run *run;                  /* T: the innermost call of a task of this pool */
    _Atomic(lanepool_i_task *) running; /* A: T writes: tasks being called, innermost first */
    uint32_t callbacks;                 /* T: depth of the pool's other callbacks */
    uint32_t watchdog_callbacks;        /* T: of these the watchdog's, called without the role */
    uint32_t waits;                     /* T: depth of waits inside tasks */
    uint64_t epoch; /* T: epoch bits of the last task it ran; see pool_quiesce.h */

    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t accepted; /* A: T writes */
    _Atomic uint64_t ran;                         /* A: T writes: tasks that it has called */
    _Atomic uint64_t finished[LANEPOOL_I_EPOCHS]; /* A: T writes: tasks that it has disposed of */
    _Atomic uint64_t latched; /* A: T writes: latches added less latches ended */
    _Atomic uint64_t readied; /* A: T writes: tasks that it has made ready; see stalled.h */
    _Atomic uint32_t owners;  /* A: OF_THREAD, OF_POOL */
    lanepool_i_link link;     /* L: in the pool's list */
    const lanepool_i_task *ran_at_last_check; /* L: at the watchdog's last check */
};

/* The thread records of a pool. */
typedef struct lanepool_i_thread_records {
    lanepool_i_mutex lock;                /* L */
    lanepool_i_list all;                  /* L */
    lanepool_i_slab *slab;                /* I: receives the blocks of collected records */
    lanepool_i_rings *rings;              /* I: gives the records their rings */
    uint64_t accepted;                    /* L: sum over collected records */
    uint64_t finished[LANEPOOL_I_EPOCHS]; /* L: sum over collected records */
    uint64_t latched;                     /* L: sum over collected records */
    uint64_t readied;                     /* L: sum over collected records */
    uint64_t admitted;                    /* L: unused credits; admission takes them back */
    uint64_t lanes;                       /* L: unused reservations; the next thread gets them */
    uint64_t attempts;                    /* L: as `lanes` */
    uint64_t futures;                     /* L: sum over collected records; at the end, over all */
} lanepool_i_thread_records;

bool lanepool_i_thread_records_init(lanepool_i_thread_records *records, lanepool_i_slab *slab,
                                    lanepool_i_rings *rings);
/* Called after the last use of the pool by any thread. All blocks in caches go to the slab. */
void lanepool_i_thread_records_fini(lanepool_i_thread_records *records);

/* Returns the calling thread's record, or NULL if it has none. */
lanepool_i_thread_record *lanepool_i_thread_record_find(const lanepool_pool *pool);
/* Returns the calling thread's record, creating it if needed; NULL if memory cannot be
 * allocated. */
lanepool_i_thread_record *lanepool_i_thread_record_create(lanepool_pool *pool,
                                                          lanepool_i_thread_records *records);

/* Creates a worker's record, before its thread. The thread enters it when it begins, and leaves it
 * when it ends. */
lanepool_i_thread_record *
lanepool_i_thread_record_create_for_worker(lanepool_pool *pool, lanepool_i_thread_records *records,
                                           lanepool_i_worker *worker);
void lanepool_i_thread_record_enter(lanepool_i_thread_record *record);
void lanepool_i_thread_record_leave(lanepool_i_thread_record *record);
/* In a pool without threads: makes the calling thread use another record of the pool in place of
 * its own; with NULL, none. Returns the record that it has used until now, or NULL. */
lanepool_i_thread_record *lanepool_i_thread_record_swap(const lanepool_pool *pool,
                                                        lanepool_i_thread_record *record);
/* Frees the calling thread's record in a child of fork(), before the pool's memory is freed. */
void lanepool_i_thread_record_free_in_child(const lanepool_pool *pool);
/* Makes the pool the only owner of a record without a worker. Its thread has left it, or never
 * entered it. */
void lanepool_i_thread_record_retire(lanepool_i_thread_record *record);

/* Returns the calling thread's record if it is the first of its list; else NULL. */
static inline lanepool_i_thread_record *lanepool_i_thread_record_if_first(const lanepool_pool *pool)
{
    lanepool_i_thread_record *front = lanepool_i_thread_slot();
    return front != NULL && load_relaxed(&front->pool) == pool ? front : NULL;
}

static inline bool lanepool_i_thread_is_inside_pool(const lanepool_i_thread_record *record)
{
    return record->run != NULL || record->callbacks > 0;
}

/* Returns true if the thread is inside a callback that may be made under the router role. */
static inline bool lanepool_i_thread_record_may_hold_role(const lanepool_i_thread_record *record)
{
    return record->callbacks > record->watchdog_callbacks;
}

/* Returns true if the thread is inside a task or callback of any pool, or a drain. O(pools that the
 * thread has used). */
bool lanepool_i_thread_is_inside_any(void);

/* One thread writes each counter; others read them. */
static inline void lanepool_i_count_up(_Atomic uint64_t *counter, uint64_t by)
{
    store_relaxed(counter, load_relaxed(counter) + by);
}

/* Counts what releases and appends have done. Called before the tasks that became ready can be seen
 * by another thread, and before the task that made them ready counts as finished. */
static inline void lanepool_i_count_grants(lanepool_i_thread_record *record,
                                           lanepool_i_grants *grants)
{
    if (grants->latched != 0) {
        lanepool_i_count_up(&record->latched, grants->latched);
        grants->latched = 0;
    }
    if (grants->ready.count != 0)
        lanepool_i_count_up(&record->readied, grants->ready.count);
}

/* Return sums over all threads, past and present. O(threads). */
uint64_t lanepool_i_thread_records_accepted(lanepool_i_thread_records *records);
uint64_t lanepool_i_thread_records_latched(lanepool_i_thread_records *records);
uint64_t lanepool_i_thread_records_readied(lanepool_i_thread_records *records);
/* Returns the number of finished tasks of one epoch. The work of those tasks happens before the
 * return. */
uint64_t lanepool_i_thread_records_finished_in(lanepool_i_thread_records *records, size_t epoch);
uint64_t lanepool_i_thread_records_finished(lanepool_i_thread_records *records);

/* Returns true if any thread has begun or ended a call of a task since the last call, as far as
 * `running` shows it. A task that followed another one in the same block shows only in the sum of
 * finished tasks. One thread only. `inside` receives the number of threads inside tasks. */
bool lanepool_i_thread_records_have_progressed(lanepool_i_thread_records *records, size_t *inside);

#endif
