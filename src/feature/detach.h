/*
 * Tasks whose end is something else than the return of their function: those
 * that are detached, and those that hand their lanes over to an heir.
 *
 * What is needed for that stands in a record of its own, which the call of the
 * task points to, and which is in the pool's list from its making to the task's
 * end. A task is *detached* by two parties, its function's return and its
 * completion, of which the second ends it: each exchanges the record's state, by an acquire and
 * release, so that the second sees what the first has done. Until then the task counts as a worker
 * that has not left its loop.
 *
 * The handle is the program's from the detaching to the completion, on any thread; everything else
 * here is called by who runs the task, or ends it.
 */
#ifndef LANEPOOL_SRC_FEATURE_DETACH_H
#define LANEPOOL_SRC_FEATURE_DETACH_H

#include "lane/lane.h"
#include "lanepool/held.h"
#include "sched/thread_record.h"

typedef struct lanepool_detached lanepool_i_detach;

/* Of a detached task. */
typedef enum lanepool_i_detach_state {
    LANEPOOL_I_DETACH_CALLED,
    LANEPOOL_I_DETACH_RETURNED,
    LANEPOOL_I_DETACH_COMPLETED
} lanepool_i_detach_state;

/* Guards: I immutable, A atomic, L the list's lock, W whoever runs the task, C who completes it. */
struct lanepool_detached {
    lanepool_i_detach *next;             /* L */
    lanepool_pool *pool;                 /* I */
    lanepool_i_task *task;               /* I */
    lanepool_i_task *receiver;           /* L: who runs the task writes it; NULL: none */
    struct lanepool_i_context_use *uses; /* W: of contexts; see context.h */
    bool detached;                       /* W */
    _Atomic uint32_t state;              /* A: a lanepool_i_detach_state */
    lanepool_result result;              /* C */
};

/* Stands in a call that is no run of the task. Never dereferenced. */
#define LANEPOOL_I_NOT_A_RUN ((lanepool_i_detach *)1)

/* A pool's list. */
typedef struct lanepool_i_detaches {
    lanepool_i_mutex lock;
    lanepool_i_detach *first; /* L */
} lanepool_i_detaches;

bool lanepool_i_detaches_init(lanepool_i_detaches *detaches);
void lanepool_i_detaches_fini(lanepool_i_detaches *detaches);

/* Whether this is the call of a pool's task that runs. */
bool lanepool_i_detach_is_run(const lanepool_run *run);
/* The call's record, made if it has none; NULL: memory is lacking. */
lanepool_i_detach *lanepool_i_detach_record(lanepool_run *run);
/* The heir that a task has which has not ended, or NULL. */
lanepool_i_task *lanepool_i_detach_receiver_of(lanepool_i_detaches *detaches,
                                               const lanepool_i_task *task);
/* Calls `found` for at most so many heirs whose givers have not ended, with the lock held: they do
 * not end meanwhile. Returns how many there are. */
size_t lanepool_i_detaches_each_receiver(lanepool_i_detaches *detaches, size_t most,
                                         void (*found)(lanepool_i_task *receiver,
                                                       lanepool_i_task *giver, void *context),
                                         void *context);
/* The task's record, or NULL. */
lanepool_i_detach *lanepool_i_detach_of(lanepool_i_detaches *detaches, const lanepool_i_task *task);
/* The function has returned, or ended its thread; true: the task ends with that, in `result`'s way
 * if it was completed. */
bool lanepool_i_detach_returned(lanepool_i_detach *detach, lanepool_result *result);
/* The task ends: its heir gets its lanes, and is returned; the record is gone. */
lanepool_i_task *lanepool_i_detach_end(lanepool_pool *pool, lanepool_i_detach *detach);

#endif
