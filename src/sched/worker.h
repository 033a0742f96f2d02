/*
 * The workers: threads, their rings of ready tasks, and the loop that finds the next task. A worker
 * knows nothing of keys or lanes; it reaches the pool through lanepool_i_work.
 *
 * A worker looks for a task in this order:
 *   1. The task that is pinned to it, with lanes per worker.
 *   2. The overflow list, whose tasks fitted into no ring and have waited longest.
 *   3. Its own ring.
 *   4. The older half of the next worker's ring, if nothing was taken from that ring since this
 *      worker last checked.
 *   5. Its own ring again, after `bring_ready`, which may route.
 *   6. The older half of any other worker's ring. While the lanes are crowded, step 6 comes before
 *      step 5, too: what is ready should run before more is routed.
 *
 * While the lanes are crowded, a worker that finds nothing in all these steps naps once it has
 * routed a batch. Most of what it could route would wait, perhaps for a worker that has no
 * processor, and would block lanes for all later tasks.
 *
 * A worker that finds nothing searches some rounds, then sleeps. One worker at a time searches for
 * longer, `search_ns`. So it finds the next task without being woken; to wake it would take longer
 * than many tasks do. It searches for long only if the mean of its last idle times is at most twice
 * `search_ns`. Otherwise the search would mostly be in vain.
 *
 * A worker that has slept for a while gives memory back to the system, and then sleeps on. If none
 * has time for that, busy workers do it in small parts.
 *
 * After each quantum the worker *looks around* first, for work that only other workers would find:
 * it calls `bring_ready`, then takes the oldest task of the overflow list or of another worker's
 * ring, each in turn.
 *
 * In an elastic pool workers may be absent (sleep.h). A thread that claims an absent worker starts
 * its new thread at once. The claimer holds no lock then, but may hold the router role. The new
 * thread waits until the claimer has stored its handle, and joins the worker's previous thread,
 * which has nothing left to do but end. From then on the worker belongs to the new thread.
 *
 * A pool without threads has one worker. The thread that makes a step for it acts as this worker
 * (lanepool_i_worker_step()). The worker counts as busy all the time, and never sleeps.
 *
 * A feature may keep the ready tasks in an order of its own (lanepool_i_ready_order). Then all of
 * them are in the overflow list, and the rings take none. After each task a worker chooses anew
 * (worker_order.c).
 */
#ifndef LANEPOOL_SRC_SCHED_WORKER_H
#define LANEPOOL_SRC_SCHED_WORKER_H

#include "base/idle_time.h"
#include "sched/ready_ring.h"
#include "sched/sleep.h"
#include "task/event_ring.h"

/* One order of all ready tasks, in place of the overflow list's. The overflow list's lock guards
 * it. */
typedef struct lanepool_i_ready_order lanepool_i_ready_order;
struct lanepool_i_ready_order {
    /* Takes all tasks over. */
    void (*add)(lanepool_i_ready_order *order, lanepool_i_tasks *ready);
    /* Takes the first task out. Returns NULL if there is none, or if a task of this urgency would
     * precede it (`urgent`, below). */
    lanepool_i_task *(*take)(lanepool_i_ready_order *order, uint32_t urgent);
    /* Calls `found` for each task. */
    void (*each)(lanepool_i_ready_order *order, void (*found)(lanepool_i_task *task, void *context),
                 void *context);
};

typedef struct lanepool_i_workers lanepool_i_workers;
typedef struct lanepool_i_worker lanepool_i_worker;

/* The pool, as its workers see it. Called on the worker's thread, except `start`. `is_work_left`
 * must be quick. */
typedef struct lanepool_i_work {
    /* The thread begins. */
    void (*begin)(void *owner, lanepool_i_worker *worker);
    /* Runs a ready task, and tasks that it makes ready, for at most a quantum. */
    void (*run)(void *owner, lanepool_i_worker *worker, lanepool_i_task *task);
    /* Brings ready tasks into the worker's ring, if there are tasks to route. */
    void (*bring_ready)(void *owner, lanepool_i_worker *worker);
    /* Routes all that was accepted, and nothing else. NULL unless the workers choose tasks in one
     * order. */
    void (*route_all)(void *owner, lanepool_i_worker *worker);
    /* With `route_all`: this worker has published ready tasks, and has left some of them. */
    void (*ready_left)(void *owner);
    /* Returns true if the lanes are crowded (router.h) and the worker could route more. */
    bool (*is_crowded)(void *owner);
    /* Returns true if `bring_ready` would find something, in the total order of seq_cst operations.
     */
    bool (*is_work_left)(void *owner, lanepool_i_worker *worker);
    /* The last searcher stops with a task and has seen no work left. Returns true if there may be
     * work that only `before_sleep` can detect; then another worker is woken for it. */
    bool (*may_work_be_hidden)(void *owner, lanepool_i_worker *worker);
    /* The worker has set its flag and is about to sleep. */
    void (*before_sleep)(void *owner, lanepool_i_worker *worker);
    /* Returns true if there may be memory to trim, now or later. */
    bool (*may_trim)(void *owner);
    /* The worker sleeps, for all other threads. Trims until it is done or the worker is woken. */
    void (*trim_asleep)(void *owner, lanepool_i_worker *worker);
    /* The worker is busy. Does some parts of a trim if that is due. */
    void (*trim_busy)(void *owner, lanepool_i_worker *worker);
    /* A task has ended the thread. Treats the task as if it had returned. */
    void (*end_abandoned)(void *owner, lanepool_i_worker *worker);
    /* The thread ends; its last call. */
    void (*end)(void *owner, lanepool_i_worker *worker);
    /* The worker leaves its loop; or, after that, it is back in its loop. Without a thread: a step
     * ends, or begins. */
    void (*worker_leaves)(void *owner, lanepool_i_worker *worker);
    void (*worker_returns)(void *owner, lanepool_i_worker *worker);
    /* Starts a thread for an absent worker, which the calling thread has claimed, or calls
     * lanepool_i_workers_thread_failed(). */
    void (*start)(void *owner, size_t index);
} lanepool_i_work;

/* Guards: I immutable, W the worker, A atomic, C the thread that has claimed the absent worker, or,
 * when no worker is left, the one that joins. */
struct lanepool_i_worker {
    lanepool_i_ready_ring queue;
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_workers *workers; /* I */
    size_t index;                                                /* I */
    void *record;                                                /* I: the owner's thread record */
    lanepool_i_ring *ring;                                       /* I: its events, or NULL */
    void *context;                     /* W: the program's, for the worker's tasks */
    lanepool_i_tasks kept;             /* W: made ready by its last task, and not published yet */
    uint32_t ran;                      /* W: tasks run since it last looked around */
    uint64_t quantum_start_ns;         /* W: when it last looked around */
    uint64_t now_ns;                   /* W: when it last ran a task or slept */
    size_t turn;                       /* W: whose turn it is at looking around */
    uint32_t next_worker_took;         /* W: tasks taken from the next worker's ring by then */
    uint32_t own_took;                 /* W: tasks taken from its own ring by then */
    uint32_t routing_put_off;          /* W: quanta in a row in which it did not route */
    uint64_t idle_since_ns;            /* W: when it had found no task in a short search; or 0 */
    lanepool_i_gap_mean idle_gaps;     /* W: from then until it had a task */
    bool looked_elsewhere;             /* W: it has looked elsewhere since */
    bool searching;                    /* W: it counts as searching (sleep.h) */
    bool ended;                        /* W: `end` has been called */
    bool is_leaving;                   /* W: its thread ends, the pool does not */
    bool begun;                        /* W: it has made a step */
    _Atomic uint64_t stolen;           /* A: W writes */
    _Atomic uint64_t task_ns;          /* A: W writes: how long the functions of its last tasks ran
                                          on average; only with lanes per worker */
    lanepool_i_thread thread;          /* C */
    lanepool_i_thread previous_thread; /* C: the previous one, which `thread` joins */
    bool has_thread;                   /* C: `thread` is not joined yet */
    bool has_previous_thread;          /* C */
};

/* A task that takes less is over before another worker could have been woken for it. */
#define LANEPOOL_I_SHORT_TASK_NS ((uint64_t)4000)

/* Records how long a task's function ran. No task counts for more than two short ones, so one that
 * was interrupted changes little. */
static inline void lanepool_i_worker_note_time(lanepool_i_worker *worker, uint64_t task_ns)
{
    uint64_t mean_ns = load_relaxed(&worker->task_ns);
    uint64_t most_ns = 2 * LANEPOOL_I_SHORT_TASK_NS;
    task_ns = task_ns < most_ns ? task_ns : most_ns;
    store_relaxed(&worker->task_ns, mean_ns - mean_ns / 4 + task_ns / 4);
}

#define LANEPOOL_I_HALT_STOP  1u /* leave the loop as soon as nothing runs */
#define LANEPOOL_I_HALT_PAUSE 2u /* take no task; only route */

struct lanepool_i_workers {
    lanepool_i_sleepers sleepers;
    lanepool_i_worker *all;      /* I */
    size_t worker_count;         /* I */
    uint64_t search_ns;          /* I: how long one worker searches before it sleeps */
    uint64_t idle_ns;            /* I: after so much sleep a worker may leave */
    size_t stack_size;           /* I: of each thread; 0: the system's default */
    _Atomic uint64_t refused_ns; /* A: when the system refused a thread, or 0 */
    uint32_t quantum_tasks;      /* I */
    uint32_t chain_tasks;        /* I: at most so many tasks run in a chain; see run.c */
    uint64_t quantum_ns;         /* I */
    const lanepool_i_work *work; /* I */
    void *owner;                 /* I */
    _Atomic uint32_t halt;       /* A: HALT_ bits; 0 while tasks are run */
    _Alignas(LANEPOOL_I_CACHE_LINE) lanepool_i_word_lock overflow_lock; /* P */
    lanepool_i_tasks overflow;                                          /* P */
    lanepool_i_ready_order *order; /* I: replaces `overflow`, or NULL */
    _Atomic size_t overflow_count; /* A: P writes */
    /* A: with `order`: one more than the highest priority among the accepted tasks that may not be
     * routed yet, or 0 if none of them has a priority; see worker_order.c. */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic uint32_t urgent;
};

/* As urgent as a task can be. */
#define LANEPOOL_I_MOST_URGENT (LANEPOOL_PRIORITY_MAX + 1)

/* The worker's loop: finds tasks and runs them until the workers stop, or the worker leaves. */
void lanepool_i_worker_run_loop(lanepool_i_worker *worker);
/* Makes one step of a worker without a thread, on the calling thread: runs a task, or ends after
 * the workers were stopped. Returns false if there is nothing to do. */
bool lanepool_i_worker_step(lanepool_i_worker *worker);
/* Before the loop, on the thread of a worker that was absent: it searches first, as if woken. */
void lanepool_i_worker_begin_search(lanepool_i_worker *worker);

/* The first `resident` workers never leave; the others are absent at first. `order` must be set
 * before. */
bool lanepool_i_workers_init(lanepool_i_workers *workers, size_t worker_count, size_t resident,
                             const lanepool_i_work *work, void *owner);
void lanepool_i_workers_fini(lanepool_i_workers *workers);
/* Starts the residents' threads. Returns false, with none left running, if the system refuses
 * one. */
bool lanepool_i_workers_start(lanepool_i_workers *workers);
/* Starts the thread of an absent worker that the caller has claimed. Returns false if the system
 * refuses it. */
bool lanepool_i_workers_start_absent(lanepool_i_workers *workers, size_t index);
/* Records that the system refused a thread for a claimed worker. A worker that looks around later
 * tries again. */
void lanepool_i_workers_thread_failed(lanepool_i_workers *workers, size_t index);
/* Lets refused threads be tried for again after a while. Elastic pools only. */
void lanepool_i_worker_retry_threads(lanepool_i_worker *worker);
/* Makes the workers leave their loop once their tasks have returned. Any thread. */
void lanepool_i_workers_stop(lanepool_i_workers *workers);
static inline bool lanepool_i_workers_are_stopped(const lanepool_i_workers *workers)
{
    return (load_seq(&workers->halt) & LANEPOOL_I_HALT_STOP) != 0;
}

/* Make the workers take no more tasks, or take tasks again. Any thread. */
void lanepool_i_workers_pause(lanepool_i_workers *workers);
void lanepool_i_workers_resume(lanepool_i_workers *workers);
static inline bool lanepool_i_workers_are_paused(const lanepool_i_workers *workers)
{
    return (load_seq(&workers->halt) & LANEPOOL_I_HALT_PAUSE) != 0;
}

void lanepool_i_workers_join(lanepool_i_workers *workers);

static inline void lanepool_i_worker_ran_one(lanepool_i_worker *worker)
{
    worker->ran++;
    worker->now_ns = lanepool_i_clock_coarse();
}

/* The task that the worker runs counts as so many more. */
static inline void lanepool_i_worker_ran_more(lanepool_i_worker *worker, uint32_t count)
{
    worker->ran += count;
}

static inline bool lanepool_i_worker_quantum_is_over(const lanepool_i_worker *worker)
{
    return worker->ran >= worker->workers->quantum_tasks ||
           worker->now_ns - worker->quantum_start_ns > worker->workers->quantum_ns;
}

/* Puts a found task back among the ready ones. Returns NULL. */
lanepool_i_task *lanepool_i_worker_return_task(lanepool_i_worker *worker, lanepool_i_task *task);

/* Returns `task`; if the workers were halted, puts it back and returns NULL. Taking the task has
 * made visible the end that made it ready, and all before that end. So if that end came after a
 * call that halts, this relaxed load sees `halt`, and the task does not start. */
static inline lanepool_i_task *lanepool_i_worker_unless_halted(lanepool_i_worker *worker,
                                                               lanepool_i_task *task)
{
    if (task != NULL && __builtin_expect(load_relaxed(&worker->workers->halt) != 0, 0))
        return lanepool_i_worker_return_task(worker, task);
    return task;
}

/* Returns the next task of a worker that has run one, from its own ring; NULL if other tasks come
 * first, or there is none. Then the worker looks everywhere. */
static inline lanepool_i_task *lanepool_i_worker_next(lanepool_i_worker *worker)
{
    const lanepool_i_workers *workers = worker->workers;
    if (lanepool_i_worker_quantum_is_over(worker) || load_relaxed(&workers->overflow_count) != 0)
        return NULL;
    return lanepool_i_worker_unless_halted(worker, lanepool_i_ready_ring_take(&worker->queue));
}

/* Finds the next task of a worker that has run one, where all ready tasks are in one order.
 * Publishes the kept tasks first. Returns NULL if the worker must look around, or stop. */
lanepool_i_task *lanepool_i_worker_next_in_order(lanepool_i_worker *worker);
/* Finds a task for a worker that keeps none. Looks around once a quantum. */
lanepool_i_task *lanepool_i_worker_find_in_order(lanepool_i_worker *worker);
static inline bool lanepool_i_worker_is_in_order(const lanepool_i_worker *worker)
{
    return worker->workers->work->route_all != NULL;
}

/* After an append, with the highest urgency of the appended tasks. Any thread. */
static inline void lanepool_i_workers_urge(lanepool_i_workers *workers, uint32_t urgent)
{
    uint32_t found = load_seq(&workers->urgent);
    while (found < urgent && !cas_seq(&workers->urgent, &found, urgent))
        continue;
}

/* Puts ready tasks into worker `index`'s ring and the rest into the overflow list, then applies the
 * wake rule. Any thread. */
void lanepool_i_workers_put(lanepool_i_workers *workers, size_t index, lanepool_i_tasks *ready);
/* Makes the ready task one that only worker `index` runs, which has none of this sort, and wakes
 * that worker. Any thread. */
void lanepool_i_workers_pin(lanepool_i_workers *workers, size_t index, lanepool_i_task *task);
/* Puts back tasks that were ready before. While the pool is paused, wakes no worker. */
void lanepool_i_workers_put_back(lanepool_i_workers *workers, size_t index,
                                 lanepool_i_tasks *ready);
/* Returns the worker whose ring holds the fewest tasks. O(workers). */
size_t lanepool_i_workers_least_loaded(const lanepool_i_workers *workers);
/* Returns true if a ring or the overflow list holds a task, in the total order of seq_cst
 * operations. */
bool lanepool_i_workers_have_ready(const lanepool_i_workers *workers);
/* Calls `found` for each task in the overflow list, under its lock. */
void lanepool_i_workers_each_overflow_locked(const lanepool_i_workers *workers,
                                             void (*found)(lanepool_i_task *task, void *context),
                                             void *context);
/* Takes all tasks out of the rings and the overflow list. */
void lanepool_i_workers_take_all(lanepool_i_workers *workers, lanepool_i_tasks *tasks);
/* Takes all pinned tasks, once no worker is left. */
void lanepool_i_workers_take_all_pinned(lanepool_i_workers *workers, lanepool_i_tasks *tasks);

#endif
