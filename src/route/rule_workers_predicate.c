/* Owns how the program's predicate finds conflicts for lanes of workers; see rule_workers.h. */
#include "route/conflict.h"
#include "route/worker_lanes.h"

/* --- finding the conflicts --- */

static void add_conflict(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_queued_task *queued = lanepool_i_queued_of(pool, task);
    queued->next_conflict = pool->worker_lanes.conflicts;
    pool->worker_lanes.conflicts = task;
}

/* Finds all conflicts of the task by asking the predicate. A tombstone waits for nothing. */
static void find_conflicts(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task)
{
    lanepool_i_task *newest = pool->worker_lanes.unreaped;
    lanepool_i_task *old = lanepool_i_task_is_tombstone(task) ? NULL : newest;
    pool->worker_lanes.conflicts = NULL;
    for (; old != NULL; old = lanepool_i_queued_of(pool, old)->older)
        if (!load_acquire(&lanepool_i_queued_of(pool, old)->finished) &&
            !lanepool_i_task_is_tombstone(old) &&
            lanepool_i_tasks_conflict(pool, record, task, old))
            add_conflict(pool, old);
}

static void add_to_unreaped(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_task *newest = pool->worker_lanes.unreaped;
    lanepool_i_queued_task *queued = lanepool_i_queued_of(pool, task);
    atomic_init(&queued->finished, false);
    queued->older = newest;
    queued->newer = NULL;
    if (newest != NULL)
        lanepool_i_queued_of(pool, newest)->newer = task;
    pool->worker_lanes.unreaped = task;
}

/* --- the covering set --- */

static void count_covered_conflicts(lanepool_pool *pool)
{
    lanepool_i_worker_lanes *lanes = &pool->worker_lanes;
    for (size_t i = 0; i < pool->workers.worker_count; i++)
        lanes->lanes[i].covered_conflicts = 0;
    for (lanepool_i_task *task = lanes->conflicts; task != NULL;
         task = lanepool_i_queued_of(pool, task)->next_conflict)
        for (size_t i = 0; i < lanepool_i_task_count(task); i++)
            lanes->lanes[lanepool_i_worker_of_lane(lanepool_i_entry_lane(task, i))]
                .covered_conflicts++;
}

static void drop_covered_conflicts(lanepool_pool *pool, const lanepool_i_lane *lane)
{
    lanepool_i_task **at = &pool->worker_lanes.conflicts;
    while (*at != NULL) {
        if (lanepool_i_worker_lanes_have(*at, lane))
            *at = lanepool_i_queued_of(pool, *at)->next_conflict;
        else
            at = &lanepool_i_queued_of(pool, *at)->next_conflict;
    }
}

/* Chooses the lanes to enter and sets the task's entries for them. Greedy: each further lane covers
 * at least one more conflict. */
static void choose_covering_set(lanepool_pool *pool, lanepool_i_task *task)
{
    task->as.wide.count = 0;
    do {
        count_covered_conflicts(pool);
        size_t index = lanepool_i_worker_lanes_best(pool);
        lanepool_i_worker_lanes_add(pool, task, index);
        drop_covered_conflicts(pool, &pool->worker_lanes.lanes[index].lane);
    } while (pool->worker_lanes.conflicts != NULL);
}

/* --- the rule --- */

static void workers_predicate_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    lanepool_i_task *task, lanepool_i_grants *grants)
{
    lanepool_i_worker_lanes_look(pool);
    find_conflicts(pool, record, task);
    add_to_unreaped(pool, task);
    choose_covering_set(pool, task);
    lanepool_i_worker_lanes_enter(pool, task, grants);
}

static void workers_predicate_finish(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task, lanepool_i_grants *grants)
{
    store_release(&lanepool_i_queued_of(pool, task)->finished, true);
    lanepool_i_worker_lanes_finish(pool, record, task, grants);
}

static void workers_predicate_reap(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_task *task)
{
    (void)record;
    const lanepool_i_queued_task *queued = lanepool_i_queued_of(pool, task);
    if (queued->older != NULL)
        lanepool_i_queued_of(pool, queued->older)->newer = queued->newer;
    if (queued->newer != NULL)
        lanepool_i_queued_of(pool, queued->newer)->older = queued->older;
    else
        pool->worker_lanes.unreaped = queued->older;
}

/* Tasks have no claims. */
static bool workers_predicate_has_claim(const lanepool_pool *pool, lanepool_i_task *task,
                                        lanepool_claim claim)
{
    (void)pool;
    (void)task;
    (void)claim;
    return false;
}

/* No key has a lane. */
static bool workers_predicate_trim_some(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    (void)pool;
    (void)record;
    return false;
}

const lanepool_i_rule lanepool_i_rule_workers_predicate = {
    LANEPOOL_I_WORKER_LANES_FUNCTIONS,        .entry_size = sizeof(lanepool_i_claim_entry),
    .init = lanepool_i_worker_lanes_init,     .fini = lanepool_i_worker_lanes_fini,
    .route = workers_predicate_route,         .finish = workers_predicate_finish,
    .reap = workers_predicate_reap,           .has_claim = workers_predicate_has_claim,
    .trim_some = workers_predicate_trim_some,
};
