/* Owns the barrier and what is held back behind it; see barrier.h. */
#include "feature/barrier.h"

#include "route/pool.h"

static bool is_message(const lanepool_i_task *node)
{
    return (load_relaxed(&node->word) & LANEPOOL_I_MESSAGE) != 0 &&
           !lanepool_i_task_is_barrier(node);
}

static void route_by_rule(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_grants *grants)
{
    store_relaxed(&task->word, load_relaxed(&task->word) & ~LANEPOOL_I_MESSAGE);
    if (lanepool_i_task_is_tombstone(task) && pool->rule->route_tombstone != NULL)
        pool->rule->route_tombstone(pool, record, task, grants);
    else
        lanepool_i_features_route(pool, record, task, grants);
}

/* --- before the barrier --- */

/* Tasks behind the barrier have tickets and count as routed, so they are subtracted. */
static uint64_t routed_before(const lanepool_pool *pool, const lanepool_i_task *barrier)
{
    uint64_t since = pool->router.next_ticket - lanepool_i_task_ticket(barrier);
    return lanepool_i_router_routed(pool) -
           (since & LANEPOOL_I_TICKET_MASK >> LANEPOOL_I_TICKET_SHIFT);
}

static bool has_finished_count(lanepool_pool *pool, uint64_t count)
{
    return lanepool_i_thread_records_finished(&pool->records) == count;
}

/* Reads `cancels` last: a canceller raises it before its tombstones can finish. So if tombstones
 * count as finished while their canceller is still at work, this function sees `cancels`. */
static void route_barrier_if_due(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_grants *grants)
{
    lanepool_i_router *router = &pool->router;
    if (router->barrier_placed || !has_finished_count(pool, router->routed_before) ||
        load_seq(&pool->lifecycle.cancels) != 0)
        return;
    router->barrier_placed = true;
    route_by_rule(pool, record, router->barrier, grants);
}

/* Raises `attention` before it reads the finished count. So a thread that finishes the last task
 * after that read checks the counters. */
static void begin_barrier(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_grants *grants)
{
    lanepool_i_router *router = &pool->router;
    fetch_add_seq(&pool->lifecycle.attention, 1);
    router->barrier = task;
    router->barrier_ticket = lanepool_i_task_ticket(task);
    router->barrier_placed = false;
    router->routed_before = routed_before(pool, task);
    route_barrier_if_due(pool, record, grants);
}

void lanepool_i_barrier_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task, lanepool_i_grants *grants)
{
    if (lanepool_i_task_is_barrier(task) && !lanepool_i_task_is_tombstone(task))
        begin_barrier(pool, record, task, grants);
    else
        route_by_rule(pool, record, task, grants);
}

/* --- after the barrier --- */

static void route_held_back(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_grants *grants)
{
    lanepool_i_router *router = &pool->router;
    fetch_sub_seq(&pool->lifecycle.attention, 1);
    router->barrier = NULL;
    router->inbox.moment++; /* tasks have finished since the last one */
    while (router->barrier == NULL && router->held_back.count > 0) {
        lanepool_i_task *node = lanepool_i_router_take_held_back(router);
        lanepool_i_message *message = (lanepool_i_message *)node;
        if (is_message(node))
            message->carry_out(pool, record, message, grants);
        else
            lanepool_i_barrier_route(pool, record, node, grants);
    }
}

/* Under a rule that reaps, a task counts as finished only once it is reaped. */
void lanepool_i_barrier_check(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_router *router = &pool->router;
    if (router->barrier == NULL)
        return;
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    route_barrier_if_due(pool, record, &grants);
    if (router->barrier_placed && has_finished_count(pool, router->routed_before + 1))
        route_held_back(pool, record, &grants);
    lanepool_i_router_pass_on(pool, record, &grants);
}

bool lanepool_i_barrier_is_due(lanepool_pool *pool)
{
    const lanepool_i_router *router = &pool->router;
    return router->barrier != NULL &&
           has_finished_count(pool, router->routed_before + router->barrier_placed);
}

void lanepool_i_barrier_lift(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_grants *grants)
{
    lanepool_i_task *barrier = pool->router.barrier;
    if (barrier == NULL || pool->router.barrier_placed || !lanepool_i_task_is_tombstone(barrier))
        return;
    route_by_rule(pool, record, barrier, grants);
    route_held_back(pool, record, grants);
}

void lanepool_i_barriers_route_all(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_router *router = &pool->router;
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    while (router->barrier != NULL) {
        if (!router->barrier_placed)
            route_by_rule(pool, record, router->barrier, &grants);
        route_held_back(pool, record, &grants);
    }
    lanepool_i_router_pass_on(pool, record, &grants);
}

/* --- what is held back --- */

bool lanepool_i_barrier_is_before(const lanepool_i_router *router, uint64_t ticket)
{
    return router->barrier != NULL && !lanepool_i_ticket_before(ticket, router->barrier_ticket);
}

bool lanepool_i_barrier_holds_back(const lanepool_i_router *router, const lanepool_i_task *task)
{
    uint64_t ticket = lanepool_i_task_ticket(task);
    return lanepool_i_barrier_is_before(router, ticket) &&
           !(ticket == router->barrier_ticket && router->barrier_placed);
}

void lanepool_i_barrier_each(const lanepool_i_router *router,
                             void (*found)(lanepool_i_task *task, void *context), void *context)
{
    if (router->barrier == NULL)
        return;
    if (!router->barrier_placed)
        found(router->barrier, context);
    lanepool_i_task *node = router->held_back.count > 0 ? router->held_back.first : NULL;
    for (; node != NULL; node = load_relaxed(&node->next))
        if (!is_message(node))
            found(node, context);
}
