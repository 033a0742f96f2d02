/*
 * The router role: the right to route. One thread at a time has it and routes tasks in the inbox's
 * order. Data that only the role's holder touches is plain.
 *
 * The role's word, in the inbox, has two bits:
 *   TAKEN: a thread has the role.
 *   ASKED: a thread found the role taken and wants more than routing. When the holder gives the
 *          role back, it wakes the waiters that want the role and attends to the pool's counters.
 *
 * Every give-back, by any thread:
 *   1. The giver publishes what is left in the inbox.
 *   2. It frees the role by an operation in the total order of `seq` operations.
 *   3. It checks what is left: nodes that can be taken, finished tasks to reap. If there is work,
 *      it wakes a worker by the rule of sleep.h. If all workers are inside tasks, it posts the
 *      waiters that had nothing more to route.
 *   4. If finished tasks are left and all workers are inside tasks, it takes the role again and
 *      reaps: a blocked submitter may wait for the room that this makes.
 *
 * Crowded lanes. A task that waits in the inbox blocks no lane; a rollup that waits in one of its
 * lanes blocks the others. If workers routed on while rollups wait, soon most tasks would wait, and
 * each append, grant and release would cost more. So after each batch the holder decides whether
 * the lanes are *crowded*. While they are, workers run what is ready before they route more, and
 * route one batch at a time (worker.h). The flag is a hint: a late reader routes a batch too many
 * or too few.
 *
 * No published work is lost. A thread publishes work and then tries to take the role, both in the
 * total order. If it finds the role taken, the holder frees the role later, and checks after that.
 * So the thread may leave the work to the holder.
 */
#ifndef LANEPOOL_SRC_ROUTE_ROUTER_H
#define LANEPOOL_SRC_ROUTE_ROUTER_H

#include "base/sizes.h"
#include "lane/lane.h"
#include "route/inbox.h"
#include "sched/thread_record.h"

/* Guards: A atomic, R role's holder. */
typedef struct lanepool_i_router {
    lanepool_i_inbox inbox;
    uint64_t next_ticket;                       /* R */
    uint64_t last_stamp;                        /* R: counts up, for each task that needs a stamp */
    uint64_t epoch;                             /* R: the newest; see pool_quiesce.h */
    _Atomic uint64_t routed[LANEPOOL_I_EPOCHS]; /* A: R writes: tasks routed, by epoch */
    _Atomic uint64_t lanes_live;                /* A: R writes */
    lanepool_i_task *barrier;    /* R: the barrier that holds tasks back; see barrier.h; or NULL */
    uint64_t barrier_ticket;     /* R: a copy: the barrier's block may be reused when it finishes */
    bool barrier_placed;         /* R: the barrier has been routed and waits for nothing more */
    uint64_t routed_before;      /* R: tasks routed before the barrier */
    lanepool_i_tasks held_back;  /* R: tasks and messages behind the barrier */
    lanepool_i_task *unnotified; /* R: the first of these not visited yet; see pool_quiesce.c */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) finished; /* A: tasks to reap */
} lanepool_i_router;

/* Functions of higher layers that routing calls; pool.c fills them in. Only the role's holder calls
 * them, except those for any thread. */
typedef struct lanepool_i_router_host {
    /* Checks the pool's counters; see lifecycle.h. */
    void (*check_counters)(lanepool_pool *pool, lanepool_i_thread_record *record);
    /* Any thread: gives a ready task to the caller, or to the pump, that must run it. Returns false
     * if a worker must take the task instead: its caller has given up or the pool is stopping; its
     * pump is gone or the task is a tombstone. */
    bool (*notify_caller)(lanepool_pool *pool, lanepool_i_task *task);
    /* Routes a task that claims everything. */
    void (*route_barrier)(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_grants *grants);
    /* Disposes of a reaped task. `dispose_silently` is for a cancelled task: it does not call the
     * release callback. */
    void (*dispose)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task);
    void (*dispose_silently)(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task);
    /* Any thread without a lock: stops the pool as lanepool_pool_shutdown_now() does, unless it was
     * stopped before. */
    void (*stop_now)(lanepool_pool *pool);
    /* Any thread without a lock: routed tasks wait for more than they did. Has all waits inside
     * tasks checked again, when everything accepted before has been routed. */
    void (*recheck_waits)(lanepool_pool *pool, lanepool_i_thread_record *record);
} lanepool_i_router_host;

void lanepool_i_router_init(lanepool_i_router *router);

/* Takes the role if it is free. Never blocks. */
bool lanepool_i_role_try(lanepool_i_router *router);
/* Takes the role and returns true, or asks its holder. */
bool lanepool_i_role_try_or_ask(lanepool_i_router *router);
/* Gives the role back, without a lock held, and does what the holder was asked for. */
void lanepool_i_role_give_back(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Gives the role back. Returns true if the holder was asked: the caller must do what ASKED says. */
bool lanepool_i_role_give_back_quietly(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Role's holder: reaps finished tasks, and passes on tasks that become ready. */
void lanepool_i_router_reap(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Role's holder: routes a batch, or more if no task of it becomes ready; then reaps. */
void lanepool_i_router_route(lanepool_pool *pool, lanepool_i_thread_record *record);
/* The following take the role, if it is free, and give it back. */
/* Routes a batch. */
void lanepool_i_router_try_route(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Routes all tasks accepted before. */
void lanepool_i_router_try_route_all(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Reaps, if there are finished tasks. */
void lanepool_i_router_try_reap(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Returns true if a holder of the role would find nodes to route or tasks to reap. */
bool lanepool_i_router_has_work(const lanepool_i_router *router);
/* Returns true if there is work; may miss work that is being published. A caller must check with
 * has_work before it sleeps. */
bool lanepool_i_router_may_have_work(const lanepool_i_router *router);
/* Before a worker sleeps: routes if the last holder stopped at a link that has been made since. If
 * the role is taken, asks its holder to wake a worker for that. */
void lanepool_i_router_refresh(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Any thread: appends a message to the inbox and wakes a thread for it. Returns false if the inbox
 * is closed. If `record` is NULL, only other threads carry the message out. */
bool lanepool_i_router_send(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_message *message);
/* Any thread, after its append: routes or wakes a worker, as the pool's routing option says. */
void lanepool_i_router_after_append(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Role's holder: returns how many tasks were ever routed. */
uint64_t lanepool_i_router_routed(const lanepool_pool *pool);

/* Role's holder: holds a task or a message back behind the barrier; see barrier.h. */
static inline void lanepool_i_router_hold_back(lanepool_i_router *router, lanepool_i_task *node)
{
    lanepool_i_tasks_add(&router->held_back, node);
    if (router->unnotified == NULL)
        router->unnotified = node;
}

/* Role's holder: takes the first node that is held back. */
static inline lanepool_i_task *lanepool_i_router_take_held_back(lanepool_i_router *router)
{
    lanepool_i_task *node = lanepool_i_tasks_take(&router->held_back);
    if (node != NULL && node == router->unnotified)
        router->unnotified = router->held_back.first;
    return node;
}

/* Any thread: counts what became ready, and passes it on by the next function. */
void lanepool_i_router_pass_on(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_grants *grants);
/* Any thread: gives tasks that are counted as ready to their callers and pumps, and the others to
 * the workers. */
void lanepool_i_router_put_ready(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_tasks *ready);
/* Any thread that has published ready tasks: wakes the waits inside tasks if all workers are inside
 * tasks. */
void lanepool_i_router_wake_waits_if_busy(lanepool_pool *pool);
/* Any thread, with its record or NULL: gives tasks that are counted as ready to the workers. If all
 * workers are inside tasks, wakes the waits there: one of them may need such a task. */
void lanepool_i_router_put_to_workers(lanepool_pool *pool, const lanepool_i_thread_record *record,
                                      lanepool_i_tasks *ready);
/* Any thread: puts a task on the list of tasks to reap. The role's holder reaps a finished task; it
 * routes a task with the RESCAN bit once more. */
void lanepool_i_router_push_to_reap(lanepool_pool *pool, lanepool_i_task *task);
/* Any thread: puts a task on that list. Reaps if the role is free; otherwise its holder does. */
void lanepool_i_router_reap_later(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task);

#endif
