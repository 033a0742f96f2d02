/*
 * Threads that wait for a task: in lanepool_future_wait(), inside a task or
 * not, and in lanepool_pool_submit_or_run() for a task to become ready.
 *
 * A wait inside a task is a message in the inbox, judged by the role's holder:
 * by then every task accepted before the wait has its place, and what is routed
 * later can only wait for what is there. The judge walks from the waiting task
 * forward: over the tasks that wait for it, directly or through others, and
 * over the waits inside tasks that it meets. If it comes to the awaited task,
 * the wait could never end.
 *
 * A waiter that may wait runs the awaited task, or one that it waits for, if it
 * stands ready, and else sleeps. It is woken when the future completes, and, if
 * no worker is free, when tasks become ready. Helping takes the role: a ready
 * task is needed if the walk from it leads to the awaited one.
 */
#ifndef LANEPOOL_SRC_ROUTE_WAITERS_H
#define LANEPOOL_SRC_ROUTE_WAITERS_H

#include "future/future.h"
#include "route/router.h"

/* Waits inside tasks may be nested so deep, since each stands on the stack of the one before. */
#define LANEPOOL_I_NESTED_WAITS_MAX 64

typedef struct lanepool_i_wait lanepool_i_wait;
typedef struct lanepool_i_caller lanepool_i_caller;

/* How a waiter is woken. */
typedef struct lanepool_i_waiter {
    lanepool_i_semaphore semaphore; /* posted whenever there is reason to look again */
    _Atomic bool wants_role;        /* A: it found the role taken, and waits for it to be free */
    _Atomic bool awaits_nodes;      /* A: R sets: it found nothing more to route, for now */
} lanepool_i_waiter;

/* One wait inside a task; shared by the waiter, its message and its listener. Guards: I immutable,
 * A atomic, L the waits' lock, W the waiter. */
struct lanepool_i_wait {
    lanepool_i_message message;
    lanepool_i_wait *next;    /* L: in the pool's list */
    lanepool_i_task *task;    /* I: that waits */
    lanepool_i_task *awaited; /* L: the judge sets it, NULL if it may not wait; compared only */
    uint64_t awaited_ticket;  /* L: set by the judge */
    lanepool_i_task *helping; /* L: that the waiting thread runs meanwhile */
    lanepool_future *future;  /* I: the waiter's reference */
    lanepool_pump *pump;      /* I: that the waiting thread runs tasks of, or NULL */
    lanepool_i_waiter waiter;
    _Atomic uint32_t references; /* A */
    _Atomic uint32_t verdict;    /* A: L writes */
    _Atomic bool complete;       /* A: the future is */
    bool left;                   /* L: the waiter is gone: nothing to judge */
};

/* On the caller's stack. Guards: I immutable, L the waits' lock. */
struct lanepool_i_caller {
    lanepool_i_caller *next; /* L */
    lanepool_i_task *task;   /* I: NULL: it wants the role, or something to be carried out */
    bool called;             /* L: the task is ready, and is the caller's; or that is done */
    lanepool_i_waiter waiter;
};

/* Guards: A atomic, L the lock. The lock is taken after the role and before a future's. */
typedef struct lanepool_i_waits {
    lanepool_i_mutex lock;
    lanepool_i_wait *first;        /* L: the waits inside tasks */
    lanepool_i_caller *callers;    /* L: who waits to run its own task */
    lanepool_pump *pumps;          /* L: each a caller of its own */
    _Atomic uint32_t caller_count; /* A: L writes */
    _Atomic uint32_t sleeping;     /* A: waiters that sleep */
} lanepool_i_waits;

bool lanepool_i_waits_init(lanepool_i_waits *waits);
void lanepool_i_waits_fini(lanepool_i_waits *waits);

bool lanepool_i_waiter_init(lanepool_i_waiter *waiter);
void lanepool_i_waiter_fini(lanepool_i_waiter *waiter);
/* The role is the caller's; false: when its holder gives it back, the waiter is posted. */
bool lanepool_i_waiter_take_role(lanepool_i_waiter *waiter, lanepool_i_router *router);
/* Role's holder, before it gives the role back: whether more is to be routed. If not, since a link
 * is missing, the waiter is posted when there is more and all workers are busy. */
bool lanepool_i_waiter_has_more(lanepool_i_waiter *waiter, const lanepool_i_router *router);

/* The waiter routes a batch, if the role is free; true: more is left. Else it is posted when the
 * role is given back. */
bool lanepool_i_waiter_route(lanepool_i_waiter *waiter, lanepool_pool *pool,
                             lanepool_i_thread_record *record);

/* Which sleeping waiters look again. Not all without need: two who look in turn would wake one
 * another for ever. */
typedef enum lanepool_i_whom {
    LANEPOOL_I_EVERYONE,
    LANEPOOL_I_ROLE_WAITERS, /* the role that they found taken is free */
    LANEPOOL_I_NODE_WAITERS  /* there is more to route, and no worker to do it */
} lanepool_i_whom;

void lanepool_i_waits_wake_slowly(lanepool_i_waits *waits, lanepool_i_whom whom);
static inline void lanepool_i_waits_wake(lanepool_i_waits *waits, lanepool_i_whom whom)
{
    if (load_seq(&waits->sleeping) != 0)
        lanepool_i_waits_wake_slowly(waits, whom);
}

static inline bool lanepool_i_waits_have_callers(const lanepool_i_waits *waits)
{
    return load_relaxed(&waits->caller_count) != 0;
}

/* One reference less. */
void lanepool_i_wait_drop(lanepool_i_wait *wait);
/* The task that a wait made its thread run has returned, and is about to go. */
void lanepool_i_waits_end_help(lanepool_i_waits *waits, lanepool_i_wait *wait);
/* The thread ends inside the tasks that it runs: their waits are over. */
void lanepool_i_waits_abandon(lanepool_i_waits *waits, lanepool_i_thread_record *record);
/* Under the lock: posts a waiter, if it is meant. */
void lanepool_i_waiter_post_locked(lanepool_i_waiter *waiter, lanepool_i_whom whom);
/* Under the lock: a caller comes or goes. */
static inline void lanepool_i_waits_count_caller_locked(lanepool_i_waits *waits, int by)
{
    store_relaxed(&waits->caller_count, load_relaxed(&waits->caller_count) + (uint32_t)by);
}
#endif
