/* Owns the chains of tasks and their edges; see rule_predicate.h. */
#include "route/rule_predicate.h"

#include "route/conflict.h"
#include "route/pool.h"
#include "route/rule_kinds.h"
#include "route/rule_scope.h"

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

/* Returns true for the task of a wait for claims: it waits for all tasks in its scope, and no task
 * waits for it. The predicate is not asked about it, since the program does not know it. */
static bool is_wait_for_claims(const lanepool_i_task *task)
{
    return task->function == lanepool_i_run_nothing;
}

static bool is_blocked(lanepool_pool *pool, lanepool_i_thread_record *record,
                       const lanepool_i_task *new_one, const lanepool_i_task *old)
{
    return !lanepool_i_task_is_tombstone(old) && !is_wait_for_claims(old) &&
           (is_wait_for_claims(new_one) || lanepool_i_tasks_conflict(pool, record, new_one, old));
}

/* A tombstone that is scanned again waits for all older tasks: later tasks may wait for it already,
 * and the predicate cannot be asked about it. */
bool lanepool_i_scan_must_wait_for(lanepool_i_scan *scan, const lanepool_i_task *old)
{
    return lanepool_i_task_is_tombstone(scan->task) ||
           is_blocked(scan->pool, scan->record, scan->task, old);
}

void lanepool_i_scan_task(lanepool_i_scan *scan, lanepool_i_task *old)
{
    uint64_t ticket = lanepool_i_task_ticket(old);
    if (lanepool_i_ticket_before(ticket, lanepool_i_task_ticket(scan->task)) &&
        !predicate_is_finished(old) && lanepool_i_scan_must_wait_for(scan, old))
        lanepool_i_scan_wait_for(scan, &lanepool_i_tracked_of(old)->successors,
                                 LANEPOOL_EVENT_LANE_TASK, ticket);
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

/* Adds the task to the structures that hold it while it is unfinished. */
static void enter_structures(lanepool_i_scan *scan, bool is_tombstone)
{
    if (lanepool_i_scope_has_claims(scan->task))
        lanepool_i_scope_enter(scan->pool, scan->task);
    else if (is_tombstone || !lanepool_i_kinds_enter(scan))
        enter_chain(scan->pool, scan->task, scan->tail_to_follow);
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
        if (lanepool_i_scope_has_claims(task))
            (void)lanepool_i_lane_table_resolve_claims(pool, record, task);
    }
    lanepool_i_scan scan = {
        .pool = pool, .record = record, .task = task, .stamp = ++pool->router.last_stamp
    };
    lanepool_i_countdown_set(task, 1);
    /* A task that was cancelled before waits for nothing. It enters no batch: tasks that wait for a
     * batch rely on its members to wait for older batches. */
    bool starts_as_tombstone = !again && lanepool_i_task_is_tombstone(task);
    if (!starts_as_tombstone) {
        scan_chains(&scan);
        lanepool_i_kinds_scan(&scan);
        lanepool_i_scope_scan(&scan);
    }
    if (!again)
        enter_structures(&scan, starts_as_tombstone);
    end_scan(&scan, grants);
}

static void serve_successors(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_successors *successors, lanepool_event_lane type,
                             uint64_t number, lanepool_i_grants *grants)
{
    lanepool_i_edge *edge = exchange_acq_rel(successors, LANEPOOL_I_CLOSED);
    lanepool_i_edge *oldest_first = NULL;
    while (edge != NULL) {
        lanepool_i_edge *next = load_relaxed(&edge->next);
        store_relaxed(&edge->next, oldest_first);
        oldest_first = edge;
        edge = next;
    }
    while (oldest_first != NULL) {
        lanepool_i_task *task = oldest_first->waiting;
        oldest_first = load_relaxed(&oldest_first->next);
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
    if (lanepool_i_scope_has_claims(task))
        lanepool_i_scope_reap(pool, task);
    else if (tracked->batch != NULL)
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
    for (; edge != NULL && edge != LANEPOOL_I_CLOSED; edge = load_relaxed(&edge->next))
        if (lanepool_i_ticket_before(lanepool_i_task_ticket(edge->waiting), limit))
            found(edge->waiting, context);
}

/* Only the role's holder pushes to the list and frees edges. If the task finishes during the walk,
 * its worker reverses the list: then the walk may miss tasks, or find them twice. */
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
    lanepool_i_scope_each(pool, found, context);
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
 * the nearest one that waits: that one leads to the others. Returns false if there is none: the
 * task has just become ready. */
static bool add_blocking_tasks(lanepool_i_census *census, size_t index)
{
    lanepool_i_task *task = lanepool_i_census_row_at(census, index)->task;
    bool has_waiting = false;
    size_t count = 0;
    lanepool_i_scope_stamp_keys(census->pool, task);
    for (size_t older = index; older-- > 0 && count < LANEPOOL_SNAPSHOT_BEHIND_MAX;) {
        const lanepool_i_census_row *other = lanepool_i_census_row_at(census, older);
        bool waits = other->state == LANEPOOL_SNAPSHOT_WAITING;
        if ((waits && has_waiting) || !lanepool_i_scope_has(census->pool, task, other->task) ||
            !is_blocked(census->pool, census->record, task, other->task))
            continue;
        has_waiting = has_waiting || waits;
        lanepool_i_census_add_behind(census, index, older);
        count++;
    }
    return count > 0;
}

/* Adds a task's claims, and what it waits for. The claims of a task that waits are not granted. */
static void predicate_census_entries(lanepool_i_census *census, size_t index)
{
    const lanepool_i_census_row *row = lanepool_i_census_row_at(census, index);
    bool waits = row->state == LANEPOOL_SNAPSHOT_WAITING && add_blocking_tasks(census, index);
    const lanepool_i_claim_entry *entries = lanepool_i_claim_entries(census->pool, row->task);
    for (uint32_t i = 0; i < row->task->as.wide.count; i++)
        lanepool_i_census_add_entry(census, index, lanepool_i_claimants_of(&entries[i]),
                                    lanepool_i_claim_mode(&entries[i]), !waits, 0);
}

static bool predicate_claims_lane(const lanepool_pool *pool, lanepool_i_task *task,
                                  const lanepool_i_lane *lane)
{
    return lanepool_i_claimants_have_claim(lanepool_i_claim_entries(pool, task),
                                           task->as.wide.count, lane);
}

static bool predicate_has_claim(const lanepool_pool *pool, lanepool_i_task *task,
                                lanepool_claim claim)
{
    return lanepool_i_claimants_have_mode(pool, lanepool_i_claim_entries(pool, task),
                                          task->as.wide.count, claim);
}

static const lanepool_claim *predicate_read_claims(const lanepool_pool *pool, lanepool_i_task *task,
                                                   lanepool_claim *plain_claims, size_t *count)
{
    (void)plain_claims;
    *count = task->as.wide.count;
    return lanepool_i_claimants_read_claims(lanepool_i_claim_entries(pool, task), *count);
}

static bool predicate_init(lanepool_pool *pool)
{
    pool->predicate = (lanepool_i_predicate){ .tails = NULL };
    return lanepool_i_lane_table_init(&pool->lane_table, lanepool_i_claimants_are_none,
                                      pool->options.allocator, false);
}

static void predicate_fini(lanepool_pool *pool)
{
    lanepool_i_kinds_fini(pool);
    lanepool_i_lane_table_fini(&pool->lane_table);
}

static size_t predicate_extension(const lanepool_options *options)
{
    (void)options;
    return sizeof(lanepool_i_tracked);
}

const lanepool_i_rule lanepool_i_rule_predicate = {
    .all_wide = true,
    .extension = predicate_extension,
    .entry_size = sizeof(lanepool_i_claim_entry),
    .init = predicate_init,
    .fini = predicate_fini,
    .route = predicate_route,
    .route_max = LANEPOOL_I_ROUTE_BATCH,
    .batch_done = lanepool_i_lane_table_sweep,
    .finish = predicate_finish,
    .reap = predicate_reap,
    .claims_lane = predicate_claims_lane,
    .has_claim = predicate_has_claim,
    .trim_some = lanepool_i_lane_table_trim_some,
    .claims = predicate_read_claims,
    .collect = predicate_collect,
    .each_dependent = predicate_each_dependent,
    .census_begin = predicate_census_begin,
    .census_entries = predicate_census_entries,
    .census_lane = lanepool_i_claimants_census_lane,
    .census_is_finished = predicate_is_finished,
};
