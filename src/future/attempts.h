/*
 * Tasks with a failure policy. A task that fails keeps its lanes while it is retried or parked.
 *
 * The record extends the record of a member (member.h). A submit allocates everything that a
 * failure needs, and starts the clock thread if retries are delayed: a failure allocates nothing.
 *
 * Most tasks have only the pool's policy, and few fail. If that policy needs a record only after a
 * failure, a task without a future, group, pump, deadline or policy of its own has no record until
 * then. The submit reserves its memory (late_record.h). Such a task is plain, or has FAILS_BY_POOL
 * in its word, and has no future before. The thread that handles the failure makes the record. No
 * other thread reads the future of a task that has started, unless it has found the task in the
 * list of suspended tasks. No reference to such a record outlives the pool.
 *
 * The thread that made a failed attempt decides what follows, before any part of the task ends:
 *
 *   Retry at once: the task is put among the ready tasks.
 *   Retry later: the clock thread makes the task ready.
 *   Park: the task waits until it is resolved; its lanes are poisoned.
 *   Pause: the router pauses the task's lanes; then the task ends.
 *   End: the task ends.
 *
 * In the first three cases the task is listed as suspended (suspended.h). In the first four its
 * word says STARTED from then on. Its future has recorded the start before. Such a task can no
 * longer be cancelled, only asked to stop.
 *
 * A task that must end without another call has `ends_uncalled` set and is put among the ready
 * tasks. The worker that takes it ends it. A task that is asked to stop between two attempts ends
 * so, as CANCELLED.
 */
#ifndef LANEPOOL_SRC_FUTURE_ATTEMPTS_H
#define LANEPOOL_SRC_FUTURE_ATTEMPTS_H

#include "base/timer_heap.h"
#include "future/attempts_memory.h"
#include "future/member.h"
#include "future/suspended.h"
#include "lane/lane.h"
#include "lanepool/task.h"

typedef struct lanepool_i_attempts lanepool_i_attempts;

/* Guards: I immutable, R role's holder, L the lock of the suspended tasks, W the thread that runs
 * the task or has taken it out of the list. */
struct lanepool_i_attempts {
    lanepool_i_member member;       /* must be first: the task's future leads to this record */
    lanepool_failure_policy policy; /* I */
    bool is_own;                    /* I: the policy is the task's own, not the pool's */
    bool has_released_lane;         /* W: the task has released a lane early: no retry */
    bool ends_uncalled;             /* W: the task ends without another call */
    unsigned failed;                /* W: failed attempts */
    lanepool_result result;         /* W: of the last attempt */
    lanepool_pool *pool;            /* I */
    lanepool_i_suspended suspended; /* L */
    lanepool_i_timer timer;         /* ends the delay before a retry */
    lanepool_i_attempts *chained;   /* L: while parked: in its chain of tickets */
    lanepool_i_attempts *taken;     /* of the thread that resolves several: the next one */
    const void *dropped_by; /* L: the resolution that is dropping the tasks behind it, or NULL */
    bool is_notifying;      /* L: `message` is on its way to poison the lanes */
    lanepool_i_message message; /* makes the router poison or pause the task's lanes */
    lanepool_i_list gates;      /* R: one for each claim, for a pause */
    bool is_refused;            /* R, then W: fails because of a poisoned lane */
};

/* The parked tasks' entries in lanes of one hash, linked through `next`; see parked.h. */
typedef struct lanepool_i_parked_chain {
    uintptr_t first; /* a link, as in a lane; 0: none */
    uintptr_t last;  /* not read if `first` is 0 */
} lanepool_i_parked_chain;

/* Guards: I immutable, A atomic, L the lock of the suspended tasks. */
typedef struct lanepool_i_failures {
    lanepool_failure_policy policy;    /* I: of tasks without a policy of their own */
    bool has_policy;                   /* I: `policy` asks for something */
    bool makes_records_late;           /* I: most of its tasks get their record when they fail */
    lanepool_i_attempts_memory memory; /* of the records made late */
    lanepool_i_lane void_lane;     /* replaces a poisoned lane that a task has left; see poison.h */
    _Atomic bool is_avoided;       /* A: some task does not wait in poisoned lanes */
    _Atomic size_t messages;       /* A: on their way; waits inside tasks route them, too */
    size_t parked;                 /* L: tasks that wait for a resolution */
    size_t paused;                 /* L: lanes that a failure has paused */
    size_t unsettled;              /* L: parked tasks with `is_notifying`, or with `dropped_by` */
    uint64_t changes;              /* L: how often `parked` or `paused` has changed */
    _Atomic size_t poisoned;       /* A: entries of parked tasks in lanes; L writes */
    lanepool_i_attempts **tickets; /* L: the tables; see parked.h */
    size_t ticket_mask;            /* L */
    lanepool_i_parked_chain *lanes; /* L */
    size_t lane_mask;               /* L */
    lanepool_i_attempts *first_tickets[LANEPOOL_I_PARKED_CHAINS];
    lanepool_i_parked_chain first_lanes[LANEPOOL_I_PARKED_CHAINS];
} lanepool_i_failures;

/* Returns the record of the future's task; NULL if the task has no failure policy. */
static inline lanepool_i_attempts *lanepool_i_attempts_of_future(lanepool_future *future)
{
    return future != NULL && lanepool_i_future_is_member(future) &&
                   lanepool_i_member_of(future)->has_policy
               ? (lanepool_i_attempts *)future
               : NULL;
}

/* Returns the record of a suspended task that is not detached. */
static inline lanepool_i_attempts *lanepool_i_suspended_attempts(lanepool_i_suspended *suspended)
{
    return LANEPOOL_I_ITEM(&suspended->link, lanepool_i_attempts, suspended.link);
}

/* Returns the record of a parked task; NULL if another task is given. */
static inline lanepool_i_attempts *lanepool_i_suspended_parked(lanepool_i_suspended *suspended)
{
    return suspended->until == LANEPOOL_I_UNTIL_RESOLUTION
               ? lanepool_i_suspended_attempts(suspended)
               : NULL;
}

/* Returns the task's record, or NULL. The task must still hold its reference to its future: a
 * tombstone may not. */
static inline lanepool_i_attempts *lanepool_i_attempts_of(const lanepool_i_task *task)
{
    return lanepool_i_attempts_of_future(lanepool_i_task_future(task));
}

static inline void lanepool_i_attempts_free_gates(lanepool_i_attempts *attempts)
{
    LANEPOOL_I_EACH(lanepool_i_gate, gate, &attempts->gates, link)
        lanepool_i_memory_free(gate);
}

#endif
