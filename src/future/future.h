/*
 * A task's completion and result, shared by whoever holds a reference: the
 * task, until it has ended, and the program.
 *
 * The lock guards everything but the reference count. Nothing is called or
 * allocated under it, and nothing locked but the group that the task is a
 * member of. Completing takes the listeners off
 * under the lock and serves them after it; a listener that gives up takes
 * itself off under the lock, or finds that it is being served and waits for
 * that, which is a matter of a few instructions of the completing thread.
 */
#ifndef LANEPOOL_SRC_FUTURE_FUTURE_H
#define LANEPOOL_SRC_FUTURE_FUTURE_H

#include "base/atomic.h"
#include "base/fork.h"
#include "lanepool/future.h"
#include "platform/platform.h"
#include "task/message.h"

struct lanepool_i_delayed;
typedef struct lanepool_i_listener lanepool_i_listener;

/* Someone who wants to know: a waiting thread, or a then-callback. */
struct lanepool_i_listener {
    lanepool_i_listener *next;                                  /* L */
    void (*then)(void *context, const lanepool_result *result); /* I: NULL: post the semaphore */
    void *context;                                              /* I: then's */
    lanepool_i_semaphore *semaphore;                            /* I: the waiting thread's */
};

/* What the call of a sequence's task knows of it. */
struct lanepool_i_sequence_call {
    uint64_t number;         /* among the sequence's tasks, in the order of submits */
    lanepool_future *future; /* or NULL */
};

/* Guards: A atomic, L the future's lock, I immutable. */
struct lanepool_future {
    _Atomic size_t references;
    lanepool_i_mutex lock;
    bool complete;                         /* L */
    bool started;                          /* L: its task's function was called */
    bool awaits_retry;                     /* L: and has returned, and will be called again */
    bool cancelled;                        /* L: it never will be */
    bool is_member;                        /* I: it is a lanepool_i_member's; see member.h */
    lanepool_i_creator creator;            /* I */
    lanepool_i_task *task;                 /* L: until complete; valid while the lock is held */
    lanepool_pool *pool;                   /* L: until complete; NULL: a sequence's task */
    struct lanepool_i_sequence_task *item; /* L: until complete: the sequence's task */
    struct lanepool_i_delayed *delayed;    /* L: until the task is in the inbox; else NULL */
    bool stopped;                          /* L: a periodic task's: this run is not to start */
    lanepool_result result;                /* L until complete, then I */
    lanepool_i_listener *listeners;        /* L: oldest first */
    lanepool_i_listener **last;            /* L: where the next one goes */
    lanepool_i_task *mark;                 /* L: the cancelled task, until its places have gone */
    lanepool_i_message marking;            /* tells the router that there is a mark */
    const lanepool_allocator *allocator;   /* I: whose memory it is; NULL: the system's */
    _Atomic bool asked;                    /* A: the task that runs was asked to end early */
};

/* With two references: the task's and the caller's. In front of a block of `size` bytes, of which
 * the rest is the caller's to fill. NULL with the status set: nothing was made. */
lanepool_future *lanepool_i_future_create(const lanepool_allocator *allocator, size_t size,
                                          lanepool_i_creator creator, lanepool_pool *pool,
                                          lanepool_i_task *task, lanepool_status *status);
/* Before the lock, in what a program calls: false: in this child of fork() it is held for ever. */
static inline bool lanepool_i_future_is_here(lanepool_future *future)
{
    return lanepool_i_creator_is_here(future->creator, &future->lock);
}

/* The task's function is about to be called; false: it is not to be, the task was cancelled. A
 * periodic task's run that was stopped has not `started` then. */
bool lanepool_i_future_start(lanepool_future *future);
/* The task's function is not to be called to run; false: another has decided that before. */
bool lanepool_i_future_give_up(lanepool_future *future);
/* A cancelled task is about to give its places up, and its block: the mark is nobody's any more. */
void lanepool_i_future_drop_tombstone(lanepool_future *future);
bool lanepool_i_future_is_complete(lanepool_future *future);
/* Whether completing will call back into the program. */
bool lanepool_i_future_has_callbacks(lanepool_future *future);
/* Completes, serves the listeners, and gives the task's reference back. */
void lanepool_i_future_complete(lanepool_future *future, const lanepool_result *result);

/* False: complete already. */
bool lanepool_i_future_listen(lanepool_future *future, lanepool_i_listener *listener);
/* False: the listener is being served, its post is on the way. */
bool lanepool_i_future_unlisten(lanepool_future *future, lanepool_i_listener *listener);

#endif
