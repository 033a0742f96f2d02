/*
 * Executors, and what they are given to run: one piece of work for each sequence, and one alarm for
 * the delayed tasks of all sequences.
 *
 * A foreign executor may call its work late, or more often than it should. So the work outlives its
 * sequence: it belongs to the executor, which gives it to the next sequence. An extra call does
 * nothing unless the work is HANDED_OVER again; then it drains, and the call that is due finds
 * nothing to do. The work's lock is also the sequence's lock.
 *
 *     IDLE         nothing to do, or the sequence is paused
 *     HANDED_OVER  the executor must call the work, or a thread is just handing it over
 *     RUNNING      one thread drains the sequence
 *
 * The executor's memory, its work included, is reference counted. References belong to the program,
 * to each drain, to each thread that cancels or awaits one task, and to each accepted hand-over or
 * alarm until it is called.
 *
 * The delayed tasks of all sequences are in one timer heap. If the executor has no timer, the
 * library's clock thread fires them. Otherwise one alarm is requested, for the earliest timer. A
 * thread that runs the alarm, or has added a timer, serves the timers: it fires those due and
 * requests the next alarm. One thread at a time does so, so that tasks become due in order; a
 * second thread leaves that to the first. If the executor refuses the alarm, the clock thread takes
 * over for good. The executor of a pool without threads uses the pool's timers, which the pool's
 * driver serves.
 *
 * Lock order: a work's lock, then a future's or the timers'. The executor's lock is held alone.
 */
#ifndef LANEPOOL_SRC_SEQUENCE_EXECUTOR_H
#define LANEPOOL_SRC_SEQUENCE_EXECUTOR_H

#include "base/atomic.h"
#include "base/fork.h"
#include "base/list.h"
#include "base/quarantine.h"
#include "base/timer_heap.h"
#include "core/run.h"
#include "lanepool/sequence.h"

typedef struct lanepool_i_sequence_work lanepool_i_sequence_work;

typedef enum lanepool_i_sequence_work_state {
    LANEPOOL_I_WORK_IDLE,
    LANEPOOL_I_WORK_HANDED_OVER,
    LANEPOOL_I_WORK_RUNNING
} lanepool_i_sequence_work_state;

/* Guards: I immutable, A atomic, L the work's lock, E the executor's lock. */
struct lanepool_i_sequence_work {
    lanepool_work base;          /* I: first member: the executor passes its address back */
    lanepool_executor *executor; /* I */
    lanepool_i_mutex lock;       /* also the sequence's */
    lanepool_sequence *sequence; /* L: the sequence that uses the work, or NULL */
    lanepool_i_sequence_work_state state; /* L */
    size_t calls_due;                     /* L: accepted hand-overs whose call is still due */
    lanepool_i_link link;                 /* E: in the list of idle work */
};

/* A drain that a thread is inside of: on its stack and in its lanepool_i_thread_drains(). */
typedef struct lanepool_i_drain {
    struct lanepool_i_drain *outer;
    lanepool_i_sequence_work *work;
    struct lanepool_i_sequence_task *running; /* the task whose function this thread is in */
    lanepool_future *until; /* once complete, the drain takes no more tasks; or NULL */
    bool is_handing_over;   /* the thread is inside `execute` for the work */
    bool called_in_execute; /* the executor has called the work there */
    bool is_cancelling;     /* no drain: the thread is inside a `cancelled` of the sequence */
} lanepool_i_drain;

struct lanepool_executor {
    lanepool_work alarm;                   /* I: first member, like a work's `base` */
    lanepool_executor_functions functions; /* I */
    void *context;                         /* I: passed to the functions */
    lanepool_pool *pool;                   /* I: the pool whose workers it uses, or NULL */
    lanepool_i_creator creator;            /* I */
    _Atomic size_t references;             /* A */
    lanepool_i_timers *timers;             /* I: of the delayed tasks of all sequences */
    lanepool_i_timers own_timers;          /* these, unless its pool has no threads */
    lanepool_i_mutex lock;
    lanepool_i_list idle_work; /* E: work without a sequence */
    size_t sequences;          /* E: how many use the executor */
    size_t alarms_due;         /* E: accepted alarms whose call is still due */
    uint64_t alarms_called;    /* E: alarms called, taken back or refused */
    uint64_t armed_ns;         /* E: when the alarm is due; UINT64_MAX: not known */
    bool is_serving;           /* E: a thread serves the timers */
    bool serve_again;          /* E: that thread must serve them again */
    bool by_clock;             /* E: the clock thread fires the timers; there is no alarm */
#if defined(LANEPOOL_CHECKED)
    lanepool_i_quarantine *quarantine; /* I: of the futures of its sequences' tasks */
#endif
};

static inline void lanepool_i_executor_retain(lanepool_executor *executor)
{
    fetch_add_relaxed(&executor->references, 1);
}

/* Drops a reference; the last one frees the executor. */
void lanepool_i_executor_release(lanepool_executor *executor);

/* For a new sequence. Returns NULL if memory or a lock cannot be allocated. */
lanepool_i_sequence_work *lanepool_i_sequence_work_take(lanepool_executor *executor,
                                                        const lanepool_work *functions);
void lanepool_i_sequence_work_give(lanepool_i_sequence_work *work);
/* Passes HANDED_OVER work to the executor, without a lock. Returns the executor's status. */
lanepool_status lanepool_i_sequence_work_hand_over(lanepool_i_sequence_work *work);

/* Starts the clock thread if it is needed, before a timer is added. Returns false if it cannot be
 * started. */
bool lanepool_i_executor_can_delay(lanepool_executor *executor);
/* Serves the timers after one was added. The caller holds no lock. Returns false if the executor
 * refused the alarm and the clock thread cannot be started. */
bool lanepool_i_executor_serve_timers(lanepool_executor *executor);

/* Returns the calling thread's innermost drain of the work's sequence, or NULL. A thread with such
 * a drain is inside one of the sequence's tasks or callbacks. */
static inline lanepool_i_drain *lanepool_i_drain_find(const lanepool_i_sequence_work *work)
{
    lanepool_i_drain *drain = lanepool_i_thread_drains();
    while (drain != NULL && drain->work != work)
        drain = drain->outer;
    return drain;
}

#endif
