/*
 * The limit on pending tasks.
 *
 * Pending is what was admitted less what has finished. Threads are admitted in
 * credits of up to 64 tasks, so that no shared counter is touched each time;
 * with a small limit a credit is one task, and the limit is exact.
 *
 * Who must wait stands in a queue and is served in turn: by whoever finishes
 * tasks, which hands credits over, so that no one can slip in between.
 *
 * With limits per lane (lane_quota.h) a task is admitted for the pool and for all its
 * lanes at once, or waits. Who waits is served in turn among those who want the
 * same lane: the oldest goes first who finds room and whom nobody before it is in
 * the way of. So one who waits for a lane that is full keeps neither another
 * lane nor the pool from others, but no one overtakes it in any lane of its own.
 * Then a credit is one task, and a thread keeps none, so that all ask here.
 *
 * Lost wake-ups: a waiter announces itself in `waiting` and then looks at the
 * finished count once more; a finisher counts and then looks at `waiting`; both
 * in the total order of `seq` operations where a credit is one task. Where
 * credits are larger a finisher may see the waiter one task late.
 */
#ifndef LANEPOOL_SRC_SCHED_ADMISSION_H
#define LANEPOOL_SRC_SCHED_ADMISSION_H

#include "sched/lane_quota.h"
#include "sched/thread_record.h"

typedef struct lanepool_i_blocked_submitter lanepool_i_blocked_submitter;

/* Guards: I immutable, A atomic, L the lock. */
typedef struct lanepool_i_admission {
    uint64_t limit;                      /* I: UINT64_MAX: none */
    uint64_t batch;                      /* I: the most tasks to a credit */
    lanepool_i_thread_records *records;  /* I: counts what has finished */
    lanepool_i_lane_quotas *quotas;      /* I: limits per lane; NULL: there are none */
    lanepool_i_mutex lock;               /* L; taken before the locals' */
    uint64_t admitted;                   /* L: credits given, less credits that came back */
    lanepool_i_blocked_submitter *first; /* L: who waits, oldest first */
    lanepool_i_blocked_submitter **last; /* L */
    bool closed;                         /* L: nobody is admitted from outside any more */
    _Atomic uint32_t waiting;            /* A: L writes */
} lanepool_i_admission;

/* `quotas` may be NULL. */
bool lanepool_i_admission_init(lanepool_i_admission *admission, lanepool_i_thread_records *records,
                               size_t pending_max, lanepool_i_lane_quotas *quotas);
void lanepool_i_admission_fini(lanepool_i_admission *admission);

/* What the task is charged to has entered the quotas; NULL: it claims nothing, or there are none.
 */

/* False: full, or others wait for their turn. */
bool lanepool_i_admission_try(lanepool_i_admission *admission, lanepool_i_thread_record *record,
                              lanepool_i_charge *charge);
/* Waits for its turn. OK, TIMED_OUT, SHUT_DOWN or NO_THREAD. */
lanepool_status lanepool_i_admission_wait(lanepool_i_admission *admission,
                                          lanepool_i_thread_record *record,
                                          lanepool_i_charge *charge, uint64_t deadline_ns);
/* Admits over the limits; counted all the same. */
void lanepool_i_admission_force(lanepool_i_admission *admission, lanepool_i_thread_record *record,
                                lanepool_i_charge *charge);
/* A task that was admitted was not accepted after all: its credit is the thread's again, or, if
 * each counts, that of whoever waits. */
void lanepool_i_admission_return(lanepool_i_admission *admission, lanepool_i_thread_record *record);
/* A task ended without having been counted as finished: its credit is whoever's waits. Not the
 * thread's: that one may never submit. */
void lanepool_i_admission_give_back(lanepool_i_admission *admission);
/* Refuses all who wait and who will come. */
void lanepool_i_admission_close(lanepool_i_admission *admission);

/* Serves those who wait, as far as there is room for a whole credit, or `any` room. */
void lanepool_i_admission_serve(lanepool_i_admission *admission, bool any);

/* The thread has finished a task and counted it. */
static inline void lanepool_i_admission_finished(lanepool_i_admission *admission)
{
    if (load_seq(&admission->waiting) != 0)
        lanepool_i_admission_serve(admission, false);
}

/* A worker is about to sleep: what room there is, it will not grow by waiting for more. */
static inline void lanepool_i_admission_idle(lanepool_i_admission *admission)
{
    if (load_seq(&admission->waiting) != 0)
        lanepool_i_admission_serve(admission, true);
}

static inline bool lanepool_i_admission_is_exact(const lanepool_i_admission *admission)
{
    return admission->batch == 1;
}

#endif
