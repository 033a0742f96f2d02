/*
 * Futures: a task's completion and result. The task holds a reference until it has ended; the
 * program holds the others.
 *
 * The lock guards everything except the reference count. Under the lock no function of the program
 * is called and nothing is allocated. Only the locks of the task's group and of the timers are
 * taken under it. Two steps need no lock:
 *   - A task that has only a future starts by a compare-and-swap of the phase
 *     (lanepool_i_future_start_simple()). So a cancel, under the lock, also swaps the phase away
 * from PENDING. A task that has started cannot complete before the lock is released.
 *   - If the task has the last reference, no other thread can use the future, and it completes
 *     unseen (lanepool_i_future_complete()).
 *
 * The completing thread sets the phase to DONE under the lock and serves the listeners after it. A
 * thread that gives up waiting removes its listener under the lock. If the phase is DONE by then,
 * the listener is being served: the thread waits for that, for a few instructions of the completing
 * thread.
 *
 * A future is 64 bytes, a block of the pool's slab: there may be as many as tasks. Larger records
 * begin with a future and are allocated one by one: those of members of groups, of tasks with a
 * policy or a deadline (member.h), and of tasks of sequences (lanepool_i_owned_future).
 */
#ifndef LANEPOOL_SRC_FUTURE_FUTURE_H
#define LANEPOOL_SRC_FUTURE_FUTURE_H

#include "base/atomic.h"
#include "base/fork.h"
#include "base/list.h"
#include "base/quarantine.h"
#include "base/slab_returns.h"
#include "lanepool/future.h"
#include "platform/platform.h"
#include "sched/thread_record.h"
#include "task/phase.h"

struct lanepool_i_delayed;
typedef struct lanepool_i_listener lanepool_i_listener;

/* A waiting thread, or a callback to call at completion. */
struct lanepool_i_listener {
    lanepool_i_link link;                                       /* L */
    void (*then)(void *context, const lanepool_result *result); /* I: the callback, or NULL */
    void *context;                                              /* I: the callback's */
    lanepool_i_semaphore *semaphore;                            /* I: posted if `then` is NULL */
    bool is_owned; /* I: the future frees the listener after the callback */
};

/* Functions for the future of a task without a pool: the task's owner fills them in. */
typedef struct lanepool_i_future_owner {
    lanepool_status (*cancel)(lanepool_future *future);
    /* Returns OK once the future is complete. */
    lanepool_status (*await)(lanepool_future *future, uint64_t wait_max_ns);
    /* Returns the driver that a thread which waits for the future must use, or NULL. */
    struct lanepool_i_driver *(*driver)(lanepool_future *future);
} lanepool_i_future_owner;

/* The task of a sequence, as its call sees it. */
struct lanepool_i_sequence_call {
    uint64_t number;         /* among the sequence's tasks, in the order of submits */
    lanepool_future *future; /* or NULL */
};

/* The record that begins with the future: it decides where the memory goes. */
typedef enum lanepool_i_future_sort {
    LANEPOOL_I_FUTURE_ALONE, /* a block of the slab */
    LANEPOOL_I_FUTURE_OWNED, /* a lanepool_i_owned_future */
    LANEPOOL_I_FUTURE_MEMBER /* a lanepool_i_member */
} lanepool_i_future_sort;

/* Guards: A atomic, L the future's lock, I immutable. The first three words are the links of a free
 * block, which AddressSanitizer does not guard: what a late use touches is behind them. */
struct lanepool_future {
    union {
        struct {
            lanepool_i_task *task; /* L: valid while the lock is held; or NULL */
            lanepool_pool *pool;   /* L: NULL: a sequence's task */
        } until_complete;
        lanepool_result result; /* I, once complete */
    };
    struct lanepool_i_delayed *delayed; /* L: until the task is in the inbox; then NULL */
    _Atomic uint32_t references;
    lanepool_i_word_lock lock;
    lanepool_i_creator creator; /* I */
    _Atomic uint8_t phase;      /* A: a lanepool_i_phase; changed under L, or see above */
    /* A: RUNNING or SUSPENDED: the task must stop. PENDING: this periodic run must not start */
    _Atomic bool asked_to_end;
    _Atomic bool has_callbacks; /* A: some listener calls the program */
    uint8_t sort;               /* I: a lanepool_i_future_sort */
    lanepool_i_list listeners;  /* L until complete; then the completing thread's */
    lanepool_i_task *tombstone; /* L: the tombstone, until it has left its lanes */
#if defined(LANEPOOL_CHECKED)
    _Atomic size_t held;                /* A: the program's references */
    lanepool_i_quarantined quarantined; /* I until the last reference is given back */
#endif
};

/* The future of a task of a sequence. */
typedef struct lanepool_i_owned_future {
    lanepool_future future;                         /* must be first */
    const lanepool_i_future_owner *owner;           /* I */
    struct lanepool_i_sequence_task *sequence_task; /* L: until complete */
} lanepool_i_owned_future;

/* The class of the futures that are blocks of a pool's slab. */
#define LANEPOOL_I_FUTURE_CLASS                                        \
    (sizeof(lanepool_future) <= LANEPOOL_I_BLOCK_MIN       ? (size_t)0 \
     : sizeof(lanepool_future) <= 2 * LANEPOOL_I_BLOCK_MIN ? (size_t)1 \
                                                           : (size_t)2)
_Static_assert(sizeof(lanepool_future) <= 4 * LANEPOOL_I_BLOCK_MIN, "a future is a small block");

/* Creates a future with two references: the task's and the caller's. Returns NULL if memory cannot
 * be allocated. */
lanepool_future *lanepool_i_future_create(lanepool_i_thread_record *record,
                                          lanepool_i_creator creator, lanepool_pool *pool,
                                          lanepool_i_task *task);
/* Creates the future of a sequence's task, likewise. The program does not see a future without an
 * owner. */
lanepool_future *lanepool_i_future_create_owned(lanepool_i_creator creator,
                                                const lanepool_i_future_owner *owner,
                                                struct lanepool_i_sequence_task *task);
/* Initializes a future at the front of a larger record, with two references. */
void lanepool_i_future_init(lanepool_future *future, lanepool_i_future_sort sort,
                            lanepool_i_creator creator, lanepool_pool *pool, lanepool_i_task *task);
/* The library's own references. In a checked build the program's functions count the program's
 * references in addition. Other builds have one pair of functions for both. */
#if defined(LANEPOOL_CHECKED)
lanepool_future *lanepool_i_future_retain(lanepool_future *future);
void lanepool_i_future_release(lanepool_future *future);
#else
#define lanepool_i_future_retain  lanepool_future_retain
#define lanepool_i_future_release lanepool_future_release
#endif
/* Functions that a program calls check this before they take the lock. Returns false in a child of
 * fork() if the lock's holder is not in this process: the lock is never released. */
static inline bool lanepool_i_future_is_here(lanepool_future *future)
{
    return lanepool_i_creator_of_word_is_here(future->creator, &future->lock);
}

static inline lanepool_i_phase lanepool_i_future_phase(const lanepool_future *future)
{
    return (lanepool_i_phase)load_relaxed(&future->phase);
}

static inline bool lanepool_i_future_is_member(const lanepool_future *future)
{
    return future->sort == LANEPOOL_I_FUTURE_MEMBER;
}

/* Returns what the owner does for the future; NULL if the task is a pool's. */
static inline const lanepool_i_future_owner *
lanepool_i_future_owner_of(const lanepool_future *future)
{
    return future->sort == LANEPOOL_I_FUTURE_OWNED
               ? ((const lanepool_i_owned_future *)future)->owner
               : NULL;
}

/* Returns the task; NULL if the future is complete, or the task was cancelled. */
static inline lanepool_i_task *lanepool_i_future_task_locked(const lanepool_future *future)
{
    bool done = lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_DONE;
    return done ? NULL : future->until_complete.task;
}

/* Returns the task's pool; NULL if the future is complete, or the task is a sequence's. */
static inline lanepool_pool *lanepool_i_future_pool_locked(const lanepool_future *future)
{
    bool done = lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_DONE;
    return done ? NULL : future->until_complete.pool;
}

/* Moves the task into a phase. In a checked build, ends the program if the step is not legal. */
void lanepool_i_future_enter_locked(lanepool_future *future, lanepool_i_phase phase);
/* Records that the task's function is about to be called: the task is RUNNING. Returns false if the
 * task was cancelled: its function must not run. A run of a periodic task that was stopped stays
 * PENDING. */
bool lanepool_i_future_start(lanepool_future *future);
/* Records the start of a task that has only a future, without the lock. Returns false if the task
 * was cancelled. */
bool lanepool_i_future_start_simple(lanepool_future *future);
/* Records that a PENDING task is cancelled. Returns false if it has just started. Its entries, a
 * tombstone now, are found in the future until they have left their lanes. The future gets a
 * reference for the tombstone and one for the caller. */
bool lanepool_i_future_cancel_locked(lanepool_future *future);
/* Records that the task's function will not be called to run. Returns false if that was decided
 * before. */
bool lanepool_i_future_give_up(lanepool_future *future);
/* Forgets the tombstone and gives its reference back. Called before the tombstone leaves its lanes
 * and its block is reused. */
void lanepool_i_future_drop_tombstone(lanepool_future *future);
bool lanepool_i_future_is_complete(lanepool_future *future);
/* Returns true if completing may call the program back. */
static inline bool lanepool_i_future_has_callbacks(const lanepool_future *future)
{
    return load_relaxed(&future->has_callbacks);
}
/* Completes, serves the listeners, and gives the task's reference back. `record` is the calling
 * thread's for the task's pool; NULL for a sequence's task. */
void lanepool_i_future_complete(lanepool_future *future, lanepool_i_thread_record *record,
                                const lanepool_result *result);

/* Adds a listener. Returns false if the future is complete. */
bool lanepool_i_future_listen(lanepool_future *future, lanepool_i_listener *listener);
/* Removes a listener that was added. Returns false if it is being served: its post or call is on
 * the way. */
bool lanepool_i_future_unlisten(lanepool_future *future, lanepool_i_listener *listener);

#endif
