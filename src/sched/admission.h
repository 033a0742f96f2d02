/*
 * Admission: the limit on pending tasks.
 *
 * Pending tasks are those admitted less those finished. Threads are admitted in credits of up to 64
 * tasks, so that not every task uses a shared counter. With a small limit a credit is one task, and
 * the limit is exact.
 *
 * A submitter that finds no room is blocked in a queue. Threads that finish tasks hand credits to
 * the blocked submitters in turn, so no later submitter can take the room first.
 *
 * With lane limits (lane_quota.h) a task is admitted for the pool and all its lanes at once. While
 * no submitter waits, a thread with a credit only counts the task in its lanes, without the lock.
 * So in such a pool threads keep their credits in `lane_credits`, and each submit comes here. While
 * one waits, submits take the lock. The next submitter served is the oldest that finds room and
 * wants no lane that an earlier one waits for. So a submitter that waits for a full lane blocks
 * neither other lanes nor the pool, and none overtakes it in a lane of its own: it raises `waiting`
 * before it checks its lanes under their locks, and the others read `waiting` under the same locks.
 *
 * Counting the room takes a walk over all thread records. While a whole credit is left of what was
 * found, it is given without counting: tasks only finish, so no more than the limit is admitted.
 *
 * Why no wake-up is lost: a blocked submitter counts itself in `waiting`, then reads the finished
 * counts once more, unless it gets room that was found before. A thread that finishes a task counts
 * it, then reads `waiting`. Where a credit is one task, all four are in the total order of seq_cst
 * operations. Where credits are larger, a finishing thread may see the blocked submitter one task
 * late. If the pool has room and only a lane is full, all four are in the total order with any
 * credit: the task counts in its lanes as ended before the thread reads `waiting`.
 */
#ifndef LANEPOOL_SRC_SCHED_ADMISSION_H
#define LANEPOOL_SRC_SCHED_ADMISSION_H

#include "base/waiter.h"
#include "sched/lane_quota.h"
#include "sched/thread_record.h"

/* Guards: I immutable, A atomic, L the lock. */
typedef struct lanepool_i_admission {
    uint64_t limit;                     /* I: UINT64_MAX without a limit */
    uint64_t batch;                     /* I: the most tasks in a credit */
    lanepool_i_thread_records *records; /* I: count finished tasks */
    lanepool_i_lane_quotas *quotas;     /* I: lane limits, or NULL */
    lanepool_i_mutex lock;              /* L; taken before the thread records' lock */
    uint64_t admitted;                  /* L: credits given, less credits that came back */
    uint64_t room;                      /* L: a lower bound of the room: what was counted last,
                                           less what was given since */
    lanepool_i_list submitters;         /* L: blocked submitters, oldest first */
    bool closed;                        /* L: only threads inside the pool are admitted */
    _Atomic uint32_t waiting;           /* A: L writes */
    lanepool_i_driver *driver;          /* I: of a pool without threads, or NULL */
} lanepool_i_admission;

/* `quotas` is NULL without lane limits. `driver` must be set before. */
bool lanepool_i_admission_init(lanepool_i_admission *admission, lanepool_i_thread_records *records,
                               size_t pending_max, lanepool_i_lane_quotas *quotas);
void lanepool_i_admission_fini(lanepool_i_admission *admission);

/* In these functions `charge` references its quotas; NULL or empty if the task claims nothing, or
 * there are no lane limits. */

/* Admits a task that is counted in its lanes already. Its thread has a credit. Returns false if it
 * is not counted. */
static inline bool lanepool_i_admission_is_counted(lanepool_i_thread_record *record,
                                                   const lanepool_i_charge *charge)
{
    record->lane_credits -= charge->counted;
    return charge->counted;
}
/* Admits a task. Returns false if the pool is full, or earlier submitters wait. */
bool lanepool_i_admission_try(lanepool_i_admission *admission, lanepool_i_thread_record *record,
                              lanepool_i_charge *charge);
/* Admits a task, after waiting in turn. Returns OK, TIMED_OUT, SHUT_DOWN or NO_RESOURCE. */
lanepool_status lanepool_i_admission_wait(lanepool_i_admission *admission,
                                          lanepool_i_thread_record *record,
                                          lanepool_i_charge *charge, uint64_t deadline_ns);
/* Admits a task over the limits. The task is counted. */
void lanepool_i_admission_force(lanepool_i_admission *admission, lanepool_i_thread_record *record,
                                lanepool_i_charge *charge);
/* Returns the credit of a task that was admitted but not accepted: to the thread, or, if the limit
 * is exact, to the blocked submitters. These are served if the task's lanes have room again. */
void lanepool_i_admission_return_to_thread(lanepool_i_admission *admission,
                                           lanepool_i_thread_record *record);
/* Returns the credit of a task that ends without being counted as finished: to the blocked
 * submitters, not to the thread, which may never submit. */
void lanepool_i_admission_return_to_waiting(lanepool_i_admission *admission);
/* Refuses all blocked submitters, and later ones. */
void lanepool_i_admission_close(lanepool_i_admission *admission);

/* Serves blocked submitters while there is room for a whole credit, or, with `any`, any room. */
void lanepool_i_admission_serve(lanepool_i_admission *admission, bool any);

/* Called by a thread that has counted a finished task. */
static inline void lanepool_i_admission_serve_after_finish(lanepool_i_admission *admission)
{
    if (load_seq(&admission->waiting) != 0)
        lanepool_i_admission_serve(admission, false);
}

/* Called by a worker that is about to sleep. Serves with any room: waiting would not enlarge it. */
static inline void lanepool_i_admission_serve_before_sleep(lanepool_i_admission *admission)
{
    if (load_seq(&admission->waiting) != 0)
        lanepool_i_admission_serve(admission, true);
}

static inline bool lanepool_i_admission_is_exact(const lanepool_i_admission *admission)
{
    return admission->batch == 1;
}

#endif
