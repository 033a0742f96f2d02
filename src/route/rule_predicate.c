/* Owns the chains of tasks and their edges; see rule_predicate.h. */
#include "route/rule_predicate.h"

#include "route/conflict.h"
#include "route/pool.h"
#include "route/rule_kinds.h"

#define BLOCK_EDGES 3

/* More edges of one task. */
struct lanepool_i_edge_block {
    lanepool_i_edge_block *next;
    lanepool_i_edge edges[BLOCK_EDGES];
};

static bool predicate_is_finished(lanepool_i_task *task)
{
    return lanepool_i_successors_closed(&lanepool_i_tracked_of(task)->successors);
}

/* --- waiting --- */

static bool add_edge_block(lanepool_i_scan *scan)
{
    size_t class = lanepool_i_slab_class_of(sizeof(lanepool_i_edge_block));
    lanepool_i_edge_block *block =
        lanepool_i_slab_take(&scan->pool->slab, &scan->record->cache, class, sizeof *block);
    if (block == NULL)
        return false;
    block->next = NULL;
    if (scan->last == NULL)
        lanepool_i_tracked_of(scan->task)->edges = block;
    else
        scan->last->next = block;
    scan->last = block;
    return true;
}

/* Returns one more edge of the scanned task; NULL if memory cannot be allocated. */
static lanepool_i_edge *reserve_edge(lanepool_i_scan *scan)
{
    if (scan->edge_count == 0)
        return &lanepool_i_tracked_of(scan->task)->first_edge;
    uint32_t index = (scan->edge_count - 1) % BLOCK_EDGES;
    if (index == 0 && !add_edge_block(scan))
        return NULL;
    return &scan->last->edges[index];
}

void lanepool_i_scan_wait_for(lanepool_i_scan *scan, lanepool_i_successors *successors,
                              lanepool_event_lane type, uint64_t number)
{
    lanepool_i_edge *edge = scan->is_incomplete ? NULL : reserve_edge(scan);
    if (edge == NULL) {
        scan->is_incomplete = true;
        return;
    }
    edge->waiting = scan->task;
    scan->edge_count++;
    lanepool_i_ring *ring = scan->record->ring;
    lanepool_i_trace_at(ring, LANEPOOL_EVENT_ENTER, scan->task, number, (uint8_t)type, 0);
    fetch_add_relaxed(&scan->task->as.wide.countdown, 1);
    if (!lanepool_i_successors_push(successors, edge)) {
        lanepool_i_trace_at(ring, LANEPOOL_EVENT_ARRIVE, scan->task, number, (uint8_t)type, 0);
        fetch_sub_acq_rel(&scan->task->as.wide.countdown, 1);
    }
}

/* A tombstone that is scanned again waits for all older tasks: later tasks may wait for it already,
 * and the predicate cannot be asked about it. */
bool lanepool_i_scan_must_wait_for(lanepool_i_scan *scan, const lanepool_i_task *old)
{
    return lanepool_i_task_is_tombstone(scan->task) ||
           (!lanepool_i_task_is_tombstone(old) &&
            lanepool_i_tasks_conflict(scan->pool, scan->record, scan->task, old));
}

static void give_edge_blocks(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_tracked *tracked)
{
    size_t class = lanepool_i_slab_class_of(sizeof(lanepool_i_edge_block));
    while (tracked->edges != NULL) {
        lanepool_i_edge_block *block = tracked->edges;
        tracked->edges = block->next;
        lanepool_i_slab_give(&pool->slab, &record->cache, class, block);
    }
}

/* --- chains --- */

static void scan_chain(lanepool_i_scan *scan, lanepool_i_task *tail)
{
    uint64_t ticket = lanepool_i_task_ticket(scan->task);
    for (lanepool_i_task *old = tail; old != NULL; old = lanepool_i_tracked_of(old)->older) {
        /* A task that is scanned again meets itself and later tasks. */
        if (!lanepool_i_ticket_before(lanepool_i_task_ticket(old), ticket))
            continue;
        if (predicate_is_finished(old))
            return;
        if (!lanepool_i_scan_must_wait_for(scan, old))
            continue;
        lanepool_i_scan_wait_for(scan, &lanepool_i_tracked_of(old)->successors,
                                 LANEPOOL_EVENT_LANE_TASK, lanepool_i_task_ticket(old));
        if (old == tail && scan->tail_to_follow == NULL && !scan->is_incomplete)
            scan->tail_to_follow = tail;
        return;
    }
}

static void scan_chains(lanepool_i_scan *scan)
{
    lanepool_i_task *tail = scan->pool->predicate.tails;
    while (tail != NULL) {
        lanepool_i_task *next = lanepool_i_tracked_of(tail)->newer;
        if (next != NULL)
            lanepool_i_prefetch(next);
        scan_chain(scan, tail);
        tail = next;
    }
}

static void link_tail(lanepool_i_task **at, lanepool_i_task *task, lanepool_i_task *next)
{
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(task);
    tracked->tail_at = at;
    tracked->newer = next;
    *at = task;
    if (next != NULL)
        lanepool_i_tracked_of(next)->tail_at = &tracked->newer;
}

static void unlink_tail(lanepool_i_tracked *tracked)
{
    *tracked->tail_at = tracked->newer;
    if (tracked->newer != NULL)
        lanepool_i_tracked_of(tracked->newer)->tail_at = tracked->tail_at;
    tracked->tail_at = NULL;
    tracked->newer = NULL;
}

static void enter_chain(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *behind)
{
    lanepool_i_tracked_of(task)->older = behind;
    if (behind != NULL) {
        unlink_tail(lanepool_i_tracked_of(behind));
        lanepool_i_tracked_of(behind)->newer = task;
    }
    link_tail(&pool->predicate.tails, task, pool->predicate.tails);
}

/* Removes a finished task and cuts its chain there: older tasks of the chain have finished, too. */
static void leave_chain(lanepool_i_tracked *tracked)
{
    if (tracked->tail_at != NULL)
        unlink_tail(tracked);
    else if (tracked->newer != NULL)
        lanepool_i_tracked_of(tracked->newer)->older = NULL;
    if (tracked->older != NULL)
        lanepool_i_tracked_of(tracked->older)->newer = NULL;
}

/* --- the rule --- */

/* Sets the countdown to 0, since the last arrival may not have counted it down: a census takes a
 * task with another value for waiting. */
static void make_task_ready(lanepool_i_task *task, lanepool_i_grants *grants)
{
    store_relaxed(&task->as.wide.countdown, 0);
    lanepool_i_grants_add(grants, task);
}

/* Counts down the scan's own count. A task that could not wait for all its conflicts is scanned
 * again when those that it does wait for have finished. */
static void end_scan(lanepool_i_scan *scan, lanepool_i_grants *grants)
{
    lanepool_i_task *task = scan->task;
    uint64_t word = load_relaxed(&task->word) & ~LANEPOOL_I_RESCAN;
    store_relaxed(&task->word, word | (scan->is_incomplete ? LANEPOOL_I_RESCAN : 0));
    scan->pool->predicate.lacking += scan->is_incomplete;
    if (!lanepool_i_countdown_arrive(task, 1))
        return;
    if (scan->is_incomplete)
        lanepool_i_router_push_to_reap(scan->pool, task);
    else
        make_task_ready(task, grants);
}

static void predicate_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task, lanepool_i_grants *grants)
{
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(task);
    bool again = (load_relaxed(&task->word) & LANEPOOL_I_RESCAN) != 0;
    if (again) {
        give_edge_blocks(pool, record, tracked);
        pool->predicate.lacking--;
    } else {
        *tracked = (lanepool_i_tracked){ .successors = NULL };
    }
    lanepool_i_scan scan = { .pool = pool, .record = record, .task = task };
    lanepool_i_countdown_set(task, 1);
    /* A task that was cancelled before waits for nothing. It enters no batch: tasks that wait for a
     * batch rely on its members to wait for older batches. */
    bool starts_as_tombstone = !again && lanepool_i_task_is_tombstone(task);
    if (!starts_as_tombstone) {
        scan_chains(&scan);
        lanepool_i_kinds_scan(&scan);
    }
    if (!again && (starts_as_tombstone || !lanepool_i_kinds_enter(&scan)))
        enter_chain(pool, task, scan.tail_to_follow);
    end_scan(&scan, grants);
}

static void serve_successors(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_successors *successors, lanepool_event_lane type,
                             uint64_t number, lanepool_i_grants *grants)
{
    lanepool_i_edge *edge = exchange_acq_rel(successors, LANEPOOL_I_CLOSED);
    lanepool_i_edge *oldest_first = NULL;
    while (edge != NULL) {
        lanepool_i_edge *next = edge->next;
        edge->next = oldest_first;
        oldest_first = edge;
        edge = next;
    }
    while (oldest_first != NULL) {
        lanepool_i_task *task = oldest_first->waiting;
        oldest_first = oldest_first->next;
        lanepool_i_trace_at(record->ring, LANEPOOL_EVENT_ARRIVE, task, number, (uint8_t)type, 0);
        if (!lanepool_i_countdown_arrive(task, 1))
            continue;
        if ((load_relaxed(&task->word) & LANEPOOL_I_RESCAN) != 0)
            lanepool_i_router_reap_later(pool, record, task);
        else
            make_task_ready(task, grants);
    }
}

static void predicate_finish(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task, lanepool_i_grants *grants)
{
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(task);
    serve_successors(pool, record, &tracked->successors, LANEPOOL_EVENT_LANE_TASK,
                     lanepool_i_task_ticket(task), grants);
    if (tracked->batch != NULL && lanepool_i_kind_batch_leave(tracked->batch))
        serve_successors(pool, record, lanepool_i_kind_batch_successors(tracked->batch),
                         LANEPOOL_EVENT_LANE_KIND, task->as.wide.kind, grants);
}

static void predicate_reap(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *task)
{
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(task);
    if (tracked->batch != NULL)
        lanepool_i_kinds_reap(pool, record, task);
    else
        leave_chain(tracked);
    give_edge_blocks(pool, record, tracked);
}

/* --- walking and collecting --- */

static void each_edge(const lanepool_i_successors *successors, uint64_t limit,
                      void (*found)(lanepool_i_task *dependent, void *context), void *context)
{
    const lanepool_i_edge *edge = load_acquire(successors);
    for (; edge != NULL && edge != LANEPOOL_I_CLOSED; edge = edge->next)
        if (lanepool_i_ticket_before(lanepool_i_task_ticket(edge->waiting), limit))
            found(edge->waiting, context);
}

/* The list can be read: only the role's holder pushes to it, and the list of a task that has not
 * finished is not being served. */
static void predicate_each_dependent(lanepool_pool *pool, lanepool_i_task *task, uint64_t limit,
                                     void (*found)(lanepool_i_task *dependent, void *context),
                                     void *context)
{
    (void)pool;
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(task);
    each_edge(&tracked->successors, limit, found, context);
    if (tracked->batch != NULL)
        each_edge(lanepool_i_kind_batch_successors(tracked->batch), limit, found, context);
}

/* --- all pending tasks --- */

static void each_pending(lanepool_pool *pool, void (*found)(lanepool_i_task *task, void *context),
                         void *context)
{
    lanepool_i_task *tail = pool->predicate.tails;
    for (; tail != NULL; tail = lanepool_i_tracked_of(tail)->newer)
        for (lanepool_i_task *task = tail; task != NULL && !predicate_is_finished(task);
             task = lanepool_i_tracked_of(task)->older)
            found(task, context);
    lanepool_i_kinds_each(pool, found, context);
}

static void collect_task(lanepool_i_task *task, void *context)
{
    lanepool_i_tasks_add_unvisited(context, task);
}

static void predicate_collect(lanepool_pool *pool, lanepool_i_tasks *tasks)
{
    each_pending(pool, collect_task, tasks);
}

static void add_task_to_census(lanepool_i_task *task, void *context)
{
    lanepool_i_census_add_task(context, task);
}

static void predicate_census_begin(lanepool_i_census *census)
{
    each_pending(census->pool, add_task_to_census, census);
}

/* Adds the tasks that a waiting task waits for. A task does not know them: edges lead the other
 * way. So the predicate is asked again. Added are all conflicting tasks that run or are ready, and
 * the nearest one that waits: that one leads to the others. */
static void predicate_census_entries(lanepool_i_census *census, size_t index)
{
    const lanepool_i_census_row *row = lanepool_i_census_row_at(census, index);
    if (row->state != LANEPOOL_SNAPSHOT_WAITING)
        return;
    bool has_waiting = false;
    size_t count = 0;
    for (size_t older = index; older-- > 0 && count < LANEPOOL_SNAPSHOT_BEHIND_MAX;) {
        const lanepool_i_census_row *other = lanepool_i_census_row_at(census, older);
        bool waits = other->state == LANEPOOL_SNAPSHOT_WAITING;
        if ((waits && has_waiting) ||
            !lanepool_i_tasks_conflict(census->pool, census->record, row->task, other->task))
            continue;
        has_waiting = has_waiting || waits;
        lanepool_i_census_add_behind(census, index, older);
        count++;
    }
}

static void predicate_census_end(lanepool_i_census *census, lanepool_i_grants *grants)
{
    (void)census;
    (void)grants;
}

static bool predicate_init(lanepool_pool *pool)
{
    pool->predicate = (lanepool_i_predicate){ NULL, NULL, 0, 0 };
    return true;
}

static void predicate_fini(lanepool_pool *pool)
{
    lanepool_i_kinds_fini(pool);
}

static size_t predicate_extension(const lanepool_options *options)
{
    (void)options;
    return sizeof(lanepool_i_tracked);
}

const lanepool_i_rule lanepool_i_rule_predicate = {
    .all_wide = true,
    .extension = predicate_extension,
    .entry_size = 0,
    .init = predicate_init,
    .fini = predicate_fini,
    .route = predicate_route,
    .route_max = LANEPOOL_I_ROUTE_BATCH,
    .finish = predicate_finish,
    .reap = predicate_reap,
    .collect = predicate_collect,
    .each_dependent = predicate_each_dependent,
    .census_begin = predicate_census_begin,
    .census_entries = predicate_census_entries,
    .census_end = predicate_census_end,
    .census_is_finished = predicate_is_finished,
};
