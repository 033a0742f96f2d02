/*
 * Tasks that end otherwise than by the return of their function: detached tasks, and tasks that
 * hand their lanes to a receiver.
 *
 * The call of such a task has a record, and so has a call that uses contexts. The record is in the
 * pool's list until the call has ended.
 *
 * A *detached* task ends when its function has returned and the program has completed it, in either
 * order. Each side exchanges `state` with acquire and release. The second side sees what the first
 * has done, and ends the task. Until then the task counts as a worker that has not left its loop.
 *
 * The program may use the handle from the detaching to the completion, on any thread. The functions
 * that search for receivers lock the list, and any thread may call them. All others are called by
 * the thread that runs or ends the task.
 */
#ifndef LANEPOOL_SRC_FEATURE_DETACH_H
#define LANEPOOL_SRC_FEATURE_DETACH_H

#include "lane/lane.h"
#include "lanepool/held.h"
#include "sched/thread_record.h"

typedef struct lanepool_detached lanepool_i_detach;

/* The state of a detached task. */
typedef enum lanepool_i_detach_state {
    LANEPOOL_I_DETACH_CALLED,
    LANEPOOL_I_DETACH_RETURNED,
    LANEPOOL_I_DETACH_COMPLETED
} lanepool_i_detach_state;

/* Guards: I immutable, A atomic, L the list's lock, W the thread that runs the task, C the thread
 * that completes it. */
struct lanepool_detached {
    lanepool_i_detach *next;             /* L */
    lanepool_pool *pool;                 /* I */
    lanepool_i_task *task;               /* I */
    lanepool_i_task *receiver;           /* L: set by the thread that runs the task; or NULL */
    struct lanepool_i_context_use *uses; /* W: see context.h */
    bool detached;                       /* W */
    _Atomic uint32_t state;              /* A: a lanepool_i_detach_state */
    lanepool_result result;              /* C */
};

/* The `detach` of a call with LANEPOOL_CALL_CANCELLED. Never dereferenced. */
#define LANEPOOL_I_NOT_A_RUN ((lanepool_i_detach *)1)

/* The list of a pool's records. */
typedef struct lanepool_i_detaches {
    lanepool_i_mutex lock;
    lanepool_i_detach *first; /* L */
} lanepool_i_detaches;

bool lanepool_i_detaches_init(lanepool_i_detaches *detaches);
void lanepool_i_detaches_fini(lanepool_i_detaches *detaches);

/* Returns true if `run` is a call that runs a task of a pool. */
bool lanepool_i_detach_is_run(const lanepool_run *run);
/* Returns the call's record, made if necessary. NULL if memory cannot be allocated. */
lanepool_i_detach *lanepool_i_detach_record(lanepool_run *run);
/* Returns the receiver of a task that has not ended, or NULL. */
lanepool_i_task *lanepool_i_detach_receiver_of(lanepool_i_detaches *detaches,
                                               const lanepool_i_task *task);
/* Calls `found` for at most `most` receivers whose givers have not ended, and returns how many
 * there are. Holds the lock, so the givers do not end before the return. */
size_t lanepool_i_detaches_each_receiver(lanepool_i_detaches *detaches, size_t most,
                                         void (*found)(lanepool_i_task *receiver,
                                                       lanepool_i_task *giver, void *context),
                                         void *context);
/* Returns the task's record, or NULL. */
lanepool_i_detach *lanepool_i_detach_of(lanepool_i_detaches *detaches, const lanepool_i_task *task);
/* Called when the function has returned or ended its thread. Returns true if the task ends now,
 * with *result if it was completed. */
bool lanepool_i_detach_returned(lanepool_i_detach *detach, lanepool_result *result);
/* Ends a call: frees the record, and gives the lanes to the receiver, which is returned. */
lanepool_i_task *lanepool_i_detach_end(lanepool_pool *pool, lanepool_i_detach *detach);

#endif
