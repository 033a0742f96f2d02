/*
 * Sequences: a queue of tasks, a list of delayed tasks, and one piece of work (executor.h).
 *
 * The work's lock guards all of it; each critical section is a few instructions. A thread that adds
 * to the empty queue hands IDLE work over. The thread on which the executor calls the work drains
 * the queue, batch by batch. A task leaves the queue or the delayed list under the lock, and then
 * belongs to the thread that took it: to a drain, or to a canceller. A cancelled task is freed at
 * once, unless its timer is already firing. Then the canceller and the timer's callback both drop
 * it, and the second one frees it.
 *
 * No lock is held while a function of the program or of the executor is called. After the call the
 * sequence may be destroyed, and the work may belong to another one, so the drain rereads the
 * work's state.
 */
#ifndef LANEPOOL_SRC_SEQUENCE_SEQUENCE_H
#define LANEPOOL_SRC_SEQUENCE_SEQUENCE_H

#include "base/waiter.h"
#include "future/future.h"
#include "sequence/executor.h"

typedef struct lanepool_i_sequence_task lanepool_i_sequence_task;

typedef enum lanepool_i_sequence_task_state {
    LANEPOOL_I_SEQUENCE_TASK_DELAYED,
    LANEPOOL_I_SEQUENCE_TASK_QUEUED,
    LANEPOOL_I_SEQUENCE_TASK_TAKEN /* running or being cancelled */
} lanepool_i_sequence_task_state;

/* A task of a sequence. Guards: I immutable, L the work's lock. */
struct lanepool_i_sequence_task {
    lanepool_i_sequence_work *work; /* I */
    lanepool_i_link link;           /* L: in the queue or the delayed list */
    lanepool_task_fn function;      /* I */
    void *context;                  /* I */
    lanepool_i_callbacks callbacks; /* I */
    /* I: its future, with one reference. L: its number, a new one for each run. */
    struct lanepool_i_sequence_call call;
    struct lanepool_i_sequence_periodic *periodic; /* I: or NULL if the task runs once */
    lanepool_i_sequence_task_state state;          /* L */
    bool has_late_timer;    /* owned by the task's taker: its timer was already firing */
    bool dropped;           /* L: the task's taker or its late timer has dropped it */
    lanepool_i_timer timer; /* delayed tasks only: other blocks end before it */
};

/* Guards: I immutable, L the work's lock. */
struct lanepool_sequence {
    lanepool_i_sequence_work *work; /* I */
    lanepool_i_list queue;          /* L: in the order in which they run */
    lanepool_i_list delayed;        /* L: in order of submission */
    uint64_t next_number;           /* L */
    bool paused;                    /* L */
    bool cancelled;                 /* L */
    lanepool_i_list waiters;        /* L: see sequence_wait.c */
};

/* Returns the task of a future of a sequence; NULL if the future is complete. */
static inline lanepool_i_sequence_task *lanepool_i_sequence_task_of_locked(lanepool_future *future)
{
    return ((const lanepool_i_owned_future *)future)->sequence_task;
}

/* --- sequence_task.c --- */

/* Makes a task, with a future of this owner if the description asks for one. Returns NULL if memory
 * cannot be allocated. */
lanepool_i_sequence_task *lanepool_i_sequence_task_make(lanepool_i_sequence_work *work,
                                                        const lanepool_task *description,
                                                        bool delayed,
                                                        const lanepool_i_future_owner *owner);
/* The task was not accepted: frees it and its future. */
void lanepool_i_sequence_task_unmake(lanepool_i_sequence_task *task,
                                     const lanepool_task *description);
/* Calls the task, then disposes of it unless it runs again. *running is the task during the call
 * and NULL after it. */
void lanepool_i_sequence_task_run(lanepool_i_sequence_task *task,
                                  lanepool_i_sequence_task **running);
/* Ends a run whose thread ends inside the task's function. */
void lanepool_i_sequence_task_abandon(lanepool_i_sequence_task *task);
/* Ends a task that has not started, and disposes of it. */
void lanepool_i_sequence_task_cancel(lanepool_i_sequence_task *task, lanepool_status why);

/* Takes the task out of the queue or the delayed list, for good. */
void lanepool_i_sequence_task_take_locked(lanepool_i_sequence_task *task);
/* Timer callback: moves a delayed task that is due to the queue. */
void lanepool_i_sequence_task_fires(lanepool_i_timer *timer);

/* --- drain.c --- */

/* Drains the sequence. Called by lanepool_work_run(). */
void lanepool_i_drain_run(lanepool_work *base);
/* Cancels the sequence, because a pool that shuts down does not run its work. */
void lanepool_i_drain_cancel(lanepool_work *base, lanepool_status why);
/* Makes IDLE work HANDED_OVER if it has a task to run. Returns true if the caller must hand it
 * over. */
bool lanepool_i_drain_begin_locked(lanepool_sequence *sequence);
/* Hands the work over; if the executor refuses, drains the sequence on this thread. */
void lanepool_i_drain_hand_over(lanepool_i_sequence_work *work);
/* Drains the sequence on this thread if the work is HANDED_OVER: until `until` is complete, or for
 * one batch. Returns true if it did; then the lock is released. */
bool lanepool_i_drain_here_locked(lanepool_i_sequence_work *work, lanepool_future *until);
/* Calls all waiters. */
void lanepool_i_sequence_wake_locked(lanepool_sequence *sequence);

/* --- sequence_every.c --- */

/* Prepares a periodic task for its next run. Returns false if it was asked to end. */
bool lanepool_i_sequence_periodic_waits(lanepool_i_sequence_task *task);
/* Delays a periodic task after a run, until the next run is due. */
void lanepool_i_sequence_periodic_ran(lanepool_i_sequence_task *task);
/* Drops the ended task's reference on its handle. */
void lanepool_i_sequence_periodic_dispose(struct lanepool_i_sequence_periodic *periodic);

/* --- sequence_wait.c --- */

/* What lanepool_future_cancel() and lanepool_future_wait() do for a task of a sequence. */
extern const lanepool_i_future_owner lanepool_i_sequence_future_owner;
/* Waits until no drain runs. Returns LANEPOOL_NO_RESOURCE if no semaphore can be created. */
lanepool_status lanepool_i_sequence_await_drain(lanepool_sequence *sequence);

/* --- sequence_queue.c --- */

lanepool_status lanepool_i_sequence_task_check(const lanepool_sequence *sequence,
                                               const lanepool_task *description);
/* Appends the task to the queue. On failure the task still belongs to the caller. */
lanepool_status lanepool_i_sequence_enqueue(lanepool_sequence *sequence,
                                            lanepool_i_sequence_task *task);
/* Adds the task to the delayed list. On failure the task still belongs to the caller. */
lanepool_status lanepool_i_sequence_delay(lanepool_sequence *sequence,
                                          lanepool_i_sequence_task *task, uint64_t due_ns);

/* Returns the work of the task's sequence, with a reference on the executor; NULL if the future is
 * complete. */
lanepool_i_sequence_work *lanepool_i_sequence_work_pin(lanepool_future *future);

/* Cancels a task of a sequence; see lanepool_future_cancel(). */
lanepool_status lanepool_i_sequence_cancel_task(lanepool_future *future);
/* Cancels every task that has not started. Releases the lock. */
void lanepool_i_sequence_cancel_locked(lanepool_sequence *sequence, lanepool_status why);

#endif
