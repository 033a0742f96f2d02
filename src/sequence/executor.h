/*
 * Executors, and what they are handed: one errand for each sequence, and an
 * alarm for the delayed tasks of all.
 *
 * An executor calls what it was handed when it likes, and a foreign one perhaps
 * more often than it should. So an errand outlives its sequence: it belongs to
 * the executor, which gives it to the next sequence. A call that comes when the
 * errand is not *handed* finds nothing to do; one that comes for a sequence
 * which was handed anew is as good as the call that is due, which then finds
 * nothing to do. The errand's lock is the sequence's.
 *
 *     IDLE     nothing is to be done, or the sequence is paused
 *     HANDED   the executor is to call, or a thread is just handing it over
 *     RUNNING  one thread drains the sequence
 *
 * The executor's memory, errands included, has references: the program's, one
 * for each accepted hand-over that has not been called, one for each drain.
 *
 * The delayed tasks of all sequences stand in one heap of timers. The library's
 * clock thread fires them, or, with a timer of the executor's own, the alarm:
 * it is asked for once, for the earliest. Whoever is called by it, or has added
 * an earlier timer, looks: fires what is due and asks anew. One thread at a time
 * looks, so that tasks become due in order; who comes meanwhile leaves it to that
 * one. If the executor refuses the alarm, the clock thread takes over for good.
 *
 * Locks: an errand's, then a future's or the timers'; the executor's with none.
 */
#ifndef LANEPOOL_SRC_SEQUENCE_EXECUTOR_H
#define LANEPOOL_SRC_SEQUENCE_EXECUTOR_H

#include "base/atomic.h"
#include "base/fork.h"
#include "base/timer_heap.h"
#include "lanepool/executor.h"
#include "lanepool/sequence.h"

typedef struct lanepool_i_sequence_work lanepool_i_sequence_work;

struct lanepool_work {
    void (*run)(lanepool_work *work); /* I */
};

typedef enum lanepool_i_sequence_work_state {
    LANEPOOL_I_WORK_IDLE,
    LANEPOOL_I_WORK_HANDED_OVER,
    LANEPOOL_I_WORK_RUNNING
} lanepool_i_sequence_work_state;

/* Guards: I immutable, A atomic, L the errand's lock, E the executor's lock. */
struct lanepool_i_sequence_work {
    lanepool_work work;                   /* I: first, since the executor gives its address back */
    lanepool_executor *executor;          /* I */
    lanepool_i_mutex lock;                /* L: and the sequence's */
    lanepool_sequence *sequence;          /* L: NULL: none */
    lanepool_i_sequence_work_state state; /* L */
    size_t handed;                        /* L: accepted hand-overs that have not been called */
    lanepool_i_sequence_work *next;       /* E: of those without a sequence */
};

/* A drain that the thread is inside of: on its stack, in its list (lanepool_i_thread_drains). */
typedef struct lanepool_i_drain {
    struct lanepool_i_drain *outer;
    lanepool_i_sequence_work *errand;
    struct lanepool_i_sequence_task *running; /* the task whose function this thread is in */
    lanepool_future *until; /* it ends when this is complete; NULL: it does not look */
    bool hands_over;        /* the thread is in `execute` for the errand */
    bool came_back;         /* and was called there */
} lanepool_i_drain;

struct lanepool_executor {
    lanepool_work alarm;                   /* I: first, like an errand's */
    lanepool_executor_functions functions; /* I */
    void *context;                         /* I: theirs */
    lanepool_pool *pool;                   /* I: whose workers it is, or NULL */
    lanepool_i_creator creator;            /* I */
    _Atomic size_t references;             /* A */
    lanepool_i_timers timers;              /* delayed tasks of all sequences */
    lanepool_i_mutex lock;
    lanepool_i_sequence_work *idle; /* E */
    size_t sequences;               /* E */
    size_t alarms;                  /* E: accepted alarms that have not been called */
    uint64_t alarms_called;         /* E: counts them */
    uint64_t armed_ns;              /* E: when the last one is due; UINT64_MAX: none is */
    bool looking;                   /* E: a thread looks */
    bool again;                     /* E: and is to look once more */
    bool by_clock; /* E: the clock thread serves: there is no timer, or it refused */
};

static inline void lanepool_i_executor_retain(lanepool_executor *executor)
{
    fetch_add_relaxed(&executor->references, 1);
}

/* The last one frees. */
void lanepool_i_executor_release(lanepool_executor *executor);

/* For a new sequence; NULL: memory or a lock is lacking. */
lanepool_i_sequence_work *lanepool_i_sequence_work_take(lanepool_executor *executor,
                                                        void (*run)(lanepool_work *work));
/* Its sequence is gone. */
void lanepool_i_sequence_work_give(lanepool_i_sequence_work *errand);
/* Hands a HANDED errand over, without a lock. Not OK: it was refused. */
lanepool_status lanepool_i_sequence_work_hand_over(lanepool_i_sequence_work *errand);

/* Sees to it that delayed tasks will become due, before one is added. False: no thread could be
 * had. */
bool lanepool_i_executor_can_delay(lanepool_executor *executor);
/* One was added, without a lock held. False: as before. */
bool lanepool_i_executor_look(lanepool_executor *executor);

/* The calling thread's innermost drain of the errand's sequence: it is inside of one of its tasks,
 * or of a callback. NULL: it is not. */
static inline lanepool_i_drain *lanepool_i_drain_find(const lanepool_i_sequence_work *errand)
{
    lanepool_i_drain *drain = lanepool_i_thread_drains();
    while (drain != NULL && drain->errand != errand)
        drain = drain->outer;
    return drain;
}

#endif
