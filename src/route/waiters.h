/*
 * Waiters: threads that wait inside a task for a future (waits), callers that wait to run their own
 * task, for a control call or for the role, and threads that wait in a pump.
 *
 * The deadlock check. A wait inside a task sends a message through the inbox; the role's holder
 * checks the wait when it carries the message out. By then every task accepted before the wait is
 * routed, and a task routed later does not block any of these. The check walks over the wait-for
 * graph, from the waiting task to the tasks that wait for it, directly or through other tasks and
 * waits. If the walk reaches the awaited task, the wait could never end.
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

#include "future/future.h"
#include "route/router.h"

/* How deep waits inside tasks may nest: each one runs on the stack above the one before it. */
#define LANEPOOL_I_NESTED_WAITS_MAX 64

typedef struct lanepool_i_wait lanepool_i_wait;
typedef struct lanepool_i_caller lanepool_i_caller;

/* How a waiter is woken, and for which reasons. */
typedef struct lanepool_i_waiter {
    lanepool_i_semaphore semaphore; /* posted when the waiter must check again */
    _Atomic bool wants_role;        /* A: the waiter found the role taken */
    _Atomic bool awaits_nodes;      /* A: R sets: the waiter found nothing more to route */
} lanepool_i_waiter;

/* One wait inside a task; shared by the waiter, its message and its listener. Guards: I immutable,
 * A atomic, L the waits' lock. */
struct lanepool_i_wait {
    lanepool_i_message message;
    lanepool_i_wait *next; /* L: in the pool's list */
    lanepool_i_task *task; /* I: the task that waits */
    /* L: set by the deadlock check, or NULL. Dereferenced only while it is future->task, under the
     * future's lock: its block may have been reused otherwise. */
    lanepool_i_task *awaited;
    uint64_t awaited_ticket;  /* L: set by the deadlock check */
    lanepool_i_task *helping; /* L: the task that runs inside the wait, or NULL */
    lanepool_future *future;  /* I: the caller's reference */
    lanepool_pump *pump;      /* I: the pump whose tasks the waiting thread runs, or NULL */
    lanepool_i_waiter waiter;
    _Atomic uint32_t references; /* A */
    _Atomic uint32_t verdict;    /* A: L writes: of the deadlock check */
    _Atomic bool complete;       /* A: the future has completed */
    bool left;                   /* L: the wait has ended: the router need not check it */
};

/* On the caller's stack. Guards: I immutable, L the waits' lock. */
struct lanepool_i_caller {
    lanepool_i_caller *next; /* L */
    lanepool_i_task *task;   /* I: its own task; or NULL: it waits for the role or a control call */
    bool called;             /* L: the task is ready and the caller's to run; the call is done */
    lanepool_i_waiter waiter;
};

/* A thread that waits in a pump for the first task; on its stack. */
typedef struct lanepool_i_pump_waiter {
    struct lanepool_i_pump_waiter *next; /* L */
    lanepool_i_waiter waiter;
} lanepool_i_pump_waiter;

/* Guards: A atomic, L the lock. The lock is taken after the role and before a future's. */
typedef struct lanepool_i_waits {
    lanepool_i_mutex lock;
    lanepool_i_wait *first;        /* L: the waits inside tasks */
    lanepool_i_caller *callers;    /* L */
    lanepool_pump *pumps;          /* L: each counts as a caller */
    _Atomic uint32_t caller_count; /* A: L writes */
    _Atomic uint32_t sleeping;     /* A: waiters that sleep, or are about to */
} lanepool_i_waits;

bool lanepool_i_waits_init(lanepool_i_waits *waits);
void lanepool_i_waits_fini(lanepool_i_waits *waits);

bool lanepool_i_waiter_init(lanepool_i_waiter *waiter);
void lanepool_i_waiter_fini(lanepool_i_waiter *waiter);
/* Takes the role. Returns false if it is taken: the waiter is posted when it is given back. */
bool lanepool_i_waiter_take_role(lanepool_i_waiter *waiter, lanepool_i_router *router);
/* Role's holder, before it gives the role back: returns true if there are more nodes. If not, the
 * waiter is posted when there are more and all workers are inside tasks. */
bool lanepool_i_waiter_has_more(lanepool_i_waiter *waiter, const lanepool_i_router *router);

/* Routes a batch if the role is free. Returns true if there are more nodes. Otherwise the waiter is
 * posted when the role is given back, or when there are more nodes. */
bool lanepool_i_waiter_route(lanepool_i_waiter *waiter, lanepool_pool *pool,
                             lanepool_i_thread_record *record);

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
/* Records that the task that ran inside the wait has returned, before its block is reused. */
void lanepool_i_waits_end_help(lanepool_i_waits *waits, lanepool_i_wait *wait);
/* Ends all waits of a thread that has ended inside the tasks that it ran. */
void lanepool_i_waits_abandon(lanepool_i_waits *waits, lanepool_i_thread_record *record);
/* Under the lock: posts the waiter if `whom` includes it. */
void lanepool_i_waiter_post_locked(lanepool_i_waiter *waiter, lanepool_i_whom whom);
/* Under the lock: adds to the number of callers. */
static inline void lanepool_i_waits_count_caller_locked(lanepool_i_waits *waits, int by)
{
    store_relaxed(&waits->caller_count, load_relaxed(&waits->caller_count) + (uint32_t)by);
}
/* The function of the task of a wait for claims: does nothing in any call. Such a task is not
 * handed back, and the program's rule is not asked about it. */
int lanepool_i_run_nothing(lanepool_run *run, void *context);

#endif
