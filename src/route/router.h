/*
 * The router role: one thread at a time decides which lanes new tasks enter,
 * in the inbox's order. What only the role's holder touches is plain data.
 *
 * The role's word, which stands in the inbox: TAKEN, and ASKED when someone who found it taken
 * wants the holder to look after something on its behalf.
 *
 * Every give-back, by anyone: the role becomes free by an operation in the
 * total order of `seq` operations; then the giver looks at what is left (nodes
 * that can be taken, finished tasks to reap) and, if anything is, wakes by the
 * rule of sleep.h. If nobody can be woken because all workers are inside tasks,
 * it takes the role again to reap: someone may wait for a place. Whoever published something and
 * then found the role taken may therefore leave it at that.
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
    uint64_t last_stamp;                        /* R: counts where a task's own number is needed */
    uint64_t epoch;                             /* R: newest; see pool_quiesce.h */
    _Atomic uint64_t routed[LANEPOOL_I_EPOCHS]; /* A: R writes: tasks, by epoch */
    _Atomic uint64_t lanes_live;                /* A: R writes */
    lanepool_i_task *barrier;                   /* R: the one that is waited for; see barrier.h */
    uint64_t barrier_ticket;                    /* R: its block may be gone when it has finished */
    bool barrier_placed;                        /* R: it waits for nothing any more */
    uint64_t routed_before;                     /* R: tasks */
    lanepool_i_tasks held_back;                 /* R: what stands behind it */
    _Alignas(LANEPOOL_I_CACHE_LINE) _Atomic(lanepool_i_task *) finished; /* A: tasks to reap */
} lanepool_i_router;

/* What routing has done elsewhere: the pool gives these functions (pool.c). All but `call` are for
 * the role's holder. */
typedef struct lanepool_i_router_host {
    /* Looks whether what the pool's counters are watched for has happened; see lifecycle.h. */
    void (*look)(lanepool_pool *pool, lanepool_i_thread_record *record);
    /* Any thread: gives a ready task to the caller, or the pump, that is to run it. False: that one
     * has given up, or all tasks are being handed back. */
    bool (*call)(lanepool_pool *pool, lanepool_i_task *task);
    /* Places a task that claims everything. */
    void (*route_barrier)(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_grants *grants);
    /* Places a task that does not wait in poisoned lanes. */
    void (*route_special)(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_grants *grants);
    /* Frees a reaped task, after its release callback; or without that, if it was cancelled. */
    void (*let_go)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task);
    void (*forget)(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task);
} lanepool_i_router_host;

void lanepool_i_router_init(lanepool_i_router *router);

bool lanepool_i_role_try(lanepool_i_router *router);
/* True: the role is the caller's; false: its holder has been asked. */
bool lanepool_i_role_try_or_ask(lanepool_i_router *router);
/* Gives the role back, wakes as needed, and does what the holder was asked for. Never while the
 * caller holds a lock. */
void lanepool_i_role_give_back(lanepool_pool *pool, lanepool_i_thread_record *record);

/* The same, but only says whether the holder was asked. */
bool lanepool_i_role_give_back_quietly(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Role's holder: reaps, and puts what became ready into a queue; routes a batch before, or more if
 * nothing in it becomes ready. */
void lanepool_i_router_reap(lanepool_pool *pool, lanepool_i_thread_record *record);
void lanepool_i_router_route(lanepool_pool *pool, lanepool_i_thread_record *record);
/* If the role is free: takes it, routes a batch, gives it back. */
void lanepool_i_router_try_route(lanepool_pool *pool, lanepool_i_thread_record *record);
/* The same, batch by batch, of all that was accepted before. */
void lanepool_i_router_try_route_all(lanepool_pool *pool, lanepool_i_thread_record *record);
/* If there are finished tasks to reap, and the role is free: reaps them. */
void lanepool_i_router_try_reap(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Whether a holder of the role would find something to do. */
bool lanepool_i_router_has_work(const lanepool_i_router *router);
/* The same for who will look again: it may miss what is being published. */
static inline bool lanepool_i_router_may_have_work(const lanepool_i_router *router)
{
    return lanepool_i_inbox_may_have_nodes(&router->inbox) ||
           load_relaxed(&router->finished) != NULL;
}
/* For a worker that is about to sleep: routes what stood behind a missing link, if that has been
 * made since, or has the role's holder look. */
void lanepool_i_router_refresh(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Any thread: puts a message into the inbox and sees to it that it will be carried out. False: the
 * inbox is closed. Without a record, `local` is NULL: then another thread carries it out. */
bool lanepool_i_router_send(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_message *message);
/* Any thread, after an append: routes or wakes, as the pool's routing says. */
void lanepool_i_router_after_append(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Role's holder: how many tasks were ever routed. */
uint64_t lanepool_i_router_routed(const lanepool_pool *pool);

/* Role's holder: a node that comes behind a barrier; see barrier.h. */
static inline void lanepool_i_router_hold_back(lanepool_i_router *router, lanepool_i_task *node)
{
    lanepool_i_tasks_add(&router->held_back, node);
}

/* Puts ready tasks where workers, or the callers that wait to run them, find them. */
void lanepool_i_router_put_ready(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_tasks *ready);
/* Role's holder: a task that could not wait for everything at once is to be routed once more. */
void lanepool_i_router_scan_again(lanepool_pool *pool, lanepool_i_task *task);
/* A finished task goes to the role's holder, who reaps it. */
void lanepool_i_router_reap_later(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task);

#endif
