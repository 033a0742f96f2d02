/*
 * The record of a task with a deadline. It has one timer, for its start and then for each of its
 * attempts.
 *
 * The record belongs to the task's member (member.h) and is freed with it. While the timer is
 * armed, the record has a reference to the future. The thread that takes the timer out of the heap
 * gives the reference back: a thread that disarms the timer, or the clock thread when the timer
 * fires.
 *
 * The timer is armed and disarmed under the future's lock, where start, end and cancel are decided,
 * too. The clock thread fires a timer without that lock, and judges later. Meanwhile the timer may
 * have been disarmed in vain, and even armed again. Therefore it counts both: `fired` times it
 * fired, and `late` of these were disarmed too late, which are the earlier ones.
 */
#ifndef LANEPOOL_SRC_FUTURE_EXPIRY_H
#define LANEPOOL_SRC_FUTURE_EXPIRY_H

#include "base/timer_heap.h"
#include "future/member.h"

typedef struct lanepool_i_expiry lanepool_i_expiry;

/* The deadline that a timer is armed for. */
typedef enum lanepool_i_expiry_of {
    LANEPOOL_I_EXPIRY_NONE,
    LANEPOOL_I_EXPIRY_START,
    LANEPOOL_I_EXPIRY_ATTEMPT
} lanepool_i_expiry_of;

/* Guards: I immutable, L the future's lock, T the clock thread, S the submitter. */
struct lanepool_i_expiry {
    lanepool_i_timer timer;             /* the first member */
    lanepool_i_member *member;          /* I */
    lanepool_pool *pool;                /* I */
    lanepool_i_timers *timers;          /* I: the pool's */
    uint64_t start_within_ns;           /* I: 0: no limit */
    uint64_t run_within_ns;             /* I: 0: no limit */
    lanepool_i_expiry_of of;            /* L: what the timer is armed for */
    uint32_t late;                      /* L */
    struct lanepool_detached *detached; /* L: the detached task's record, or NULL */
    uint32_t fired;                     /* T: since the last judgement */
    lanepool_i_expiry *next_fired;      /* T: in the pool's list */
    lanepool_i_expiry *next_submitted;  /* S: in its list. The task may run meanwhile, so this link
                                           is not the clock thread's */
};

/* Arms the timer, which is not armed. */
static inline void lanepool_i_expiry_arm_locked(lanepool_i_expiry *expiry, lanepool_i_expiry_of of,
                                                uint64_t due_ns)
{
    (void)lanepool_i_future_retain(&expiry->member->future);
    expiry->of = of;
    lanepool_i_timers_add(expiry->timers, &expiry->timer, due_ns);
}

/* Disarms the timer. Returns true if the caller must give a reference to the future back, once it
 * has released the lock. */
static inline bool lanepool_i_expiry_disarm_locked(lanepool_i_expiry *expiry)
{
    if (expiry == NULL || expiry->of == LANEPOOL_I_EXPIRY_NONE)
        return false;
    expiry->of = LANEPOOL_I_EXPIRY_NONE;
    bool disarmed = lanepool_i_timers_remove(expiry->timers, &expiry->timer);
    expiry->late += !disarmed;
    return disarmed;
}

/* Called before a task is appended: if it has a deadline for its start, adds its record to the
 * list, with a reference to the future. */
void lanepool_i_expiry_expect(const lanepool_i_task *task, lanepool_i_expiry **list);
/* Called after the append: arms the timers of the listed records, unless the tasks were refused,
 * and empties the list. */
void lanepool_i_expiries_accepted(lanepool_i_expiry **list, bool accepted);
/* Called when a delayed task has been appended. The caller has a reference to the future. */
void lanepool_i_expiry_arm(lanepool_future *future);

/* Sets the deadlines of a task that is handed back, as they were submitted. */
void lanepool_i_expiry_describe(lanepool_future *future, lanepool_task *description);

/* Called when the task's function is about to be called. */
void lanepool_i_expiry_started(lanepool_future *future);
/* Called when the task is detached, and with NULL when a detached task has ended. Returns false if
 * the deadline for the attempt has passed. */
bool lanepool_i_expiry_set_detached(lanepool_future *future, struct lanepool_detached *detached);
/* Called when an attempt has ended, and the task has not. */
void lanepool_i_expiry_paused(lanepool_future *future);

#endif
