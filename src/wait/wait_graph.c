/* Owns the marks on tasks during a walk; see wait_graph.h. */
#include "wait/wait_graph.h"

#include "feature/barrier.h"
#include "feature/detach.h"
#include "route/pool.h"

static bool is_marked(const lanepool_i_task *task)
{
    return (load_relaxed(&task->word) & LANEPOOL_I_VISITED) != 0;
}

/* True: it was not marked before. */
static bool mark(lanepool_i_task *task)
{
    return (fetch_or_relaxed(&task->word, LANEPOOL_I_VISITED) & LANEPOOL_I_VISITED) == 0;
}

static void unmark(lanepool_i_task *task)
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
    for (const lanepool_i_wait *wait = pool->waits.first; wait != NULL; wait = wait->next)
        if (wait->awaited != NULL)
            raise_limit(walk, wait->awaited_ticket);
}

/* A waiting task is in no list, so its `next` is free for the walk's. */
static void found(lanepool_i_task *dependent, void *context)
{
    lanepool_i_walk *walk = context;
    if (!mark(dependent))
        return;
    if (dependent == walk->target)
        walk->reached = true;
    lanepool_i_tasks_add(&walk->found, dependent);
    if (walk->unwalked == NULL)
        walk->unwalked = dependent;
}

/* From a task that runs: also to its heir, which stands in no lane before it has ended. */
static void walk_on(lanepool_i_walk *walk, lanepool_i_task *running)
{
    lanepool_i_task *receiver = lanepool_i_detach_receiver_of(walk->pool->detaches, running);
    if (receiver != NULL)
        found(receiver, walk);
    walk->pool->rule->each_dependent(walk->pool, running, walk->limit, found, walk);
}

static void walk_found(lanepool_i_walk *walk)
{
    while (walk->unwalked != NULL && !walk->reached) {
        lanepool_i_task *task = walk->unwalked;
        walk->pool->rule->each_dependent(walk->pool, task, walk->limit, found, walk);
        walk->unwalked = load_relaxed(&task->next);
    }
}

/* A waiting task that runs: it depends on what it waits for, and on what stands above it. */
static bool is_held_up(const lanepool_i_walk *walk, const lanepool_i_wait *wait)
{
    if (wait->helping != NULL && is_marked(wait->helping))
        return true;
    if (wait->awaited == NULL)
        return false;
    if (walk->past_barrier &&
        lanepool_i_barrier_is_before(&walk->pool->router, wait->awaited_ticket))
        return true;
    /* The block stays the task's while the future's lock is held and it is not complete. */
    lanepool_i_mutex_lock(&wait->future->lock);
    bool held_up = wait->future->task == wait->awaited && is_marked(wait->awaited);
    lanepool_i_mutex_unlock(&wait->future->lock);
    return held_up;
}

/* Its `next` links the tasks that its thread is in: it is not added to a list. */
static bool walk_waits(lanepool_i_walk *walk)
{
    bool any = false;
    for (lanepool_i_wait *wait = walk->waits->first; wait != NULL; wait = wait->next) {
        if (!is_held_up(walk, wait) || !mark(wait->task))
            continue;
        any = true;
        if (wait->task == walk->target)
            walk->reached = true;
        walk_on(walk, wait->task);
    }
    return any;
}

bool lanepool_i_walk_from(lanepool_i_walk *walk, lanepool_i_task *source)
{
    const lanepool_i_router *router = &walk->pool->router;
    if (source == walk->target)
        return true;
    /* The barrier waits for every task before it. */
    walk->past_barrier = router->barrier != NULL;
    if (walk->past_barrier && lanepool_i_barrier_is_before(router, walk->target_ticket))
        return true;
    mark(source);
    walk_on(walk, source);
    do
        walk_found(walk);
    while (!walk->reached && walk_waits(walk));
    return walk->reached;
}

void lanepool_i_walk_end(lanepool_i_walk *walk, lanepool_i_thread_record *record,
                         lanepool_i_grants *grants)
{
    lanepool_i_task *task;
    while ((task = lanepool_i_tasks_take(&walk->found)) != NULL)
        unmark(task);
    for (lanepool_i_wait *wait = walk->waits->first; wait != NULL; wait = wait->next)
        unmark(wait->task);
    if (walk->pool->rule->end_walk != NULL)
        walk->pool->rule->end_walk(walk->pool, record, grants);
}
