/*
 * Delayed tasks: accepted now, routed later.
 *
 * A delayed task is admitted and built like any other, so nothing can fail when it is due. Until
 * then its block belongs to a timer in the heap. When the timer is due, the clock thread appends
 * the task to the inbox, together with others. Only then does it get a ticket and entries. A
 * periodic task (delay_every.h) goes back to the heap after each run.
 *
 * The thread that takes the timer out of the heap owns the task: the clock thread when the timer is
 * due or in a drain, a thread that cancels the task, or the role's holder in a hand-back.
 *
 * A drain cannot end while `count` is not 0. `count` falls after the append or the cancelling call;
 * then the counters are checked (lanepool_i_lifecycle_attend()).
 *
 * While the clock thread is in its loop, it counts as a worker (`workers_left`). So a hand-back
 * begins only when the clock thread has appended all that it had taken.
 */
#ifndef LANEPOOL_SRC_FEATURE_DELAY_H
#define LANEPOOL_SRC_FEATURE_DELAY_H

#include "base/list.h"
#include "base/timer_heap.h"
#include "lanepool/schedule.h"
#include "sched/thread_record.h"

typedef struct lanepool_i_delayed lanepool_i_delayed;
typedef struct lanepool_i_periodic lanepool_i_periodic;

/* Guards: I immutable while the timer is in the heap, T the clock thread. */
struct lanepool_i_delayed {
    lanepool_i_timer timer;        /* the first member */
    lanepool_pool *pool;           /* I */
    lanepool_i_task *task;         /* I */
    lanepool_i_periodic *periodic; /* I: NULL if the task runs once */
    lanepool_future *future;       /* T: the task's future, referenced until the append */
    lanepool_i_link link;          /* T: when taken out of the heap */
};

/* Guards: A atomic, L the lock, T the clock thread. The lock is taken before a future's lock and
 * before the timers' lock. */
typedef struct lanepool_i_delays {
    lanepool_i_timers timers;
    lanepool_i_mutex lock;
    size_t count;                              /* L: tasks that are not in the inbox yet */
    lanepool_i_list periodics;                 /* L: those that a drain has not ended */
    bool closed;                               /* L: no more tasks are accepted */
    bool ends_periodic;                        /* L: no periodic task runs again */
    bool handed_back;                          /* L: a hand-back has begun */
    _Atomic(lanepool_i_thread_record *) clock; /* A: the clock thread's record */
    lanepool_i_tasks due;                      /* T: fired, not appended yet */
    lanepool_i_list due_once;                  /* T: those of `due` that are not periodic */
    lanepool_i_list over_periodic;             /* T: fired and to be ended */
    struct lanepool_i_expiry *expired;         /* T: fired and to be judged; see task_deadline.c */
} lanepool_i_delays;

bool lanepool_i_delays_init(lanepool_pool *pool);
void lanepool_i_delays_fini(lanepool_pool *pool);

/* Starts the clock thread if there is none: OK, NOMEM, NO_RESOURCE or SHUT_DOWN. */
lanepool_status lanepool_i_delays_start_clock(lanepool_pool *pool);
/* Any thread that holds no lock: `count` fewer tasks are delayed. */
void lanepool_i_delays_count_down(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  size_t count);
/* The `fire` function of all timers of delayed and periodic tasks. */
void lanepool_i_delays_fire(lanepool_i_timer *timer);
/* Any thread that holds no lock: calls a task that was never in the inbox with CANCELLED, completes
 * its future, calls `release`, and frees its block. */
void lanepool_i_delays_end_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task, lanepool_i_callbacks callbacks,
                                     lanepool_status why);

/* Any thread that holds no lock: cancels the future's task, with its call, if it is not due.
 * Returns false if it is due: it is in the inbox, or will be at once. */
bool lanepool_i_delays_cancel(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_future *future);

/* Cancels all tasks that are delayed, periodic ones included, and returns how many. Called within a
 * cancel of the lifecycle's. */
size_t lanepool_i_delays_cancel_all(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Returns how many tasks are delayed, including periodic tasks between two runs. */
size_t lanepool_i_delays_count(lanepool_pool *pool);

/* Called before a drain; after that the caller interrupts the clock thread. */
void lanepool_i_delays_close(lanepool_pool *pool);
/* Role's holder, in a drain: if no task is delayed, closes, and returns true. */
bool lanepool_i_delays_try_close(lanepool_pool *pool);
void lanepool_i_delays_reopen(lanepool_pool *pool);
/* Role's holder, before the hand-back: closes for good. Returns false if the clock thread or a
 * caller counts as a worker again; when it leaves, the counters are checked again. */
bool lanepool_i_delays_stop(lanepool_pool *pool);
/* Role's holder, in the hand-back: appends all delayed tasks, in the order in which they are due.
 */
void lanepool_i_delays_append_all(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
