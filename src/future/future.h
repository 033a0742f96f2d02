/*
 * Futures: a task's completion and result. The task holds a reference until it has ended; the
 * program holds the others.
 *
 * The lock guards everything except the reference count. Under the lock no function of the program
 * is called and nothing is allocated. Only the lock of the task's group is taken under it.
 *
 * The completing thread sets `complete` under the lock and serves the listeners after it. A thread
 * that gives up waiting removes its listener under the lock. If the future is complete by then, the
 * listener is being served: the thread waits for that, for a few instructions of the completing
 * thread.
 */
#ifndef LANEPOOL_SRC_FUTURE_FUTURE_H
#define LANEPOOL_SRC_FUTURE_FUTURE_H

#include "base/atomic.h"
#include "base/fork.h"
#include "base/list.h"
#include "base/quarantine.h"
#include "lanepool/future.h"
#include "platform/platform.h"
#include "task/message.h"
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

/* Guards: A atomic, L the future's lock, I immutable. */
struct lanepool_future {
    _Atomic size_t references;
    lanepool_i_mutex lock;
    _Atomic uint32_t phase;     /* A: a lanepool_i_phase, changed under L */
    bool is_member;             /* I: part of a lanepool_i_member; see member.h */
    lanepool_i_creator creator; /* I */
    lanepool_i_task *task;      /* L: until complete; valid while the lock is held */
    lanepool_pool *pool;        /* L: until complete; NULL for a sequence's task */
    struct lanepool_i_sequence_task *sequence_task; /* L: until complete: the sequence's task */
    struct lanepool_i_delayed *delayed;        /* L: until the task is in the inbox; then NULL */
    lanepool_result result;                    /* L until complete, then I */
    lanepool_i_list listeners;                 /* L until complete; then the completing thread's */
    lanepool_i_task *tombstone;                /* L: the tombstone, until it has left its lanes */
    lanepool_i_message tombstone_message;      /* makes the router turn the task into a tombstone */
    const lanepool_i_future_owner *owner;      /* I: NULL: the pool */
    const lanepool_allocator *allocator;       /* I: of this memory; NULL: the system's */
    size_t size;                               /* I: of this memory */
    struct lanepool_i_attempts_memory *memory; /* I: gets this memory back, or NULL */
    /* A: RUNNING or SUSPENDED: the task must stop. PENDING: this periodic run must not start */
    _Atomic bool asked_to_end;
#if defined(LANEPOOL_CHECKED)
    _Atomic size_t held;                /* A: the program's references */
    lanepool_i_quarantined quarantined; /* I until the last reference is given back */
#endif
};

/* Creates a future with two references: the task's and the caller's. The future is the front of a
 * block of `size` bytes; the caller fills the rest. Returns NULL with the status set on failure. */
lanepool_future *lanepool_i_future_create(const lanepool_allocator *allocator, size_t size,
                                          lanepool_i_creator creator, lanepool_pool *pool,
                                          lanepool_i_task *task, lanepool_status *status);
/* Initializes the future of a task that has started without one, with the task's reference. Cannot
 * fail. `memory` gets the block back. */
void lanepool_i_future_init_late(lanepool_future *future, size_t size,
                                 struct lanepool_i_attempts_memory *memory, lanepool_pool *pool,
                                 lanepool_i_creator creator, lanepool_i_task *task);
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
    return lanepool_i_creator_is_here(future->creator, &future->lock);
}

static inline lanepool_i_phase lanepool_i_future_phase(const lanepool_future *future)
{
    return (lanepool_i_phase)load_relaxed(&future->phase);
}

/* Moves the task into a phase. In a checked build, ends the program if the step is not legal. */
void lanepool_i_future_enter_locked(lanepool_future *future, lanepool_i_phase phase);
/* Records that the task's function is about to be called: the task is RUNNING. Returns false if the
 * task was cancelled: its function must not run. A run of a periodic task that was stopped stays
 * PENDING. */
bool lanepool_i_future_start(lanepool_future *future);
/* Records that the task's function will not be called to run. Returns false if that was decided
 * before. */
bool lanepool_i_future_give_up(lanepool_future *future);
/* Forgets the tombstone and gives its reference back. Called before the tombstone leaves its lanes
 * and its block is reused. */
void lanepool_i_future_drop_tombstone(lanepool_future *future);
bool lanepool_i_future_is_complete(lanepool_future *future);
/* Returns true if completing will call the program back. */
bool lanepool_i_future_has_callbacks(lanepool_future *future);
/* Completes, serves the listeners, and gives the task's reference back. */
void lanepool_i_future_complete(lanepool_future *future, const lanepool_result *result);

/* Adds a listener. Returns false if the future is complete. */
bool lanepool_i_future_listen(lanepool_future *future, lanepool_i_listener *listener);
/* Removes a listener that was added. Returns false if it is being served: its post or call is on
 * the way. */
bool lanepool_i_future_unlisten(lanepool_future *future, lanepool_i_listener *listener);

#endif
