/*
 * Contexts of keys. There is a record for each key that has a context, or had one recently.
 *
 *     ABSENT --open--> OPEN --close--> ABSENT          BUSY during each of these calls
 *
 * A thread makes the record BUSY under the lock, and calls the program without the lock. A task
 * does so if the record is ABSENT, or if the context is idle and there is a `use` callback. The
 * keeper does so if the context is idle and due. A thread that finds the record BUSY waits. So the
 * calls for one key never overlap, whatever its lane does, and close returns before open is called
 * again.
 *
 * While `uses` is not 0, no other thread makes the record BUSY, so a context in use is never
 * closed. A use begins while the task has the lane, and ends before the lane is released. So an
 * EXCLUSIVE task finds the context idle, closed, or just being closed. A task's uses are in the
 * record of its call. A call of `at_lane` has one use at most, in its visitor.
 *
 * The timer of an idle context is in the heap. When it is due, the *keeper*, the clock thread of
 * these timers, closes the context. An idle context has no entry and no message, and is no pending
 * task.
 *
 * Timers are added and removed under the lock. If a removal fails, the keeper has already taken the
 * timer. Then `fires` is set until the keeper has checked the record under the lock. Until then the
 * record is not freed, and no task adds the timer: the keeper does, if necessary.
 *
 * The record of a closed context is remembered for the pace of its key. The oldest records are
 * dropped when there are too many, or when their pace means nothing any more.
 */
#ifndef LANEPOOL_SRC_FEATURE_CONTEXT_H
#define LANEPOOL_SRC_FEATURE_CONTEXT_H

#include "base/idle_time.h"
#include "base/timer_heap.h"
#include "base/waiter.h"
#include "core/call_record.h"
#include "lane/lane.h"
#include "lanepool/key.h"
#include "sched/thread_record.h"

typedef enum lanepool_i_context_state {
    LANEPOOL_I_CONTEXT_ABSENT,
    LANEPOOL_I_CONTEXT_BUSY, /* a callback is being called for it */
    LANEPOOL_I_CONTEXT_OPEN
} lanepool_i_context_state;

typedef struct lanepool_i_context lanepool_i_context;

/* In place of a ticket; no ticket is that large. */
#define LANEPOOL_I_CONTEXT_KEEPER UINT64_MAX

/* A list of records, oldest first. A record is in one list at most. */
typedef struct lanepool_i_context_list {
    lanepool_i_list records;
    size_t count;
} lanepool_i_context_list;

/* A thread that waits while a record is BUSY; on its stack. */
typedef struct lanepool_i_context_waiter {
    lanepool_i_waiter waiter;
    uint64_t ticket; /* I: its task's */
} lanepool_i_context_waiter;

/* Guards: I immutable, L the contexts' lock, B the thread that has made it BUSY. */
struct lanepool_i_context {
    lanepool_i_timer timer;         /* L: in the heap while the context is idle */
    lanepool_i_key key;             /* I: its byte string is a copy behind the record */
    lanepool_i_link chained;        /* L: in its bucket */
    lanepool_pool *pool;            /* I */
    lanepool_i_context_state state; /* L */
    uint32_t uses;                  /* L: tasks that use it */
    uint32_t pins;                  /* L: snapshots that are reading its key */
    bool fires;      /* L: the keeper has taken the timer and has not checked the record yet */
    uint64_t caller; /* L: while BUSY: the task's ticket, or LANEPOOL_I_CONTEXT_KEEPER */
    void *value;     /* B: set by open */
    bool is_dropped; /* L, B: a task has dropped it: it is closed before the next use */
    uint64_t idle_since_ns;        /* L: 0 if it was never used */
    uint64_t due_ns;               /* L: while idle */
    lanepool_i_gap_mean pace;      /* L */
    lanepool_i_context_list *list; /* L: the list that it is in, or NULL */
    lanepool_i_link link;          /* L: in that list */
    lanepool_i_list waiters;       /* L */
};

/* Of a pool. Without the option, only `options` is set. */
typedef struct lanepool_i_contexts {
    lanepool_context_options options;   /* I: every default filled in; `open` NULL: no contexts */
    lanepool_i_mutex lock;              /* taken before the timers' lock */
    lanepool_i_list *buckets;           /* L: records by key; the array is I */
    size_t bucket_count;                /* I: a power of two */
    lanepool_i_context_list idle;       /* L: idle contexts, except those made due at once */
    lanepool_i_context_list remembered; /* L: records whose contexts are closed */
    lanepool_i_context_list due;        /* L: idle contexts that the keeper is to close at once */
    lanepool_i_context *closing;        /* L: the context that the keeper is closing, or NULL */
    size_t open_count;                  /* L: contexts that are open, or that open is called for */
    lanepool_i_timers timers;
    lanepool_i_thread_record *keeper; /* I: the keeper's thread record */
} lanepool_i_contexts;

/* Copies the options with every default filled in; `open` is NULL if `given` is NULL. Returns false
 * if an option is out of range. */
bool lanepool_i_contexts_read_options(const lanepool_context_options *given,
                                      lanepool_context_options *options);
/* Returns false if memory, a lock or a semaphore cannot be allocated. */
bool lanepool_i_contexts_init(lanepool_pool *pool);
/* Starts the keeper. Returns false if the system refuses a thread. */
bool lanepool_i_contexts_start(lanepool_pool *pool);
/* Closes all contexts and joins the keeper, after the last task has ended. */
void lanepool_i_contexts_end(lanepool_pool *pool);
void lanepool_i_contexts_fini(lanepool_pool *pool);

/* Role's holder, on the task's thread, before the task releases the lane that the key names: ends
 * its use of the context, if any. */
void lanepool_i_contexts_end_use(lanepool_pool *pool, lanepool_i_context_uses *uses,
                                 lanepool_i_task *task, lanepool_key key);

/* Returns how many contexts are open. */
size_t lanepool_i_contexts_count(lanepool_pool *pool);

#endif
