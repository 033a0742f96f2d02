/*
 * Tasks with a failure policy. A task that fails keeps its lanes while it is retried or parked.
 *
 * The record extends the record of a member (member.h). A submit allocates everything that a
 * failure needs, and starts the clock thread if retries are delayed: a failure allocates nothing.
 *
 * The thread that made a failed attempt decides what follows, before any part of the task ends:
 *
 *   Retry at once: the task enters the list of tasks that are ready for a retry, and is put among
 *     the ready tasks.
 *   Retry later: the task enters the pool's list; the clock thread makes it ready, as above.
 *   Park: the task enters the pool's list until it is resolved; its lanes are poisoned.
 *   Pause: the router pauses the task's lanes; then the task ends.
 *   End: the task ends.
 *
 * In the first four cases the task's word says STARTED from then on. Its future has recorded the
 * start before. Such a task can no longer be cancelled, only asked to stop.
 *
 * A task in the pool's list is in no other list. The thread that takes the task out, under the
 * lock, owns it: the clock thread when the timer fires, the thread that resolves it, or the
 * hand-back.
 *
 * The list of tasks that are ready for a retry only lets a cancel of the pool find them. Their
 * thread, which takes them from the ready tasks, removes them before it calls or ends them.
 *
 * A task that must end without another call has `ends_uncalled` set and is put among the ready
 * tasks. The worker that takes it ends it. A task that is asked to stop between two attempts ends
 * so, as CANCELLED.
 */
#ifndef LANEPOOL_SRC_FUTURE_ATTEMPTS_H
#define LANEPOOL_SRC_FUTURE_ATTEMPTS_H

#include "base/timer_heap.h"
#include "future/member.h"
#include "lane/lane.h"
#include "lanepool/task.h"

typedef struct lanepool_i_attempts lanepool_i_attempts;

/* Guards: I immutable, R role's holder, L the failures' lock, W the thread that runs the task or
 * has taken it out of the list. */
struct lanepool_i_attempts {
    lanepool_i_member member;       /* must be first: the task's future leads to this record */
    lanepool_failure_policy policy; /* I */
    bool is_own;                    /* I: the policy is the task's own, not the pool's */
    bool has_released_lane;         /* W: the task has released a lane early: no retry */
    bool ends_uncalled;             /* W: the task ends without another call */
    unsigned failed;                /* W: failed attempts */
    lanepool_result result;         /* W: of the last attempt */
    lanepool_pool *pool;            /* I */
    lanepool_i_task *task;          /* I */
    lanepool_i_timer timer;         /* ends the delay before a retry */
    lanepool_i_attempts *next;      /* L */
    lanepool_i_attempts **link;   /* L: the pointer to this record in its list; NULL: not listed */
    bool is_parked;               /* L: listed until it is resolved, not until its timer fires */
    lanepool_i_attempts *chained; /* L: while parked: in its chain of tickets */
    lanepool_i_attempts *taken;   /* of the thread that resolves several: the next one */
    const void *dropped_by; /* L: the resolution that is dropping the tasks behind it, or NULL */
    bool is_notifying;      /* L: `message` is on its way to poison the lanes */
    lanepool_i_message message; /* makes the router poison or pause the task's lanes */
    lanepool_i_gate *gates;     /* R: one for each claim, for a pause */
    bool is_refused;            /* R, then W: fails because of a poisoned lane */
};

/* The parked tasks' entries in lanes of one hash, linked through `next`; see parked.h. */
typedef struct lanepool_i_parked_chain {
    lanepool_i_wide_entry *first;
    lanepool_i_wide_entry *last; /* not read if `first` is NULL */
} lanepool_i_parked_chain;

/* Guards: I immutable, A atomic, L the lock, which is taken before the lock of the timers. */
typedef struct lanepool_i_failures {
    lanepool_failure_policy policy; /* I: of tasks without a policy of their own */
    bool has_policy;                /* I: `policy` asks for something */
    lanepool_i_mutex lock;
    lanepool_i_lane void_lane;     /* replaces a poisoned lane that a task has left; see poison.h */
    _Atomic bool is_avoided;       /* A: some task does not wait in poisoned lanes */
    _Atomic size_t messages;       /* A: on their way; waits inside tasks route them, too */
    lanepool_i_attempts *first;    /* L: tasks that wait for their timer, and parked ones */
    lanepool_i_attempts *ready;    /* L: tasks that are ready for a retry */
    size_t parked;                 /* L: how many of the first list are parked */
    size_t paused;                 /* L: lanes that a failure has paused */
    size_t notifying;              /* L: records whose `is_notifying` is set */
    size_t dropped;                /* L: records whose `dropped_by` is set */
    uint64_t changes;              /* L: how often `parked` or `paused` has changed */
    size_t poisoned;               /* L: entries of parked tasks in lanes */
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
    return future != NULL && future->is_member && lanepool_i_member_of(future)->has_policy
               ? (lanepool_i_attempts *)future
               : NULL;
}

/* Returns the task's record, or NULL. The task must still hold its reference to its future: a
 * tombstone may not. */
static inline lanepool_i_attempts *lanepool_i_attempts_of(const lanepool_i_task *task)
{
    return lanepool_i_task_is_wide(task) ? lanepool_i_attempts_of_future(task->as.wide.future)
                                         : NULL;
}

static inline void lanepool_i_attempts_free_gates(lanepool_i_attempts *attempts)
{
    while (attempts->gates != NULL) {
        lanepool_i_gate *gate = attempts->gates;
        attempts->gates = gate->next;
        lanepool_i_memory_free(gate);
    }
}

/* Returns true if the task does not wait in poisoned lanes. */
static inline bool lanepool_i_attempts_avoid_poison(const lanepool_i_task *task)
{
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    return attempts != NULL && attempts->policy.at_poison != LANEPOOL_AT_POISON_WAIT;
}

#endif
