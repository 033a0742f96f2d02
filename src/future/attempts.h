/*
 * Tasks that have a policy for failures: tried again in place, their lanes held, or kept there.
 *
 * All that is needed stands in the record of a member (member.h) and is made with
 * the task, its thread for timers too, so that nothing can be lacking when it fails.
 *
 * An attempt that fails is looked at by whoever has made it, before anything of the
 * task has ended. If there is to be another one the task goes back to where ready
 * tasks stand: at once, or when its timer fires. Its word says STARTED from then on,
 * its future knows it anyway: it can no longer be cancelled, only asked to end.
 *
 * While it waits for its time it stands in the pool's list, in no other; who takes it
 * out of that, under the lock, has it: the clock thread when it fires, or the hand-back.
 * A task that is *kept* stands in the same list until it is resolved: its lanes are poisoned.
 * A task that is to end without another call says that it `ends`, and stands ready: the
 * worker that takes it lets it end.
 */
#ifndef LANEPOOL_SRC_FUTURE_ATTEMPTS_H
#define LANEPOOL_SRC_FUTURE_ATTEMPTS_H

#include "base/timer_heap.h"
#include "future/member.h"
#include "lane/lane.h"
#include "lanepool/failure.h"

typedef struct lanepool_i_attempts lanepool_i_attempts;

/* Guards: I immutable, R role's holder, L the failures' lock, W whoever runs the task, or has it
 * out of the list. */
struct lanepool_i_attempts {
    lanepool_i_member member;       /* the first: found from the task's future */
    lanepool_failure_policy policy; /* I */
    bool is_own;                    /* I: the task's, not the pool's */
    bool has_given_up;              /* W: a lane */
    bool ends;                      /* W: it is not called again */
    bool is_called_off;             /* W: it stood ready for an attempt, which is not made */
    unsigned failed;                /* W: attempts */
    lanepool_result result;         /* W: of the last one */
    lanepool_pool *pool;            /* I */
    lanepool_i_task *task;          /* I */
    lanepool_i_timer timer;
    lanepool_i_attempts *next;  /* L */
    lanepool_i_attempts **link; /* L: what points to it in the list; NULL: it is not there */
    bool is_parked;             /* L: in the list: until it is resolved, not until its time comes */
    bool is_resolved;           /* L: what waits behind it is just being dropped */
    bool is_notifying;          /* L: its lanes are just being told that it is kept */
    lanepool_i_message message; /* which tells them; or has them paused */
    lanepool_i_gate *gates;     /* R: as many as it may need for that */
    bool is_refused;            /* R, then W: a poisoned lane has it fail */
};

/* Guards: I immutable, A atomic, L the lock, which is taken before that of the timers. */
typedef struct lanepool_i_failures {
    lanepool_failure_policy policy; /* I: of tasks without one of their own */
    bool has_policy;                /* I: it says something */
    lanepool_i_mutex lock;
    lanepool_i_lane void_lane;  /* where tasks stand instead of poisoned lanes; see poison.h */
    _Atomic bool is_avoided;    /* A: there were tasks that do not wait in poisoned lanes */
    _Atomic size_t messages;    /* A: that are on their way; waits inside tasks route them, too */
    lanepool_i_attempts *first; /* L: those whose time has not come, and those that are kept */
    size_t parked;              /* L: how many of them are kept */
    size_t paused;              /* L: lanes that are paused because of a failure */
    size_t notifying;           /* L: how many are just being told to their lanes */
    size_t dropped;   /* L: how many are resolved, and what is behind just being dropped */
    uint64_t changes; /* L: how often one of these was changed */
    lanepool_i_wide_entry *poisoned[1 << LANEPOOL_I_POISON_BITS]; /* L: see poison.h */
} lanepool_i_failures;

/* The record of a future, or NULL. */
static inline lanepool_i_attempts *lanepool_i_attempts_of_future(lanepool_future *future)
{
    return future != NULL && future->is_member && lanepool_i_member_of(future)->has_policy
               ? (lanepool_i_attempts *)future
               : NULL;
}

/* The record of a task that runs, or was called before; or NULL. */
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

/* Whether it does not wait in poisoned lanes. */
static inline bool lanepool_i_attempts_avoid_poison(const lanepool_i_task *task)
{
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    return attempts != NULL && attempts->policy.at_poison != LANEPOOL_AT_POISON_WAIT;
}

#endif
