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
 * Lost wake-ups: a waiter announces itself in `waiting` and then looks at the
 * finished count once more; a finisher counts and then looks at `waiting`; both
 * in the total order of `seq` operations where a credit is one task. Where
 * credits are larger a finisher may see the waiter one task late.
 */
#ifndef LANEPOOL_SRC_ADMISSION_H
#define LANEPOOL_SRC_ADMISSION_H

#include "local.h"

typedef struct lanepool_i_applicant lanepool_i_applicant;

/* Guards: I immutable, A atomic, L the lock. */
typedef struct lanepool_i_admission {
    uint64_t limit;              /* I: UINT64_MAX: none */
    uint64_t batch;              /* I: the most tasks to a credit */
    lanepool_i_locals *locals;   /* I: counts what has finished */
    lanepool_i_mutex lock;       /* L; taken before the locals' */
    uint64_t admitted;           /* L: credits given, less credits that came back */
    lanepool_i_applicant *first; /* L: who waits, oldest first */
    lanepool_i_applicant **last; /* L */
    bool closed;                 /* L: nobody is admitted from outside any more */
    _Atomic uint32_t waiting;    /* A: L writes */
} lanepool_i_admission;

bool lanepool_i_admission_init(lanepool_i_admission *admission, lanepool_i_locals *locals,
                               size_t pending_max);
void lanepool_i_admission_fini(lanepool_i_admission *admission);

/* False: full, or others wait for their turn. */
bool lanepool_i_admission_try(lanepool_i_admission *admission, lanepool_i_local *local);
/* Waits for its turn. OK, TIMED_OUT, SHUT_DOWN or NO_THREAD. */
lanepool_status lanepool_i_admission_wait(lanepool_i_admission *admission, lanepool_i_local *local,
                                          uint64_t deadline_ns);
/* Admits over the limit; counted all the same. */
void lanepool_i_admission_force(lanepool_i_admission *admission, lanepool_i_local *local);
/* A task that was admitted was not accepted after all: its credit is the thread's again, or, if
 * each counts, that of whoever waits. */
void lanepool_i_admission_return(lanepool_i_admission *admission, lanepool_i_local *local);
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
