/*
 * Sequences: a queue of tasks, those that are delayed, and one errand (executor.h).
 *
 * The errand's lock guards all of it; each section is a few instructions. Who
 * makes the queue not empty while the errand is IDLE hands it over; the thread
 * that the executor calls with it drains the queue, a batch at a time. A task
 * leaves queue or delayed tasks under the lock, and belongs to whoever took it
 * out: the drain that calls it, or whoever cancels it. Nothing stays of a
 * cancelled task but, for a moment, a timer that the clock has just taken.
 *
 * No lock is held while a function of the program's is called, the executor's
 * included. After such a call the sequence may be gone, or the errand another
 * one's: the drain goes by what the errand says then.
 */
#ifndef LANEPOOL_SRC_SEQUENCE_SEQUENCE_H
#define LANEPOOL_SRC_SEQUENCE_SEQUENCE_H

#include "future/future.h"
#include "sequence/executor.h"

typedef struct lanepool_i_sequence_task lanepool_i_sequence_task;

typedef enum lanepool_i_sequence_task_state {
    LANEPOOL_I_SEQUENCE_TASK_DELAYED,
    LANEPOOL_I_SEQUENCE_TASK_QUEUED,
    LANEPOOL_I_SEQUENCE_TASK_TAKEN /* it runs, or is being cancelled */
} lanepool_i_sequence_task_state;

/* A task of a sequence. Guards: I immutable, L the errand's lock. */
struct lanepool_i_sequence_task {
    lanepool_i_sequence_work *errand;   /* I */
    lanepool_i_sequence_task *previous; /* L: in the queue, or among the delayed */
    lanepool_i_sequence_task *next;     /* L */
    lanepool_task_fn function;          /* I */
    void *context;                      /* I */
    lanepool_release_fn release;        /* I */
    /* Its future, I, with one reference; and its number, L, a new one for each run. */
    struct lanepool_i_sequence_call call;
    struct lanepool_i_sequence_periodic *recurrence; /* I: NULL: it runs once */
    lanepool_i_sequence_task_state state;            /* L */
    bool has_late_timer;    /* of who has taken it: the clock has taken its timer before */
    bool dropped;           /* L: one of the two has let go of it */
    lanepool_i_timer timer; /* of a delayed one; others end before it */
};

typedef struct lanepool_i_sequence_tasks {
    lanepool_i_sequence_task *first;
    lanepool_i_sequence_task *last;
} lanepool_i_sequence_tasks;

/* Someone who waits for a state of the sequence; see sequence_wait.c. */
typedef struct lanepool_i_sequence_waiter {
    struct lanepool_i_sequence_waiter *next; /* L */
    bool posted;                             /* L: it stands in the list no more */
    lanepool_i_semaphore semaphore;
} lanepool_i_sequence_waiter;

/* Guards: I immutable, L the errand's lock. */
struct lanepool_sequence {
    lanepool_i_sequence_work *errand;      /* I */
    lanepool_i_sequence_tasks queue;       /* L: in their order */
    lanepool_i_sequence_tasks delayed;     /* L: in the order of submits */
    uint64_t next_number;                  /* L */
    bool paused;                           /* L */
    bool cancelled;                        /* L */
    lanepool_i_sequence_waiter *onlookers; /* L */
};

/* --- sequence_task.c --- */

/* With its future, if one is asked for. NULL with the status set: nothing was made. */
lanepool_i_sequence_task *lanepool_i_sequence_task_make(lanepool_i_sequence_work *errand,
                                                        const lanepool_task *task, bool delayed,
                                                        lanepool_status *status);
/* It was not accepted after all. */
void lanepool_i_sequence_task_unmake(lanepool_i_sequence_task *item, const lanepool_task *task);
/* Calls it, and lets go of all that it holds, unless it runs again. *running is NULL again once the
 * function returned. */
void lanepool_i_sequence_task_run(lanepool_i_sequence_task *item,
                                  lanepool_i_sequence_task **running);
/* The thread that ran it ends inside of its function. */
void lanepool_i_sequence_task_abandon(lanepool_i_sequence_task *item);
/* Tells it that it will not run, and lets go of all that it holds. */
void lanepool_i_sequence_task_cancel(lanepool_i_sequence_task *item);

void lanepool_i_sequence_tasks_add(lanepool_i_sequence_tasks *items,
                                   lanepool_i_sequence_task *item);
void lanepool_i_sequence_tasks_remove(lanepool_i_sequence_tasks *items,
                                      lanepool_i_sequence_task *item);
/* Takes it out of the queue or of the delayed tasks, for good. */
void lanepool_i_sequence_task_take_locked(lanepool_i_sequence_task *item);
/* A delayed task has become due. */
void lanepool_i_sequence_task_fires(lanepool_i_timer *timer);

/* --- drain.c --- */

/* What an executor calls with a sequence's errand. */
void lanepool_i_drain_run(lanepool_work *work);
/* There is something to run: true, if the caller is to hand the errand over. */
bool lanepool_i_drain_begin_locked(lanepool_sequence *sequence);
/* Hands it over; if the executor refuses, drains the sequence here. */
void lanepool_i_drain_hand_over(lanepool_i_sequence_work *errand);
/* Drains the sequence here if its errand is still HANDED, `until` this is complete, or for a batch.
 * True: it did, and has given the lock back. */
bool lanepool_i_drain_here_locked(lanepool_i_sequence_work *errand, lanepool_future *until);
void lanepool_i_sequence_wake_locked(lanepool_sequence *sequence);

/* --- sequence_every.c --- */

/* The task is about to wait for its next turn. False: it is not to have one. */
bool lanepool_i_sequence_periodic_waits(lanepool_i_sequence_task *item);
/* A run of a periodic task has ended. */
void lanepool_i_sequence_periodic_ran(lanepool_i_sequence_task *item);
/* The task has had its last call. */
void lanepool_i_sequence_periodic_dispose(struct lanepool_i_sequence_periodic *recurrence);

/* --- sequence_wait.c --- */

/* Waits for a sequence's task, as lanepool_future_wait() says. */
lanepool_status lanepool_i_sequence_await_task(lanepool_future *future, uint64_t deadline_ns);
/* Waits until no drain goes on. NO_THREAD: it cannot. */
lanepool_status lanepool_i_sequence_await_drain(lanepool_sequence *sequence);

/* --- sequence.c --- */

bool lanepool_i_sequence_takes(const lanepool_sequence *sequence, const lanepool_task *task);
/* The item takes its place. Not OK: it was not accepted, and is the caller's. */
lanepool_status lanepool_i_sequence_enter(lanepool_sequence *sequence,
                                          lanepool_i_sequence_task *item);
/* The item waits until it is due. Not OK: it does not, and is the caller's. */
lanepool_status lanepool_i_sequence_delay(lanepool_sequence *sequence,
                                          lanepool_i_sequence_task *item, uint64_t due_ns);

/* Of a future: the errand of its task's sequence, with a reference on the executor, or NULL if it
 * is complete. */
lanepool_i_sequence_work *lanepool_i_sequence_work_pin(lanepool_future *future);

/* Cancels a sequence's task, as lanepool_future_cancel() says. */
lanepool_status lanepool_i_sequence_cancel_task(lanepool_future *future);
/* Everything that has not started; with the lock, which it gives back. */
void lanepool_i_sequence_cancel_locked(lanepool_sequence *sequence);

#endif
