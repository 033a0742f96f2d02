/*
 * Waiters: threads that wait inside a task for a future (waits), callers that wait to run their own
 * task, for a control call or for the role, and threads that wait in a pump. Each has one record in
 * one list, and all wait in one loop.
 *
 * The deadlock check. A wait inside a task sends a message through the inbox; the role's holder
 * checks the wait when it carries the message out. By then every task accepted before the wait is
 * routed, and a task routed later does not block any of these. The check walks over the wait-for
 * graph, from the waiting task to the tasks that wait for it, directly or through other tasks and
 * waits. If the walk reaches the awaited task, the wait could never end. Only a failed visit of a
 * cut (visits.h) can make a routed task wait for more: then all waits are checked again.
 *
 * Helping. A waiter that may wait takes the role and searches for a ready task from which the walk
 * reaches the awaited task, or which is that task. It runs this task; if there is none, it sleeps.
 * It is woken when the future completes and, while no worker is free, when tasks become ready.
 *
 * No wake-up is lost. A waiter counts itself in `sleeping` before its last check. A thread that
 * changes what waiters check reads `sleeping` after the change. Both are in the total order: the
 * check sees the change, or the thread sees the count and posts the waiters that this concerns.
 */
#ifndef LANEPOOL_SRC_ROUTE_WAITERS_H
#define LANEPOOL_SRC_ROUTE_WAITERS_H

#include "base/waiter.h"
#include "future/future.h"
#include "route/router.h"

/* How deep waits inside tasks may nest: each one runs on the stack above the one before it. */
#define LANEPOOL_I_NESTED_WAITS_MAX 64

typedef struct lanepool_i_wait lanepool_i_wait;

/* A thread that waits in the pool; the front of the record of what it waits for. Its link and
 * `called` are guarded by L, the waits' lock. Other guards: I immutable, A atomic. */
typedef struct lanepool_i_pool_waiter {
    lanepool_i_waiter waiter;
    lanepool_pool *pool;              /* I */
    lanepool_i_thread_record *record; /* I: the thread's */
    lanepool_i_task *own_task;        /* I: the thread runs this task when it is called, or NULL */
    lanepool_pump *pump;              /* I: the pump whose ready tasks the thread runs, or NULL */
    _Atomic bool wants_role;          /* A: the waiter found the role taken */
    _Atomic bool awaits_nodes;        /* A: R sets: the waiter found nothing more to route */
} lanepool_i_pool_waiter;

/* One wait inside a task; shared by the waiter, its message and its listener. Guards: I immutable,
 * A atomic, L the waits' lock, T the waiting thread. */
struct lanepool_i_wait {
    lanepool_i_pool_waiter waiter;
    lanepool_i_message message;
    lanepool_i_listener listener; /* of the awaited future */
    lanepool_i_link inside;       /* L: in the list of waits inside tasks */
    lanepool_i_task *task;        /* I: the task that waits */
    /* L: set by the deadlock check, or NULL. Dereferenced only while it is future->task, under the
     * future's lock: its block may have been reused otherwise. */
    lanepool_i_task *awaited;
    uint64_t awaited_ticket;     /* L: set by the deadlock check */
    lanepool_i_task *helping;    /* L: the task that runs inside the wait, or NULL; T writes */
    lanepool_future *future;     /* I: the caller's reference */
    lanepool_status status;      /* T: TIMED_OUT as long as the thread must wait */
    _Atomic uint32_t references; /* A */
    _Atomic uint32_t verdict;    /* A: L writes: of the deadlock check */
    _Atomic bool complete;       /* A: the future has completed */
    bool left;                   /* L: the wait has ended: the router need not check it */
};

/* Guards: A atomic, L the lock. The lock is taken after the role and before a future's. */
typedef struct lanepool_i_waits {
    lanepool_i_mutex lock;
    lanepool_i_list waiters;       /* L: all threads that wait in the pool */
    lanepool_i_list inside;        /* L: the waits inside tasks */
    lanepool_i_list pumps;         /* L */
    _Atomic uint32_t caller_count; /* A: L writes: pumps, and waiters with a task of their own */
    _Atomic uint32_t sleeping;     /* A: waiters that sleep, or are about to */
    lanepool_i_message recheck;    /* asks for a new check of all waits inside tasks */
    _Atomic bool rechecks;         /* A: it is in the inbox */
} lanepool_i_waits;

bool lanepool_i_waits_init(lanepool_i_waits *waits);
void lanepool_i_waits_fini(lanepool_i_waits *waits);

/* Enters a waiter into the pool's list; the caller has set `own_task` and `pump`. Returns false if
 * a semaphore cannot be allocated. */
bool lanepool_i_pool_waiter_enter(lanepool_i_pool_waiter *waiter, lanepool_pool *pool,
                                  lanepool_i_thread_record *record, uint64_t deadline_ns);
/* Removes it: no thread calls or posts it any more. Returns true if it was called. */
bool lanepool_i_pool_waiter_leave(lanepool_i_pool_waiter *waiter);
bool lanepool_i_pool_waiter_is_called(lanepool_i_pool_waiter *waiter);
/*
 * Waits until `is_over` returns true. Calls `act` in between, which routes or does other work, and
 * sleeps when `act` returns false. Returns false if the deadline has passed.
 *
 * The thread counts as sleeping before these calls. A thread that changes what they read, or frees
 * the role, reads that count after its change and posts this one. So no wake-up is lost.
 */
bool lanepool_i_pool_waiter_wait(lanepool_i_pool_waiter *waiter,
                                 bool (*is_over)(lanepool_i_pool_waiter *waiter),
                                 bool (*act)(lanepool_i_pool_waiter *waiter));

/* Takes the role. Returns false if it is taken: the waiter is posted when it is given back. */
bool lanepool_i_pool_waiter_take_role(lanepool_i_pool_waiter *waiter);
/* Role's holder, before it gives the role back: returns true if there are more nodes. If not, the
 * waiter is posted when there are more and all workers are inside tasks. */
bool lanepool_i_pool_waiter_has_more(lanepool_i_pool_waiter *waiter);
/* Routes a batch if the role is free. Returns true if there are more nodes. Otherwise the waiter is
 * posted when the role is given back, or when there are more nodes. */
bool lanepool_i_pool_waiter_route(lanepool_i_pool_waiter *waiter);

/* Which waiters to post. If all were posted each time, two waiters could wake each other for ever.
 */
typedef enum lanepool_i_whom {
    LANEPOOL_I_EVERYONE,
    LANEPOOL_I_ROLE_WAITERS, /* those with `wants_role`: the role is free */
    LANEPOOL_I_NODE_WAITERS  /* those with `awaits_nodes`: there are nodes, and no worker is free */
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

/* Gives a reference to the wait back. The last one frees the wait. */
void lanepool_i_wait_drop(lanepool_i_wait *wait);
/* Under the lock: after this, no thread posts the wait or walks over it. */
void lanepool_i_wait_unlink_locked(lanepool_i_wait *wait);
/* Records that the task that ran inside the wait has returned, before its block is reused. */
void lanepool_i_waits_end_help(lanepool_i_waits *waits, lanepool_i_wait *wait);
/* Ends all waits of a thread that has ended inside the tasks that it ran. */
void lanepool_i_waits_abandon(lanepool_i_waits *waits, lanepool_i_thread_record *record);
/* Under the lock: posts the waiter. */
void lanepool_i_pool_waiter_post_locked(lanepool_i_pool_waiter *waiter);
/* Under the lock: adds to the number of callers. */
static inline void lanepool_i_waits_count_caller_locked(lanepool_i_waits *waits, int by)
{
    store_relaxed(&waits->caller_count, load_relaxed(&waits->caller_count) + (uint32_t)by);
}
/* The function of the task of a wait for claims: does nothing in any call. Such a task is not
 * handed back, and the program's rule is not asked about it. */
int lanepool_i_run_nothing(lanepool_run *run, void *context);

#endif
