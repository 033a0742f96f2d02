/*
 * The workers: threads, their queues of ready tasks, and the loop that finds
 * the next one. A worker knows nothing of keys or lanes; what it works for is
 * behind lanepool_i_work.
 *
 * Where a worker looks, in this order: the spill, where ready tasks stand that
 * fitted into no queue, and have waited longest; its own queue; the older half of
 * the next worker's, if that has taken nothing since this one last looked; what
 * `look` brings (it may route); the older half of another's queue. After each quantum it looks
 * first at what others would find: it calls `look`, and runs the oldest task of the spill or of
 * another queue, each in its turn.
 *
 * In an elastic crew workers may be absent (sleep.h). Who claims one starts its thread at once, on
 * its own, holding no lock: it may hold the router role. The new thread first waits until its
 * starter has written down its handle, and joins the thread that the worker had before, which has
 * nothing more to do than to end: from then on the worker is its own.
 *
 * With priorities all ready tasks stand in the spill, which is in their order then
 * (priority_queue.h), and no queue takes any: a worker that has run one looks around each time, and
 * takes the first of the highest.
 */
#ifndef LANEPOOL_SRC_SCHED_WORKER_H
#define LANEPOOL_SRC_SCHED_WORKER_H

#include "sched/priority_queue.h"
#include "sched/ready_ring.h"
#include "sched/sleep.h"
#include "task/event_ring.h"

typedef struct lanepool_i_workers lanepool_i_workers;
typedef struct lanepool_i_worker lanepool_i_worker;

/* What workers work for. All calls come on the worker's thread; `left` must be quick. */
typedef struct lanepool_i_work {
    /* The thread begins. */
    void (*begin)(void *owner, lanepool_i_worker *worker);
    /* Runs a ready task, and what it makes ready, up to a quantum. */
    void (*run)(void *owner, lanepool_i_worker *worker, lanepool_i_task *task);
    /* Brings ready tasks into the worker's queue, if there are some to be routed. */
    void (*look)(void *owner, lanepool_i_worker *worker);
    /* The worker's own next task before all others, or NULL (lanes per worker). */
    lanepool_i_task *(*own)(void *owner, lanepool_i_worker *worker);
    /* Whether `look`, or `own`, would find something; in the total order of `seq` operations. */
    bool (*left)(void *owner, lanepool_i_worker *worker);
    bool (*has_own)(void *owner, lanepool_i_worker *worker);
    /* The last searcher leaves with a task and has seen nothing left: whether there may be
     * something all the same that only `idle` can tell, so that another worker is to find out. */
    bool (*uncertain)(void *owner, lanepool_i_worker *worker);
    /* The worker has found nothing and has its flag set; it is about to sleep. */
    void (*idle)(void *owner, lanepool_i_worker *worker);
    /* The task that runs has ended the thread: to be treated as having returned. */
    void (*abandoned)(void *owner, lanepool_i_worker *worker);
    /* The thread ends. The last thing that it does. */
    void (*end)(void *owner, lanepool_i_worker *worker);
    /* The worker leaves, or comes back to its loop after all. */
    void (*leave)(void *owner, lanepool_i_worker *worker);
    void (*come_back)(void *owner, lanepool_i_worker *worker);
    /* The calling thread has claimed this absent worker: calls lanepool_i_workers_start_absent(),
     * or lanepool_i_workers_thread_failed(). */
    void (*start)(void *owner, size_t index);
} lanepool_i_work;

/* Guards: I immutable, W the worker, A atomic, C who has claimed it while it was absent, and, when
 * no worker is left, who joins. */
struct lanepool_i_worker {
    lanepool_i_ready_ring queue;
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_workers *workers; /* I */
    size_t index;                                                /* I */
    void *record;                       /* I: what the owner keeps for the thread */
    lanepool_i_ring *ring;              /* I: its events, or NULL */
    void *context;                      /* W: the program's, for its tasks */
    uint32_t ran;                       /* W: tasks run since the last look around */
    uint64_t looked_at_ns;              /* W: when that was */
    uint64_t now_ns;                    /* W: when it last ran a task or slept */
    size_t turn;                        /* W: whose turn it is in looking around */
    uint32_t neighbour_took;            /* W: what the next worker had taken then */
    uint32_t own_took;                  /* W: the same of its own queue */
    uint32_t put_off;                   /* W: how often in a row it did not route */
    bool took_elsewhere;                /* W: since then it has, or has tried */
    bool searching;                     /* W: counted as searching in the park */
    bool ended;                         /* W: `end` has been called */
    bool leaves;                        /* W: its thread ends, and not the pool */
    _Atomic uint64_t taken_from_others; /* A: W writes */
    lanepool_i_thread thread;           /* C */
    lanepool_i_thread before;           /* C: the one that `thread` joins */
    bool has_thread;                    /* C: which nobody has joined */
    bool has_before;                    /* C */
};

#define LANEPOOL_I_HALT_STOP  1u /* the workers leave their loop as soon as nothing runs */
#define LANEPOOL_I_HALT_PAUSE 2u /* no task is taken: the workers only route */

struct lanepool_i_workers {
    lanepool_i_sleepers sleepers;
    lanepool_i_worker *all;      /* I */
    size_t worker_count;         /* I */
    uint64_t idle_ns;            /* I: then a worker may leave */
    _Atomic uint64_t refused_ns; /* A: when no thread could be had, or 0 */
    uint32_t quantum_tasks;      /* I */
    uint64_t quantum_ns;         /* I */
    const lanepool_i_work *work; /* I */
    void *owner;                 /* I */
    _Atomic uint32_t halt;       /* A: HALT_ bits; 0: tasks are run */
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_mutex overflow_lock; /* P */
    lanepool_i_tasks overflow;                                      /* P */
    lanepool_i_priority_queue *priority_queue;                      /* I: in its place, or NULL */
    _Atomic size_t overflow_count;                                  /* A: P writes */
};

/* The first `resident` workers never leave, the others are absent at first. `levels`: with
 * priorities; NULL: without. */
bool lanepool_i_workers_init(lanepool_i_workers *workers, size_t worker_count, size_t resident,
                             const lanepool_i_work *work, void *owner,
                             lanepool_i_priority_queue *queue);
void lanepool_i_workers_fini(lanepool_i_workers *workers);
/* Starts the residents' threads; false: not all could be had, and none is left. */
bool lanepool_i_workers_start(lanepool_i_workers *workers);
/* Of an absent worker that the caller has claimed: starts its thread; false: it cannot be had. */
bool lanepool_i_workers_start_absent(lanepool_i_workers *workers, size_t index);
/* The same: a thread could not be had. It is tried again when a worker looks around later. */
void lanepool_i_workers_thread_failed(lanepool_i_workers *workers, size_t index);
/* The worker sees whether threads are to be tried for again, of an elastic crew. */
void lanepool_i_worker_retry_threads(lanepool_i_worker *worker);
/* Any thread: makes the workers leave once what they run has returned. */
void lanepool_i_workers_stop(lanepool_i_workers *workers);
static inline bool lanepool_i_workers_is_stopped(const lanepool_i_workers *workers)
{
    return (load_seq(&workers->halt) & LANEPOOL_I_HALT_STOP) != 0;
}

/* Any thread: the workers take no task any more, or go on. */
void lanepool_i_workers_pause(lanepool_i_workers *workers);
void lanepool_i_workers_resume(lanepool_i_workers *workers);
static inline bool lanepool_i_workers_is_paused(const lanepool_i_workers *workers)
{
    return (load_seq(&workers->halt) & LANEPOOL_I_HALT_PAUSE) != 0;
}

void lanepool_i_workers_join(lanepool_i_workers *workers);

/* The worker has run a task. */
static inline void lanepool_i_worker_ran_one(lanepool_i_worker *worker)
{
    worker->ran++;
    worker->now_ns = lanepool_i_clock_coarse();
}

/* Whether it is time to look around: counted in tasks and in time. */
static inline bool lanepool_i_worker_quantum_is_over(const lanepool_i_worker *worker)
{
    return worker->ran >= worker->workers->quantum_tasks ||
           worker->now_ns - worker->looked_at_ns > worker->workers->quantum_ns;
}

/* Puts a task back that the worker has found; returns NULL. */
lanepool_i_task *lanepool_i_worker_leave(lanepool_i_worker *worker, lanepool_i_task *task);

/* What a worker has found, or NULL, unless the crew has been halted. Who finds a task has seen the
 * end that made it ready: so none starts that became ready only after a call that halts. */
static inline lanepool_i_task *lanepool_i_worker_unless_halted(lanepool_i_worker *worker,
                                                               lanepool_i_task *task)
{
    if (task != NULL && __builtin_expect(load_relaxed(&worker->workers->halt) != 0, 0))
        return lanepool_i_worker_leave(worker, task);
    return task;
}

/* The next task of a worker that has run one, if it stands in its own queue and nothing comes
 * before that: else NULL, and the worker is to look everywhere. */
static inline lanepool_i_task *lanepool_i_worker_next(lanepool_i_worker *worker)
{
    const lanepool_i_workers *workers = worker->workers;
    if (lanepool_i_worker_quantum_is_over(worker) || load_relaxed(&workers->overflow_count) != 0)
        return NULL;
    return lanepool_i_worker_unless_halted(worker, lanepool_i_ready_ring_take(&worker->queue));
}

/* Puts ready tasks into worker `index`'s queue, the rest into the spill, and wakes by the rule.
 * Any thread. */
void lanepool_i_workers_put(lanepool_i_workers *workers, size_t index, lanepool_i_tasks *ready);
/* The same for tasks that have stood ready before. */
void lanepool_i_workers_put_back(lanepool_i_workers *workers, size_t index,
                                 lanepool_i_tasks *ready);
/* The worker whose queue holds the fewest tasks. O(workers). */
size_t lanepool_i_workers_least_loaded(const lanepool_i_workers *workers);
/* Whether a queue or the spill holds something; in the total order of `seq` operations. */
bool lanepool_i_workers_has_ready(const lanepool_i_workers *workers);
/* Under the spill's lock: how many stand there, and each of them. */
size_t lanepool_i_workers_overflow_count_locked(const lanepool_i_workers *workers);
void lanepool_i_workers_each_overflow_locked(const lanepool_i_workers *workers,
                                             void (*found)(lanepool_i_task *task, void *context),
                                             void *context);
/* Takes everything out of queues and spill, once no worker is left. */
void lanepool_i_workers_take_all(lanepool_i_workers *workers, lanepool_i_tasks *tasks);

#endif
