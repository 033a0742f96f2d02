/*
 * The life of a pool, from running to terminated.
 *
 *     RUNNING --shutdown--> DRAINING --shutdown now--> STOPPING
 *        \------------------shutdown now-----------------^
 *
 * DRAINING ends when the role's holder sees that every routed task has finished, and can close the
 * empty inbox. No task runs then, so none can submit another. STOPPING ends when the last worker
 * has left its loop: the role's holder closes the inbox and hands back every task that has not
 * started. In both cases the pool is then `stopped`. The first thread that awaits the end joins the
 * pool's threads, without the lock.
 *
 * The state has a page of its own, which the system fills with zeros in a child of fork(). There
 * the state is FORKED: the pool has no threads, and its locks may be held for ever. Every call
 * checks for that before it takes a lock.
 *
 * Attention. `attention` is not 0 while the state, a quiesce or a barrier wants the role's holder
 * to check the pool's counters. These threads attend: a worker after each quantum, when a new epoch
 * begins and before it sleeps; any other thread after it has run a task or given the role back; the
 * last worker that leaves its loop. A thread attends by taking the role and checking. If the role
 * is taken, it asks the holder, which attends after it has given the role back.
 *
 * No end is missed: `attention` is raised before the first check. A thread that then finishes the
 * last task is either counted by that check, or reads `attention` afterwards and attends.
 *
 * Pins. A thread that completes a detached task, or cancels by a future or a timer, may end the
 * pool's last task, and uses the pool after that. No thread joins it. So it pins the pool while it
 * uses it. At that moment the pool is there, because it has a task or a series that cannot end yet.
 * The thread that destroys the pool waits until there is no pin before it frees the pool.
 */
#ifndef LANEPOOL_SRC_ROUTE_LIFECYCLE_H
#define LANEPOOL_SRC_ROUTE_LIFECYCLE_H

#include "base/waiter.h"
#include "lanepool/pool.h"
#include "sched/thread_record.h"

enum { LANEPOOL_I_FORKED, LANEPOOL_I_RUNNING, LANEPOOL_I_DRAINING, LANEPOOL_I_STOPPING };

/* Guards: A atomic, L the lock, R role's holder. */
typedef struct lanepool_i_lifecycle {
    _Atomic uint32_t *state;        /* I, the word that it points to A */
    _Atomic uint32_t attention;     /* A */
    _Atomic size_t workers_left;    /* A: workers in their loop, and other threads that count so */
    _Atomic uint32_t cancels;       /* A: cancelling calls that have not called all such tasks */
    bool handed_back;               /* R: the tasks that had not started have been handed back */
    _Atomic bool stopped;           /* A: every task has had its call */
    lanepool_handback_fn handback;  /* L until STOPPING, then I */
    void *handback_context;         /* L until STOPPING, then I */
    lanepool_i_mutex lock;          /* no lock is taken under it */
    lanepool_i_list end_waiters;    /* L: threads that wait for `stopped` or `joined` */
    bool joining;                   /* L: a thread is joining the pool's threads */
    bool joined;                    /* L: these threads have ended */
    _Atomic uint32_t pins;          /* A: twice their number, and AWAITED */
    lanepool_i_semaphore *unpinned; /* posted with the last pin's end; I once AWAITED is set */
} lanepool_i_lifecycle;

bool lanepool_i_lifecycle_init(lanepool_i_lifecycle *lifecycle, size_t worker_count);
void lanepool_i_lifecycle_fini(lanepool_i_lifecycle *lifecycle);

/* Any thread that holds no lock: attends, if `attention` is not 0. */
void lanepool_i_lifecycle_attend(lanepool_pool *pool, lanepool_i_thread_record *record);
/* These two enclose a cancelling call, from the decision to the last cancelled task's call. In
 * between, quiesces, barriers and the pool's end do not take tasks for finished. The second is
 * called without a lock; the caller may have the role. */
void lanepool_i_lifecycle_begin_cancel(lanepool_i_lifecycle *lifecycle);
void lanepool_i_lifecycle_end_cancel(lanepool_i_lifecycle *lifecycle);
/* Counts out a worker that has left its loop, or another thread that counted as one. The last one
 * attends. */
void lanepool_i_lifecycle_count_out(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Pins the pool. The pool must have a task or a series that cannot end before this returns. */
void lanepool_i_lifecycle_pin(lanepool_i_lifecycle *lifecycle);
/* Ends a pin. Another thread may free the pool before this returns. */
void lanepool_i_lifecycle_unpin(lanepool_i_lifecycle *lifecycle);
/* Waits until there is no pin. Called after all tasks have ended. Returns false if a semaphore
 * cannot be allocated. */
bool lanepool_i_lifecycle_await_unpinned(lanepool_i_lifecycle *lifecycle);

static inline bool lanepool_i_lifecycle_wants_attention(const lanepool_i_lifecycle *lifecycle)
{
    return load_seq(&lifecycle->attention) != 0;
}

#endif
