/*
 * Owns cuts: how they are routed, their visits, and how they end; see visits.h.
 *
 * A cut enters its lanes by one step of the router, so each lane has the same tasks before it. Its
 * phase, once it has begun and until its function is called, is SUSPENDED: it has started, and a
 * cancel only asks it to end.
 */
#include "feature/cut.h"

#include "base/planted.h"
#include "base/sizes.h"
#include "core/run.h"
#include "core/task_check.h"
#include "feature/lane_limit.h"
#include "feature/poison.h"
#include "future/expiry.h"
#include "lane/shares.h"
#include "route/entries.h"
#include "route/pool.h"

/* --- routing --- */

static lanepool_status build_cut(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 const lanepool_task *task, lanepool_i_task *block)
{
    (void)pool, (void)record;
    if (lanepool_i_description_has_visits(task))
        store_relaxed(&block->word, load_relaxed(&block->word) | LANEPOOL_I_MESSAGE);
    return LANEPOOL_OK;
}

static void add_ready(lanepool_pool *pool, lanepool_i_task *cut, lanepool_i_grants *grants)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->end_round(pool, cut);
    visits->is_counted = true;
    grants->latched -= visits->latched;
    if (lanepool_i_task_is_tombstone(cut))
        lanepool_i_tasks_add(&grants->ready, cut);
    else
        lanepool_i_grants_add(grants, cut);
}

/* Makes a cut ready whose round has ended. Its later rounds do not count again: it has not been
 * parked or finished in between, or its record of attempts has counted that. */
static void make_ready(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *cut,
                       lanepool_i_grants *grants)
{
    lanepool_i_grants again = lanepool_i_no_grants(record->ring);
    add_ready(pool, cut, lanepool_i_visits_of(cut)->is_counted ? &again : grants);
    lanepool_i_router_put_ready(pool, record, &again.ready);
}

/* Only in its first round a cut waits in lanes. */
void lanepool_i_cut_leave_lane(lanepool_pool *pool, lanepool_i_task *cut,
                               lanepool_i_wide_entry *entry, lanepool_i_grants *grants)
{
    if (lanepool_i_visits_leave(cut, entry, &pool->failures->void_lane))
        add_ready(pool, cut, grants);
}

static bool route_cut(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                      lanepool_i_grants *grants)
{
    if (!lanepool_i_task_is_cut(task))
        return false;
    lanepool_i_visits *visits = lanepool_i_visits_of(task);
    lanepool_i_wide_entry *entries = lanepool_i_entries_wide(task);
    uint32_t count = lanepool_i_lane_table_resolve_numbered(pool, record, task, visits->numbers);
    lanepool_i_visits_begin_routing(task, count);
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->place(pool, task);
    lanepool_i_granted granted = { NULL, NULL, 0 };
    for (uint32_t i = 0; i < count; i++) {
        lanepool_mode mode = lanepool_i_mode_of_owner(entries[i].owner);
        entries[i].owner |= LANEPOOL_I_OWNER_CUT;
        uintptr_t link = lanepool_i_link_to(&entries[i].entry, LANEPOOL_I_LINK_WIDE, mode);
        if (lanepool_i_lane_append(entries[i].entry.at.lane, link, grants))
            lanepool_i_granted_add(&granted, &entries[i]);
    }
    if (granted.count > 0)
        lanepool_i_visits_list(task, &granted, &grants->ready);
    lanepool_i_poison_leave_lanes(pool, task, grants);
    if (lanepool_i_visits_end_routing(task))
        make_ready(pool, record, task, grants);
    return true;
}

/* --- beginning --- */

/* Returns false if the task was cancelled together with others. Then the canceller has the
 * reference to the future, and STARTED must not be set: see cancel.c. */
static bool set_started(lanepool_i_task *cut)
{
    uint64_t word = load_relaxed(&cut->word);
    do {
        if (lanepool_i_word_is_cancelled(word))
            return false;
    } while (!cas_acq_rel(&cut->word, &word, word | LANEPOOL_I_STARTED));
    return true;
}

/* By the only active visitor, before the first visit. A run of a series that was asked to end is
 * not RUNNING: its worker ends it. */
static void begin_cut(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *cut)
{
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    lanepool_future *future = cut->as.wide.future;
    lanepool_i_visits_state state = LANEPOOL_I_VISITS_CANCELLED;
    if (set_started(cut) && lanepool_i_future_start(future))
        state = lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_RUNNING
                    ? LANEPOOL_I_VISITS_BEGUN
                    : LANEPOOL_I_VISITS_STOPPED;
    if (state == LANEPOOL_I_VISITS_BEGUN) {
        lanepool_i_expiry_started(future);
        lanepool_i_run_suspend(pool, future);
    }
    lanepool_i_visits_decided(lanepool_i_visits_of(cut), state, &grants.ready);
    lanepool_i_router_pass_on(pool, record, &grants);
}

/* --- visits --- */

static void end_at_lane(lanepool_pool *pool, lanepool_i_visitor *visitor)
{
    for (size_t i = 0; pool->slots.end_at_lane[i] != NULL; i++)
        pool->slots.end_at_lane[i]->end_at_lane(pool, visitor);
}

/* Waits inside the call answer DEADLOCK, as in callbacks. */
static int call_at_lane(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *cut,
                        lanepool_i_visitor *visitor)
{
    const lanepool_i_lane *lane = visitor->entry.entry.at.lane;
    lanepool_run run;
    const lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    for (size_t i = 0; visits->parts != NULL && pool->slots.begin_visit[i] != NULL; i++)
        pool->slots.begin_visit[i]->begin_visit(pool, cut, lanepool_i_visitor_part(visits, visitor),
                                                visitor->number);
    lanepool_i_run_push(&run, pool, record, &visitor->block);
    record->callbacks++;
    lanepool_i_lane_trace_visit(lane, LANEPOOL_EVENT_VISIT, cut, LANEPOOL_OK, record->ring);
    const lanepool_i_feature *caller = pool->slots.call[0];
    int code = caller == NULL ? lanepool_i_visitor_call(visitor, &run)
                              : caller->call_at_lane(pool, &run, visitor);
    lanepool_i_lane_trace_visit(lane, LANEPOOL_EVENT_VISITED, cut,
                                code == 0 ? LANEPOOL_OK : LANEPOOL_FAILED, record->ring);
    record->callbacks--;
    lanepool_i_run_pop(record, &run);
    end_at_lane(pool, visitor);
    return code;
}

static size_t index_of_visit(lanepool_i_task *cut, const lanepool_i_visitor *visitor)
{
    return (size_t)(visitor->at - lanepool_i_entries_wide(cut));
}

/* Tasks that wait behind the lane now wait for the cut's other lanes, too. */
static void keep_lane(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *cut,
                      lanepool_i_visitor *visitor, lanepool_status status, int code)
{
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->keep_entry(pool, cut, index_of_visit(cut, visitor));
    if (lanepool_i_visits_keep(lanepool_i_visits_of(cut), visitor, status, code))
        pool->host->recheck_waits(pool, record);
}

/* The lane waits for the other lanes of a progressive rollup. */
static void hold_lane(lanepool_i_thread_record *record, lanepool_i_task *cut,
                      lanepool_i_visitor *visitor)
{
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    grants.latched = lanepool_i_visits_hold(cut, visitor) ? 1 : 0;
    lanepool_i_count_grants(record, &grants);
}

/* The entry is about to leave its lane. */
static void pass_entry(lanepool_pool *pool, lanepool_i_task *cut, lanepool_i_visitor *visitor)
{
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->withdraw_entry(pool, cut, index_of_visit(cut, visitor));
    lanepool_i_visitor_mark(visitor, LANEPOOL_I_NEXT_PASSED);
}

static void let_lane_go_on(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *cut, lanepool_i_lane *lane, uint32_t number)
{
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    lanepool_i_lane_trace_early(lane, cut, record->ring);
    lanepool_i_lane_release(lane, &grants);
    if (grants.ready.count != 0 || grants.latched != 0)
        lanepool_i_router_pass_on(pool, record, &grants);
    if (pool->limits_lanes)
        lanepool_i_lane_limits_end_visit(pool, cut, number);
}

static void end_visit(lanepool_pool *pool, const lanepool_i_visits *visits,
                      const lanepool_i_visitor *visitor)
{
    lanepool_mode mode = lanepool_i_mode_of_owner(visitor->entry.owner);
    for (size_t i = 0; pool->slots.end_visit[i] != NULL; i++)
        pool->slots.end_visit[i]->end_visit(pool, lanepool_i_visitor_part(visits, visitor), mode);
}

/* A planted error. */
static LANEPOOL_I_COLD void call_function_early(lanepool_pool *pool,
                                                lanepool_i_thread_record *record,
                                                const lanepool_i_task *cut,
                                                lanepool_i_visitor *visitor)
{
    lanepool_run run;
    lanepool_i_run_push(&run, pool, record, &visitor->block);
    (void)cut->function(&run, cut->context);
    lanepool_i_run_pop(record, &run);
}

/* The contribution is complete before the lane goes on. */
static void make_visit(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *cut,
                       lanepool_i_visitor *visitor)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_lane *lane = visitor->entry.entry.at.lane;
    bool calls = visits->state == LANEPOOL_I_VISITS_BEGUN;
    if (calls && PLANTED(PASSED_BEFORE_VISIT)) {
        if (pool->slots.in_lanes != NULL)
            pool->slots.in_lanes->withdraw_entry(pool, cut, index_of_visit(cut, visitor));
        let_lane_go_on(pool, record, cut, lane, visitor->number);
        (void)call_at_lane(pool, record, cut, visitor);
        lanepool_i_visitor_mark(visitor, LANEPOOL_I_NEXT_PASSED);
        return;
    }
    if (calls && PLANTED(CUT_BEFORE_LAST_VISIT) && visits->left == 1 + visitor->unsettled)
        call_function_early(pool, record, cut, visitor);
    int code = calls ? call_at_lane(pool, record, cut, visitor) : 0;
    if (code != 0) {
        keep_lane(pool, record, cut, visitor, LANEPOOL_FAILED, code);
        return;
    }
    if (visits->holds_lanes && visits->state != LANEPOOL_I_VISITS_CANCELLED) {
        hold_lane(record, cut, visitor);
        return;
    }
    if (calls && !PLANTED(NUMBERED_LATE))
        end_visit(pool, visits, visitor);
    pass_entry(pool, cut, visitor);
    let_lane_go_on(pool, record, cut, lane, visitor->number);
    if (calls && PLANTED(NUMBERED_LATE))
        end_visit(pool, visits, visitor);
}

/* The first visit is the one for which a worker has chosen the visitor. */
static bool must_stop(lanepool_pool *pool, lanepool_i_visitor *visitor, uint32_t visits)
{
    if (visits == 0)
        return lanepool_i_workers_are_stopped(&pool->workers);
    const lanepool_i_feature *feature = pool->slots.in_lanes;
    return visits >= LANEPOOL_I_VISITS_AT_ONCE || load_seq(&pool->workers.halt) != 0 ||
           (feature != NULL && !feature->may_visit_on(pool, visitor));
}

/* Visits what is listed. Returns false if the visitor must stop before that. */
static bool visit_listed(lanepool_pool *pool, lanepool_i_thread_record *record,
                         lanepool_i_task *cut, lanepool_i_visitor *visitor, uint32_t *count)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    while (!must_stop(pool, visitor, *count)) {
        if (!lanepool_i_visits_take(visits, cut, visitor, LANEPOOL_I_VISITS_AT_ONCE - *count))
            return true;
        if (visits->state == LANEPOOL_I_VISITS_NOT_BEGUN)
            begin_cut(pool, record, cut);
        make_visit(pool, record, cut, visitor);
        ++*count;
    }
    return false;
}

static void queue_visitor(lanepool_pool *pool, const lanepool_i_thread_record *record,
                          lanepool_i_visitor *visitor)
{
    lanepool_i_tasks tasks = { NULL, NULL, 0 };
    lanepool_i_tasks_add(&tasks, &visitor->block);
    lanepool_i_router_put_to_workers(pool, record, &tasks);
}

/* Each visit counts as a task of the worker's quantum. So after so many visits the worker
 * routes what was submitted meanwhile. */
static void count_visits(const lanepool_i_thread_record *record, uint32_t count)
{
    if (record->worker != NULL && count > 0)
        lanepool_i_worker_ran_more(record->worker, count - 1);
}

/* Once the visitor is idle, another thread may end the cut and reuse both. */
static void run_visitor(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_visitor *visitor, lanepool_i_grants *grants)
{
    lanepool_i_task *cut = visitor->block.context;
    uint32_t count = 0;
    bool ends;
    do {
        if (!visit_listed(pool, record, cut, visitor, &count)) {
            lanepool_i_visits_settle(cut, visitor);
            count_visits(record, count);
            queue_visitor(pool, record, visitor);
            return;
        }
    } while (!lanepool_i_visits_retire(cut, visitor, &ends));
    count_visits(record, count);
    if (ends)
        make_ready(pool, record, cut, grants);
    lanepool_i_count_grants(record, grants);
    lanepool_i_count_up(&record->readied, (uint64_t)-1);
}

/* A retried cut visits the lanes that it has kept. */
static void begin_round(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *cut,
                        lanepool_i_grants *grants)
{
    lanepool_i_run_suspend(pool, cut->as.wide.future);
    lanepool_i_visits_begin_round(cut, &grants->ready);
    lanepool_i_count_grants(record, grants);
}

/* The thread has ended inside the call. */
static void keep_abandoned(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_task *cut, lanepool_i_visitor *visitor)
{
    lanepool_i_lane_trace_visit(visitor->entry.entry.at.lane, LANEPOOL_EVENT_VISITED, cut,
                                LANEPOOL_ABANDONED, record->ring);
    end_at_lane(pool, visitor);
    keep_lane(pool, record, cut, visitor, LANEPOOL_ABANDONED, 0);
}

static void run_visits(lanepool_pool *pool, lanepool_i_thread_record *record,
                       lanepool_i_task *block, bool is_abandoned, lanepool_i_grants *grants)
{
    *grants = lanepool_i_no_grants(record->ring);
    if (lanepool_i_task_is_cut(block)) {
        begin_round(pool, record, block, grants);
        return;
    }
    lanepool_i_visitor *visitor = (lanepool_i_visitor *)block;
    if (is_abandoned)
        keep_abandoned(pool, record, block->context, visitor);
    run_visitor(pool, record, visitor, grants);
}

/* --- after a round --- */

/* The thread that runs the cut is the only one that uses its visits now. */
static lanepool_i_turn turn_of_cut(lanepool_i_task *task, lanepool_result *result)
{
    lanepool_i_visits *visits = lanepool_i_visits_of(task);
    if (visits->kept > 0 && visits->status == LANEPOOL_OK)
        return LANEPOOL_I_TURN_VISITS;
    visits->has_called = visits->kept == 0;
    if (visits->has_called && visits->holds_lanes)
        lanepool_i_visits_become_rollup(task);
    if (visits->has_called)
        return LANEPOOL_I_TURN_CALL;
    *result = (lanepool_result){ visits->status, visits->code, NULL };
    visits->status = LANEPOOL_OK;
    return LANEPOOL_I_TURN_ENDED;
}

static void call_cancelled_in_parts(lanepool_i_thread_record *record, const lanepool_i_task *task)
{
    if (!lanepool_i_visits_of(task)->has_called)
        lanepool_i_run_call_cancelled(record, lanepool_i_task_callbacks(task).cancelled,
                                      task->context, LANEPOOL_IN_PARTS);
}

bool lanepool_i_cut_end_at_stop(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *task, lanepool_cancelled_fn of_series)
{
    if (!lanepool_i_task_is_cut(task))
        return false;
    const lanepool_i_visits *visits = lanepool_i_visits_of(task);
    bool is_failed = visits->left == 0 && visits->kept > 0 && visits->status == LANEPOOL_OK;
    if (visits->state != LANEPOOL_I_VISITS_BEGUN || visits->has_called || is_failed)
        return false;
    lanepool_result result = { LANEPOOL_IN_PARTS, 0, NULL };
    lanepool_i_visits_stop_round(task);
    lanepool_i_run_call_cancelled(record, of_series, task->context, LANEPOOL_IN_PARTS);
    lanepool_i_run_end_after_failure(pool, record, task, &result);
    return true;
}

static void describe_handed_back(lanepool_pool *pool, lanepool_i_task *task,
                                 lanepool_task *description)
{
    (void)pool;
    if (!lanepool_i_task_is_cut(task))
        return;
    const lanepool_i_visits *visits = lanepool_i_visits_of(task);
    *(visits->holds_lanes ? &description->at_grant : &description->at_lane) = visits->at_lane;
}

const lanepool_i_feature lanepool_i_feature_cut = {
    .build = build_cut,
    .route = route_cut,
    .turn = turn_of_cut,
    .visits = run_visits,
    .ends_uncalled = call_cancelled_in_parts,
    .hand_back = describe_handed_back,
};
