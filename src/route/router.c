/* Owns the router role, the tickets, and the reaping of finished tasks; see router.h. */
#include "route/router.h"

#include "base/planted.h"
#include "route/pool.h"

#define TAKEN 1u
#define ASKED 2u

void lanepool_i_router_init(lanepool_i_router *router)
{
    lanepool_i_inbox_init(&router->inbox);
    router->next_ticket = LANEPOOL_I_FIRST_TICKET;
    router->last_stamp = 0;
    router->barrier = NULL;
    router->held_back = (lanepool_i_tasks){ NULL, NULL, 0 };
    router->unnotified = NULL;
    router->epoch = 0;
    for (size_t i = 0; i < LANEPOOL_I_EPOCHS; i++)
        atomic_init(&router->routed[i], 0);
    atomic_init(&router->finished, NULL);
    atomic_init(&router->lanes_live, 0);
}

/* --- the role --- */

/* Reads the word in the total order: a thread that finds the role taken leaves its work to the
 * holder, whose check for work follows. */
bool lanepool_i_role_try(lanepool_i_router *router)
{
    if (PLANTED(TWO_ROUTERS) && load_seq(&router->inbox.role) == 0) {
        store_seq(&router->inbox.role, TAKEN);
        return true;
    }
    return load_seq(&router->inbox.role) == 0 &&
           (fetch_or_seq(&router->inbox.role, TAKEN) & TAKEN) == 0;
}

/* If the role becomes free between the two steps, the caller takes it with ASKED set, and attends
 * once more than needed. */
bool lanepool_i_role_try_or_ask(lanepool_i_router *router)
{
    return lanepool_i_role_try(router) ||
           (fetch_or_seq(&router->inbox.role, TAKEN | ASKED) & TAKEN) == 0;
}

bool lanepool_i_router_has_work(const lanepool_i_router *router)
{
    return lanepool_i_inbox_has_nodes(&router->inbox) || load_seq(&router->finished) != NULL;
}

bool lanepool_i_router_may_have_work(const lanepool_i_router *router)
{
    return lanepool_i_inbox_may_have_nodes(&router->inbox) ||
           load_relaxed(&router->finished) != NULL;
}

/* Frees the role and wakes a thread for the work that is left. Returns true if the holder was
 * asked. */
static bool free_role(lanepool_pool *pool)
{
    lanepool_i_router *router = &pool->router;
    lanepool_i_inbox_publish(&router->inbox);
    bool asked = (exchange_seq(&router->inbox.role, 0) & ASKED) != 0;
    /* A thread that asked could not tell, while the role was taken, whether the inbox is half
     * linked. If so, the link may have been made since, and its maker may have relied on that
     * thread. A worker is woken to read the link again. */
    if (!lanepool_i_router_has_work(router) &&
        !(asked && lanepool_i_inbox_is_half_linked(&router->inbox)))
        return asked;
    lanepool_i_sleepers_wake(&pool->workers.sleepers);
    if (lanepool_i_sleepers_all_busy(&pool->workers.sleepers))
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_NODE_WAITERS);
    return asked;
}

/* Takes the role again if no other thread can reap: all workers are inside tasks or about to be. */
static bool must_reap(lanepool_pool *pool)
{
    return load_seq(&pool->router.finished) != NULL &&
           lanepool_i_sleepers_all_busy(&pool->workers.sleepers) &&
           lanepool_i_role_try(&pool->router);
}

bool lanepool_i_role_give_back_quietly(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    bool asked = free_role(pool);
    while (must_reap(pool)) {
        lanepool_i_router_reap(pool, record);
        asked |= free_role(pool);
    }
    return asked;
}

void lanepool_i_role_give_back(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    bool asked = lanepool_i_role_give_back_quietly(pool, record);
    if (asked)
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_ROLE_WAITERS);
    /* A worker attends before it sleeps anyway. After any other thread, no thread would. A worker
     * that trims has attended, and has changed no counter since. */
    if (asked || record->worker == NULL)
        lanepool_i_lifecycle_attend(pool, record);
}

/* --- routing --- */

static void give_ticket(lanepool_i_router *router, lanepool_i_task *task)
{
    size_t epoch = router->epoch % LANEPOOL_I_EPOCHS;
    uint64_t word = load_relaxed(&task->word);
    word |= router->next_ticket++ << LANEPOOL_I_TICKET_SHIFT;
    word |= (uint64_t)epoch << LANEPOOL_I_EPOCH_SHIFT;
    store_relaxed(&task->word, word);
    lanepool_i_count_up(&router->routed[epoch], 1);
}

uint64_t lanepool_i_router_routed(const lanepool_pool *pool)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < LANEPOOL_I_EPOCHS; i++)
        sum += load_relaxed(&pool->router.routed[i]);
    return sum;
}

static LANEPOOL_I_COLD void carry_out_message(lanepool_pool *pool, lanepool_i_thread_record *record,
                                              lanepool_i_message *message,
                                              lanepool_i_grants *grants)
{
    if (pool->router.barrier != NULL && !message->urgent)
        lanepool_i_router_hold_back(&pool->router, &message->node);
    else
        message->carry_out(pool, record, message, grants);
    pool->router.inbox.moment++;
}

/* Carries out a message, or routes a task that a feature may route instead of the rule. */
static LANEPOOL_I_COLD void route_special_node(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               lanepool_i_task *node, lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&node->word);
    if ((word & LANEPOOL_I_WIDE) == 0) {
        carry_out_message(pool, record, (lanepool_i_message *)node, grants);
        return;
    }
    store_relaxed(&node->word, word & ~LANEPOOL_I_MESSAGE);
    give_ticket(&pool->router, node);
    if (lanepool_i_records_task(record->ring, LANEPOOL_EVENT_ROUTE, node))
        lanepool_i_ring_write_route(record->ring, node, pool->router.inbox.moment);
    if (pool->router.barrier != NULL)
        lanepool_i_router_hold_back(&pool->router, node);
    else
        lanepool_i_features_route(pool, record, node, grants);
}

static void route_node(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                       lanepool_i_grants *grants)
{
    bool is_message = (load_relaxed(&task->word) & LANEPOOL_I_MESSAGE) != 0;
    if (is_message && !lanepool_i_task_is_barrier(task)) {
        route_special_node(pool, record, task, grants);
        return;
    }
    give_ticket(&pool->router, task);
    if (lanepool_i_records_task(record->ring, LANEPOOL_EVENT_ROUTE, task))
        lanepool_i_ring_write_route(record->ring, task, pool->router.inbox.moment);
    if (is_message && pool->router.barrier == NULL) {
        pool->host->route_barrier(pool, record, task, grants);
        return;
    }
    if (__builtin_expect(pool->router.barrier != NULL, 0))
        lanepool_i_router_hold_back(&pool->router, task);
    else
        pool->rule->route(pool, record, task, grants);
}

/* Acquire: what other threads did to the tasks happens before they are reaped. A task that could
 * not wait for all its conflicts at once is routed once more. */
static void reap_finished(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_grants *grants)
{
    if (load_relaxed(&pool->router.finished) == NULL)
        return;
    lanepool_i_task *task = exchange_acquire(&pool->router.finished, NULL);
    while (task != NULL) {
        lanepool_i_task *next = load_relaxed(&task->next);
        if ((load_relaxed(&task->word) & LANEPOOL_I_RESCAN) != 0) {
            pool->rule->route(pool, record, task, grants);
        } else {
            pool->rule->reap(pool, record, task);
            if (lanepool_i_task_is_tombstone(task))
                pool->host->dispose_silently(pool, record, task);
            else
                pool->host->dispose(pool, record, task);
        }
        task = next;
    }
}

/* Ends a hold of the role: reaps, and passes on what became ready. */
static void end_role_hold(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_grants *grants)
{
    reap_finished(pool, record, grants);
    if (pool->rule->batch_done != NULL)
        pool->rule->batch_done(pool, record);
    lanepool_i_router_pass_on(pool, record, grants);
}

void lanepool_i_router_reap(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    end_role_hold(pool, record, &grants);
}

/*
 * Returns true if the holder may route one more task. A hold routes a batch. If nothing in it
 * became ready, tasks behind it may be able to run: then it routes up to `route_max` tasks, until
 * one becomes ready, or a rollup waits: the rollup blocks its lanes for all tasks behind it. A
 * submitter that routes after each append pays for one batch at most.
 */
static bool may_route_more(const lanepool_pool *pool, size_t routed,
                           const lanepool_i_grants *grants)
{
    return routed < LANEPOOL_I_ROUTE_BATCH ||
           (routed < pool->rule->route_max && !pool->submitter_routes && grants->ready.count == 0 &&
            !grants->rollup_waits);
}

/*
 * Decides after a batch whether the lanes are crowded. They become crowded if more than half of its
 * tasks wait, one of them a rollup, and the inbox has more. They stay crowded while more than half
 * of a batch waits and the inbox has more. Tasks that wait in single lanes do not crowd them:
 * behind a backlog of one key there may be tasks that can run, and workers should find these soon.
 * A batch that leaves the inbox empty ends it: then there is nothing to be put off.
 */
static void decide_crowding(lanepool_pool *pool, size_t routed, const lanepool_i_grants *grants)
{
    lanepool_i_inbox *inbox = &pool->router.inbox;
    bool was_crowded = load_relaxed(&inbox->crowded) != 0;
    bool is_crowded = 2 * grants->ready.count < routed && (grants->rollup_waits || was_crowded) &&
                      pool->rule->route_max > LANEPOOL_I_ROUTE_BATCH && !pool->submitter_routes &&
                      lanepool_i_inbox_more(inbox);
    if (is_crowded != was_crowded)
        store_relaxed(&inbox->crowded, is_crowded);
}

void lanepool_i_router_route(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    pool->router.inbox.moment++;
    size_t routed = 0;
    for (; may_route_more(pool, routed, &grants); routed++) {
        lanepool_i_task *task = lanepool_i_inbox_take(&pool->router.inbox);
        if (task == NULL)
            break;
        route_node(pool, record, task, &grants);
    }
    decide_crowding(pool, routed, &grants);
    end_role_hold(pool, record, &grants);
}

void lanepool_i_router_try_reap(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (load_seq(&pool->router.finished) == NULL || !lanepool_i_role_try(&pool->router))
        return;
    lanepool_i_router_reap(pool, record);
    lanepool_i_role_give_back(pool, record);
}

void lanepool_i_router_try_route(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (!lanepool_i_role_try(&pool->router))
        return;
    lanepool_i_router_route(pool, record);
    lanepool_i_role_give_back(pool, record);
}

/* worker_order.c tells why the tail is read. */
static void begin_urgency(lanepool_pool *pool)
{
    exchange_seq(&pool->workers.urgent, 0);
    (void)lanepool_i_inbox_is_empty(&pool->router.inbox);
}

/* Empties the inbox at most twice: submitters could keep a longer loop running for ever. */
void lanepool_i_router_try_route_all(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    const lanepool_i_inbox *inbox = &pool->router.inbox;
    int emptied = 0;
    bool has_more;
    if (!lanepool_i_role_try(&pool->router))
        return;
    begin_urgency(pool);
    do {
        lanepool_i_router_route(pool, record);
        emptied += inbox->next == NULL;
        has_more = lanepool_i_inbox_more(inbox);
    } while (emptied < 2 && has_more);
    if (!has_more && !lanepool_i_inbox_is_empty(inbox))
        lanepool_i_workers_urge(&pool->workers, LANEPOOL_I_MOST_URGENT);
    lanepool_i_role_give_back(pool, record);
}

void lanepool_i_router_refresh(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    /* The role's word first: its last holder has published `rest` before it freed the role. */
    if (load_seq(&pool->router.inbox.role) == 0 &&
        !lanepool_i_inbox_is_half_linked(&pool->router.inbox))
        return;
    if (!lanepool_i_role_try_or_ask(&pool->router))
        return;
    lanepool_i_router_route(pool, record);
    lanepool_i_role_give_back(pool, record);
}

/* --- after an append --- */

/* Wakes a worker for something published, or the waiters if all workers are inside tasks. `seen` is
 * the sleepers' word, read after the publication. This function and the next one are not inlined:
 * so a submit that wakes no thread saves no registers. */
static __attribute__((noinline)) void wake_after_publishing(lanepool_pool *pool, uint64_t seen)
{
    if (seen == LANEPOOL_I_ALL_BUSY)
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
    else
        lanepool_i_sleepers_wake_if(&pool->workers.sleepers, seen);
}

static __attribute__((noinline)) void route_and_wake(lanepool_pool *pool,
                                                     lanepool_i_thread_record *record)
{
    lanepool_i_router_try_route(pool, record);
    wake_after_publishing(pool, lanepool_i_sleepers_load(&pool->workers.sleepers));
}

void lanepool_i_router_after_append(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    const lanepool_i_sleepers *sleepers = &pool->workers.sleepers;
    if (__builtin_expect(record->urgent != 0, 0)) {
        lanepool_i_workers_urge(&pool->workers, record->urgent);
        record->urgent = 0;
    }
    uint64_t seen = lanepool_i_sleepers_load(sleepers);
    if (pool->submitter_routes || lanepool_i_sleepers_sleeping(seen) == sleepers->sleeper_count)
        route_and_wake(pool, record);
    else
        wake_after_publishing(pool, seen);
}

bool lanepool_i_router_send(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_message *message)
{
    lanepool_i_task *node = &message->node;
    store_relaxed(&node->word, LANEPOOL_I_MESSAGE);
    if (!lanepool_i_inbox_append(&pool->router.inbox, node, node, NULL))
        return false;
    lanepool_i_workers_urge(&pool->workers, LANEPOOL_I_MOST_URGENT);
    if (record != NULL)
        lanepool_i_router_after_append(pool, record);
    else
        lanepool_i_sleepers_wake(&pool->workers.sleepers);
    return true;
}

/* --- what became ready, and what has finished --- */

static void give_to_callers(lanepool_pool *pool, lanepool_i_tasks *ready)
{
    lanepool_i_tasks others = { NULL, NULL, 0 };
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(ready)) != NULL)
        if ((load_relaxed(&task->word) & LANEPOOL_I_BY_CALLER) == 0 ||
            !pool->host->notify_caller(pool, task))
            lanepool_i_tasks_add(&others, task);
    *ready = others;
}

void lanepool_i_router_put_ready(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_tasks *ready)
{
    if (ready->count == 0)
        return;
    if (lanepool_i_waits_have_callers(&pool->waits))
        give_to_callers(pool, ready);
    lanepool_i_router_put_to_workers(pool, record, ready);
}

static LANEPOOL_I_COLD void
pin_to_workers(lanepool_pool *pool, const lanepool_i_thread_record *record, lanepool_i_tasks *ready)
{
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(ready)) != NULL)
        lanepool_i_workers_pin(&pool->workers, pool->rule->worker_of(pool, record, task), task);
}

void lanepool_i_router_wake_waits_if_busy(lanepool_pool *pool)
{
    if (lanepool_i_sleepers_all_busy(&pool->workers.sleepers))
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
}

void lanepool_i_router_put_to_workers(lanepool_pool *pool, const lanepool_i_thread_record *record,
                                      lanepool_i_tasks *ready)
{
    if (pool->rule->worker_of != NULL) {
        pin_to_workers(pool, record, ready);
        return;
    }
    bool is_worker = record != NULL && record->worker != NULL;
    size_t index =
        is_worker ? record->worker->index : lanepool_i_workers_least_loaded(&pool->workers);
    lanepool_i_workers_put(&pool->workers, index, ready);
    lanepool_i_router_wake_waits_if_busy(pool);
}

void lanepool_i_router_pass_on(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_grants *grants)
{
    lanepool_i_count_grants(record, grants);
    lanepool_i_router_put_ready(pool, record, &grants->ready);
}

/* Release: what was done to the task happens before the reaping. A census that follows this link
 * from a list of running tasks acquires it, and so sees that the task has left that list. */
void lanepool_i_router_push_to_reap(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_task *top = load_relaxed(&pool->router.finished);
    do
        store_release(&task->next, top);
    while (!cas_seq(&pool->router.finished, &top, task));
}

/* The push is in the total order: if this thread then finds the role taken, its holder's check for
 * work follows. */
void lanepool_i_router_reap_later(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task)
{
    lanepool_i_router_push_to_reap(pool, task);
    lanepool_i_router_try_route(pool, record);
}
