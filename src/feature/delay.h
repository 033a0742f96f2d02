/*
 * Tasks that are accepted now and take their place later.
 *
 * A delayed task is admitted and built like any other, so that nothing can fail
 * when its time comes. Until then its block belongs to what stands in the heap
 * of timers. When it is due, the clock thread appends it to the inbox, many at
 * a time; only then it gets its ticket and its place. A periodic task
 * (delay_every.h) goes back to the heap after each run.
 *
 * Who takes the timer out of the heap has the task: the clock thread when it is
 * due, whoever cancels it, the clock thread in a drain, the hand-back.
 *
 * `count` keeps the pool from ending a drain. It falls after the append, or
 * after the cancelling call, and whoever lets it fall attends to the lifecycle.
 * The clock thread counts as a worker (`workers_left`) while it is in its loop, so
 * that a hand-back begins when it has passed on whatever it had taken.
 */
#ifndef LANEPOOL_SRC_FEATURE_DELAY_H
#define LANEPOOL_SRC_FEATURE_DELAY_H

#include "base/timer_heap.h"
#include "lanepool/delay.h"
#include "sched/thread_record.h"

typedef struct lanepool_i_delayed lanepool_i_delayed;
typedef struct lanepool_i_periodic lanepool_i_periodic;

/* Guards: I immutable while it waits, T the clock thread. */
struct lanepool_i_delayed {
    lanepool_i_timer timer;      /* the first member */
    lanepool_pool *pool;         /* I */
    lanepool_i_task *task;       /* I */
    lanepool_i_periodic *series; /* I: NULL: it runs once */
    lanepool_future *future;     /* T: the task's, kept while it is appended */
    lanepool_i_delayed *next;    /* T: taken out of the heap */
};

/* Guards: A atomic, L the lock, T the clock thread. The lock is taken before a future's and before
 * the timers'. */
typedef struct lanepool_i_delays {
    lanepool_i_timers timers;
    lanepool_i_mutex lock;
    size_t count;                /* L: tasks that are not in the inbox */
    lanepool_i_periodic *series; /* L: periodic tasks that a drain has not ended */
    bool closed;                 /* L: no task is accepted any more */
    bool ends_series;            /* L: periodic tasks run no more once they have run */
    bool over;                   /* L: a hand-back goes on, or has been */
    _Atomic(lanepool_i_thread_record *) clock; /* A: the clock thread's record */
    lanepool_i_tasks due;                      /* T: fired and not appended */
    lanepool_i_delayed *due_once;              /* T: of those the ones that are not periodic */
    lanepool_i_delayed *over_series;           /* T: fired to be ended */
} lanepool_i_delays;

bool lanepool_i_delays_init(lanepool_pool *pool);
void lanepool_i_delays_fini(lanepool_pool *pool);

/* Sees to it that there is a clock thread: OK, NOMEM, NO_THREAD or SHUT_DOWN. */
lanepool_status lanepool_i_delays_ready_clock(lanepool_pool *pool);
/* Any thread, holding nothing: one task less is delayed. */
void lanepool_i_delays_count_down(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  size_t count);
/* What fires for a task: the timer's, that of a periodic one too. */
void lanepool_i_delays_fire(lanepool_i_timer *timer);
/* Any thread, holding nothing: calls a task that was never in the inbox with CANCELLED, completes
 * its future, calls its release, and gives its block back. */
void lanepool_i_delays_call_off(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *task, lanepool_release_fn release);

/* A thread of the pool's or not, holding nothing: if the future's task is not due, it never will
 * be, and is called with CANCELLED here and now. False: it is due, and has its place or gets it. */
bool lanepool_i_delays_cancel(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_future *future);

/* The same of all tasks that are delayed now, periodic ones among them: returns how many. Within a
 * cancel of the lifecycle's. */
size_t lanepool_i_delays_cancel_all(lanepool_pool *pool, lanepool_i_thread_record *record);

/* How many tasks are delayed, periodic ones between their runs among them. */
size_t lanepool_i_delays_count(lanepool_pool *pool);

/* A drain is about to begin; the clock thread is interrupted when it has. */
void lanepool_i_delays_close(lanepool_pool *pool);
/* Role's holder, in a drain: true: nothing is delayed, and nothing will be unless it is reopened.
 */
bool lanepool_i_delays_try_close(lanepool_pool *pool);
void lanepool_i_delays_reopen(lanepool_pool *pool);
/* Role's holder, before the hand-back: closes for ever. False: the clock thread, or a caller, has
 * come into the pool; it looks again when it leaves. */
bool lanepool_i_delays_stop(lanepool_pool *pool);
/* Role's holder, in the hand-back: what is delayed gets its place behind everything else, in the
 * order in which it would have been due. */
void lanepool_i_delays_hand_in(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
