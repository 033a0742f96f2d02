/* Owns the walk over the wait-for graph, and the VISITED flags of tasks; see wait_graph.h. */
#include "wait/wait_graph.h"

#include "core/call_record.h"
#include "feature/barrier.h"
#include "route/pool.h"

static bool is_visited(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_VISITED) != 0;
}

/* Returns true if VISITED was not set before. */
static bool set_visited(lanepool_i_task *task)
{
    return (fetch_or_relaxed(&task->word, LANEPOOL_I_VISITED) & LANEPOOL_I_VISITED) == 0;
}

static void clear_visited(lanepool_i_task *task)
{
    fetch_and_acq_rel(&task->word, ~LANEPOOL_I_VISITED);
}

static void raise_limit(lanepool_i_walk *walk, uint64_t ticket)
{
    if (lanepool_i_ticket_before(walk->limit, ticket + 1))
        walk->limit = ticket + 1;
}

void lanepool_i_walk_begin(lanepool_i_walk *walk, lanepool_pool *pool,
                           const lanepool_i_task *target, uint64_t target_ticket)
{
    *walk = (lanepool_i_walk){
        .pool = pool,
        .waits = &pool->waits,
        .target = target,
        .limit = target_ticket + 1,
        .target_ticket = target_ticket,
    };
    LANEPOOL_I_EACH(const lanepool_i_wait, wait, &pool->waits.inside, inside)
        if (wait->awaited != NULL)
            raise_limit(walk, wait->awaited_ticket);
}

/* A waiting task is in no list, so the walk may link it through `next`. */
static void add_dependent(lanepool_i_task *dependent, void *context)
{
    lanepool_i_walk *walk = context;
    if (!set_visited(dependent))
        return;
    if (dependent == walk->target)
        walk->reached = true;
    lanepool_i_tasks_add(&walk->found, dependent);
    if (walk->unwalked == NULL)
        walk->unwalked = dependent;
}

/* A receiver has no entries before its giver ends. */
static void walk_from_running(lanepool_i_walk *walk, lanepool_i_task *running)
{
    lanepool_i_task *receiver =
        lanepool_i_call_record_receiver_of(walk->pool->call_records, running);
    if (receiver != NULL)
        add_dependent(receiver, walk);
    walk->pool->rule->each_dependent(walk->pool, running, walk->limit, add_dependent, walk);
}

static void walk_from_found(lanepool_i_walk *walk)
{
    while (walk->unwalked != NULL && !walk->reached) {
        lanepool_i_task *task = walk->unwalked;
        walk->pool->rule->each_dependent(walk->pool, task, walk->limit, add_dependent, walk);
        walk->unwalked = load_relaxed(&task->next);
    }
}

/* The task depends on the one that it awaits, and on the one that its thread runs during the wait.
 */
static bool does_wait_depend(const lanepool_i_walk *walk, const lanepool_i_wait *wait)
{
    if (wait->helping != NULL && is_visited(wait->helping))
        return true;
    if (wait->awaited == NULL)
        return false;
    if (walk->past_barrier &&
        lanepool_i_barrier_is_before(&walk->pool->router, wait->awaited_ticket))
        return true;
    /* The block belongs to the task while the future's lock is held and the future is not complete.
     */
    lanepool_i_word_lock_lock(&wait->future->lock);
    bool depends =
        lanepool_i_future_task_locked(wait->future) == wait->awaited && is_visited(wait->awaited);
    lanepool_i_word_lock_unlock(&wait->future->lock);
    return depends;
}

/* The `next` of a task that waits inside belongs to its thread's running list, so the task is not
 * added to the walk's list. */
static bool walk_waits(lanepool_i_walk *walk)
{
    bool any = false;
    LANEPOOL_I_EACH(lanepool_i_wait, wait, &walk->waits->inside, inside) {
        if (!does_wait_depend(walk, wait) || !set_visited(wait->task))
            continue;
        any = true;
        if (wait->task == walk->target)
            walk->reached = true;
        walk_from_running(walk, wait->task);
    }
    return any;
}

bool lanepool_i_walk_from(lanepool_i_walk *walk, lanepool_i_task *source)
{
    const lanepool_i_router *router = &walk->pool->router;
    if (source == walk->target)
        return true;
    /* The barrier waits for every task before it, and all tasks behind it wait for the barrier. */
    walk->past_barrier = router->barrier != NULL;
    if (walk->past_barrier && lanepool_i_barrier_is_before(router, walk->target_ticket))
        return true;
    set_visited(source);
    walk_from_running(walk, source);
    do
        walk_from_found(walk);
    while (!walk->reached && walk_waits(walk));
    return walk->reached;
}

void lanepool_i_walk_end(lanepool_i_walk *walk, lanepool_i_grants *grants)
{
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(&walk->found)) != NULL)
        clear_visited(task);
    LANEPOOL_I_EACH(lanepool_i_wait, wait, &walk->waits->inside, inside)
        clear_visited(wait->task);
    if (walk->pool->rule->thaw != NULL)
        walk->pool->rule->thaw(walk->pool, grants);
}
