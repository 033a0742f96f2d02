/*
 * Tasks that end otherwise than by the return of their function: detached tasks, and tasks that
 * hand their lanes to a receiver.
 *
 * The call of such a task has a record, and so has a call that uses contexts. The record is in the
 * pool's list until the call has ended.
 *
 * A *detached* task ends when its function has returned and it was completed, in either order: by
 * the program, or by the library when its deadline has passed or the pool stops. The completer
 * first claims the task, which only one can. Then it sets the result and says DECIDED; the
 * function's thread lists the task as suspended. Both do so under the lock of the suspended tasks.
 * The second side sees what the first has done, and ends the task. Until then the task counts as a
 * worker that has not left its loop.
 *
 * The handle is the record. The program has a reference to it until lanepool_task_complete() has
 * answered OK or DONE, also after the library has ended the task and the pool is gone. So that call
 * reads the pool only after it has claimed the task, which keeps the pool alive. If it cannot go
 * on, it takes its claim back; a library thread that finds a claim without a decision waits for
 * either. The functions that search for receivers lock the list, and any thread may call them. All
 * others are called by the thread that runs or ends the task.
 */
#ifndef LANEPOOL_SRC_CORE_CALL_RECORD_H
#define LANEPOOL_SRC_CORE_CALL_RECORD_H

#include "base/quarantine.h"
#include "future/suspended.h"
#include "lane/lane.h"
#include "lanepool/task.h"
#include "sched/thread_record.h"

typedef struct lanepool_detached lanepool_i_call_record;

/* Bits of the state. */
enum {
    LANEPOOL_I_CALL_DETACHED = 1,
    LANEPOOL_I_CALL_CLAIMED = 2,    /* a completer is about to decide */
    LANEPOOL_I_CALL_ENDED = 4,      /* with CLAIMED: the completer is the library */
    LANEPOOL_I_CALL_DECIDED = 8,    /* the result is set */
    LANEPOOL_I_CALL_GIVEN_BACK = 16 /* in a checked build: the program's reference */
};

/* The contexts that a task uses, by the numbers of its entries; NULL where it uses none. */
typedef struct lanepool_i_context_uses {
    struct lanepool_i_context **contexts;
    size_t count;
} lanepool_i_context_uses;

/* Guards: I immutable, A atomic, L the list's lock, W the thread that runs the task, C the thread
 * that completes it. */
struct lanepool_detached {
    lanepool_i_link link;           /* L */
    lanepool_pool *pool;            /* I */
    lanepool_i_suspended suspended; /* until COMPLETION: its function has returned */
    lanepool_i_task *receiver;      /* L: set by the thread that runs the task; or NULL */
    lanepool_i_context_uses uses;   /* W: see context.h */
    _Atomic uint32_t state;         /* A */
    _Atomic uint32_t references;    /* A: the task's, and the program's if it is detached */
    lanepool_future *future;        /* I: once detached: the task's, referenced; or NULL */
    lanepool_result result;         /* C */
#if defined(LANEPOOL_CHECKED)
    lanepool_i_quarantined quarantined; /* I until the last reference is given back */
#endif
};

/* The list of a pool's records. */
typedef struct lanepool_i_call_records {
    lanepool_i_mutex lock;
    lanepool_i_list list; /* L: the newest at the end */
} lanepool_i_call_records;

bool lanepool_i_call_records_init(lanepool_i_call_records *calls);
void lanepool_i_call_records_fini(lanepool_i_call_records *calls);

/* Returns true if `run` is a call that runs a task of a pool. */
bool lanepool_i_run_is_of_pool(const lanepool_run *run);
/* Returns the call's record, made if necessary. NULL if memory cannot be allocated. */
lanepool_i_call_record *lanepool_i_call_record_make(lanepool_run *run);
/* Returns the receiver of a task that has not ended, or NULL. */
lanepool_i_task *lanepool_i_call_record_receiver_of(lanepool_i_call_records *calls,
                                                    const lanepool_i_task *task);
/* Calls `found` for at most `most` receivers whose givers have not ended, and returns how many
 * there are. Holds the lock, so the givers do not end before the return. */
size_t lanepool_i_call_records_each_receiver(lanepool_i_call_records *calls, size_t most,
                                             void (*found)(lanepool_i_task *receiver,
                                                           lanepool_i_task *giver, void *context),
                                             void *context);
/* Returns the task's record, or NULL. */
lanepool_i_call_record *lanepool_i_call_record_of(lanepool_i_call_records *calls,
                                                  const lanepool_i_task *task);
static inline bool lanepool_i_call_record_is_detached(const lanepool_i_call_record *call)
{
    return (load_relaxed(&call->state) & LANEPOOL_I_CALL_DETACHED) != 0;
}
/* Called when the function has returned or ended its thread. Returns true if the task ends now,
 * with *result if it was completed. Otherwise the task is suspended until its completion. */
bool lanepool_i_call_record_returned(lanepool_i_call_record *call, lanepool_result *result);
/* Any thread that holds no lock: ends each detached task of a pool that stops, as ABANDONED. Waits
 * for a completer that has claimed a task only if it should. */
void lanepool_i_call_records_end_all(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     bool waits);
/* Claims a detached task, and sets these bits of the state, too. Returns false if it is claimed
 * already. */
bool lanepool_i_call_record_try_claim(lanepool_i_call_record *call, uint32_t bits);
/* Claims a detached task for the library. Returns false if it was completed before. The record must
 * stay valid meanwhile; *busy is set if the program may be completing the task, and the caller must
 * try again. */
bool lanepool_i_call_record_claim(lanepool_i_call_record *call, bool *busy);
/* Ends a task that the caller has claimed, with this status. */
void lanepool_i_call_record_end_claimed(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_call_record *call, lanepool_status status);

/* Sets the result of a task that the caller has claimed, and ends the task if its function has
 * returned. */
void lanepool_i_call_record_decide(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_call_record *call, lanepool_result result);
/* Gives a reference back. */
void lanepool_i_call_record_release(lanepool_i_call_record *call);

/* Ends a call: gives the record back, and gives the lanes to the receiver, which is returned. */
lanepool_i_task *lanepool_i_call_record_end(lanepool_pool *pool, lanepool_i_call_record *call);

#endif
