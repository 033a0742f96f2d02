/*
 * What one thread keeps for one pool: free blocks, credits, its share of the
 * counters, and where it stands in the pool's calls.
 *
 * A thread finds its record through its slot, the head of a list with one
 * record per pool that it has used. A record belongs to its thread and to its
 * pool, and whichever ends last frees it: the thread's exit leaves the record to
 * the pool, which collects it when the next thread comes or at the end; the
 * pool's end leaves it to the thread, which frees it when it next looks through
 * its list or exits. A worker's record is the pool's alone: it outlives the thread.
 *
 * Guards: T the thread, A atomic, L the list's lock, I immutable.
 */
#ifndef LANEPOOL_SRC_SCHED_THREAD_RECORD_H
#define LANEPOOL_SRC_SCHED_THREAD_RECORD_H

#include "base/slab.h"
#include "sched/lane_quota.h"
#include "sched/worker.h"
#include "task/event_ring.h"
#include "task/task.h"

typedef struct lanepool_i_thread_record lanepool_i_thread_record;

struct lanepool_i_thread_record {
    _Atomic(lanepool_pool *) pool;            /* A: NULL once the pool is gone */
    lanepool_i_thread_record *next_of_thread; /* T */
    lanepool_i_worker *worker;                /* I: NULL for threads that are not the pool's */
    size_t worker_index;                      /* I: SIZE_MAX likewise */
    lanepool_i_ring *ring;                    /* I: its events, or NULL */
    lanepool_i_cache cache;                   /* T */
    uint64_t admitted;                        /* T: tasks that may be submitted without asking */
    uint64_t lanes;                           /* T: lanes reserved and not yet used for a claim */
    lanepool_i_charge *charge;          /* T: of the task that was admitted and is being built */
    lanepool_i_task *last_appended;     /* T: a guess at the inbox's tail; not dereferenced */
    lanepool_run *run;                  /* T: the innermost task call of this pool */
    _Atomic(lanepool_i_task *) running; /* A: T writes: the tasks of those calls, innermost first */
    uint32_t callbacks;                 /* T: other callbacks of this pool that it is in */
    uint32_t watch_callbacks; /* T: of these the watchdog's, under which nothing is held */
    uint32_t waits;           /* T: waits inside tasks, nested */
    uint64_t epoch;           /* T: bits of the task that it ran last; see pool_quiesce.h */

    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint64_t accepted; /* A: T writes */
    _Atomic uint64_t ran;                         /* A: T writes: tasks that it called */
    _Atomic uint64_t finished[LANEPOOL_I_EPOCHS]; /* A: T writes: tasks it let go of */
    _Atomic uint64_t latched;                     /* A: T writes: a difference */
    _Atomic uint32_t owners;                      /* A: OF_THREAD, OF_POOL */
    lanepool_i_thread_record *next_of_pool;       /* L */
    const lanepool_i_task *was_running;           /* L: at the watchdog's last look */
};

/* A pool's records. */
typedef struct lanepool_i_thread_records {
    lanepool_i_mutex lock;                /* L */
    lanepool_i_thread_record *first;      /* L */
    lanepool_i_slab *slab;                /* I: where collected records' blocks go */
    lanepool_i_rings *rings;              /* I: where their rings come from */
    uint64_t accepted;                    /* L: of threads that are gone */
    uint64_t finished[LANEPOOL_I_EPOCHS]; /* L: likewise */
    uint64_t latched;                     /* L: likewise */
    uint64_t admitted;                    /* L: credits they left; the admission takes them back */
    uint64_t lanes;                       /* L: reservations they left, for the next thread */
} lanepool_i_thread_records;

bool lanepool_i_thread_records_init(lanepool_i_thread_records *records, lanepool_i_slab *slab,
                                    lanepool_i_rings *rings);
/* After the last use of the pool by any thread. */
void lanepool_i_thread_records_fini(lanepool_i_thread_records *records);

/* The calling thread's record, or NULL if it has none. */
lanepool_i_thread_record *lanepool_i_thread_record_find(const lanepool_pool *pool);
/* The same, made if needed; NULL if memory is lacking. */
lanepool_i_thread_record *lanepool_i_thread_record_create(lanepool_pool *pool,
                                                          lanepool_i_thread_records *records);

/* For a worker: made before its thread, entered and left by it. */
lanepool_i_thread_record *
lanepool_i_thread_record_create_for_worker(lanepool_pool *pool, lanepool_i_thread_records *records,
                                           lanepool_i_worker *worker);
void lanepool_i_thread_record_enter(lanepool_i_thread_record *record);
void lanepool_i_thread_record_leave(lanepool_i_thread_record *record);
/* In a child of fork(), before the pool's memory goes: frees the calling thread's record. */
void lanepool_i_thread_record_leave_behind(const lanepool_pool *pool);
/* A record made with no worker, for a thread that has left it, or never entered: it is the pool's
 * alone from now on. */
void lanepool_i_thread_record_retire(lanepool_i_thread_record *record);

/* The calling thread's record if it is the first of its list; else NULL. */
static inline lanepool_i_thread_record *lanepool_i_thread_record_in_front(const lanepool_pool *pool)
{
    lanepool_i_thread_record *front = lanepool_i_thread_slot();
    return front != NULL && load_relaxed(&front->pool) == pool ? front : NULL;
}

/* Whether the thread is inside one of the pool's tasks or callbacks. */
static inline bool lanepool_i_thread_is_inside_pool(const lanepool_i_thread_record *record)
{
    return record->run != NULL || record->callbacks > 0;
}

/* Whether it may be the role's holder, inside one of the callbacks that are made under the role. */
static inline bool lanepool_i_thread_record_may_hold_role(const lanepool_i_thread_record *record)
{
    return record->callbacks > record->watch_callbacks;
}

/* The same of any pool. O(pools that the thread has used). */
bool lanepool_i_thread_is_inside_any(void);

/* One thread writes each counter; others add them up. */
static inline void lanepool_i_count_up(_Atomic uint64_t *counter, uint64_t by)
{
    store_relaxed(counter, load_relaxed(counter) + by);
}

/* Sums over all threads, past and present. O(threads). */
uint64_t lanepool_i_thread_records_accepted(lanepool_i_thread_records *records);
uint64_t lanepool_i_thread_records_latched(lanepool_i_thread_records *records);
/* Of one epoch; what those tasks did happens before the return. */
uint64_t lanepool_i_thread_records_finished_in(lanepool_i_thread_records *records, size_t epoch);
uint64_t lanepool_i_thread_records_finished(lanepool_i_thread_records *records);

/* Whether any thread has begun or ended a task call since this was last asked, as far as its list
 * of running tasks shows it; a task that followed another in the same block shows in the sum of
 * what has finished. For one thread. `inside` receives how many threads are inside of tasks. */
bool lanepool_i_thread_records_have_moved(lanepool_i_thread_records *records, size_t *inside);

#endif
