/* Owns pausing, resuming, and the list of gates. An opened gate is freed once it has passed, by the
 * next call that pauses or resumes a lane. */
#include "feature/pause.h"

#include "base/misuse.h"
#include "core/caller_runs.h"
#include "feature/failures.h"
#include "lanepool/pool.h"
#include "platform/notes.h"
#include "route/lane_handle.h"
#include "route/offers.h"
#include "route/pool.h"

/* --- the pool --- */

/* The lock orders this and a shutdown: a later shutdown finds the pause and ends it. */
lanepool_status lanepool_pool_pause(lanepool_pool *pool)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_i_mutex_lock(&pool->lifecycle.lock);
    bool runs = load_seq(pool->lifecycle.state) == LANEPOOL_I_RUNNING;
    if (runs)
        lanepool_i_workers_pause(&pool->workers);
    lanepool_i_mutex_unlock(&pool->lifecycle.lock);
    return runs ? LANEPOOL_OK : LANEPOOL_SHUT_DOWN;
}

lanepool_status lanepool_pool_resume(lanepool_pool *pool)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_i_note_release(&pool->notes.controls);
    lanepool_i_workers_resume(&pool->workers);
    lanepool_i_sleepers_wake(&pool->workers.sleepers);
    return LANEPOOL_OK;
}

bool lanepool_pool_is_paused(const lanepool_pool *pool)
{
    if (LANEPOOL_I_MISUSED(pool == NULL, "pool is NULL"))
        return false;
    return lanepool_i_workers_are_paused(&pool->workers);
}

/* --- gates --- */

static void open_gate(lanepool_pool *pool, lanepool_i_gate *gate, lanepool_i_grants *grants)
{
    if (gate->is_of_failure)
        lanepool_i_failures_count_paused(pool, (size_t)-1);
    lanepool_i_lane_open_gate(gate, grants);
    gate->lane = NULL;
}

static void free_passed_gates(lanepool_i_lane_table *table)
{
    LANEPOOL_I_EACH(lanepool_i_gate, gate, &table->gates, link)
        if (lanepool_i_gate_has_passed(gate)) {
            lanepool_i_unlink(&gate->link);
            lanepool_i_memory_free(gate);
        }
}

bool lanepool_i_gates_any_closed(const lanepool_i_lane_table *table)
{
    LANEPOOL_I_EACH(const lanepool_i_gate, gate, &table->gates, link)
        if (gate->lane != NULL)
            return true;
    return false;
}

void lanepool_i_gates_open(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (lanepool_i_list_is_empty(&pool->lane_table.gates))
        return;
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    LANEPOOL_I_EACH(lanepool_i_gate, gate, &pool->lane_table.gates, link)
        if (gate->lane != NULL && !gate->is_of_failure)
            open_gate(pool, gate, &grants);
    free_passed_gates(&pool->lane_table);
    lanepool_i_router_pass_on(pool, record, &grants);
}

void lanepool_i_gates_fini(lanepool_pool *pool)
{
    LANEPOOL_I_EACH(lanepool_i_gate, gate, &pool->lane_table.gates, link)
        lanepool_i_memory_free(gate);
}

/* --- lanes --- */

/* One call that pauses or resumes a lane; on the caller's stack. */
struct pause_change {
    lanepool_lane *handle;
    lanepool_i_gate *gate; /* the caller's until it is used; NULL to resume */
    bool shut_down;
};

/* A ticket after those of all tasks with entries, and not after those of the others. A task that is
 * held back behind a barrier has a ticket, but no entries. */
static uint64_t first_unrouted_ticket(const lanepool_i_router *router)
{
    return router->barrier != NULL ? router->barrier_ticket : router->next_ticket;
}

/* A lane that is paused already becomes paused by a failure, too. */
bool lanepool_i_gate_close(lanepool_pool *pool, lanepool_i_lane *lane, lanepool_i_gate *gate,
                           lanepool_i_grants *grants)
{
    lanepool_i_gate *current = lanepool_i_lane_table_gate(&pool->lane_table, lane);
    lanepool_i_gate *either = current != NULL ? current : gate;
    if (gate->is_of_failure && (current == NULL || !current->is_of_failure)) {
        either->is_of_failure = true;
        lanepool_i_failures_count_paused(pool, 1);
    }
    if (current != NULL)
        return false;
    lanepool_i_list_add(&pool->lane_table.gates, &gate->link);
    lanepool_i_lane_close_gate(lane, gate, first_unrouted_ticket(&pool->router), grants);
    return true;
}

static void close_gate(lanepool_pool *pool, lanepool_i_lane *lane, struct pause_change *change,
                       lanepool_i_grants *grants)
{
    change->shut_down = load_seq(pool->lifecycle.state) != LANEPOOL_I_RUNNING;
    change->gate->is_of_failure = false;
    if (!change->shut_down && lanepool_i_gate_close(pool, lane, change->gate, grants))
        change->gate = NULL;
}

/* Role's holder. */
static void carry_out_change(lanepool_pool *pool, lanepool_i_thread_record *record, void *context,
                             lanepool_i_grants *grants)
{
    struct pause_change *change = context;
    lanepool_i_lane *lane = lanepool_i_handle_lane(pool, record, change->handle);
    lanepool_i_gate *current = lanepool_i_lane_table_gate(&pool->lane_table, lane);
    if (change->gate != NULL)
        close_gate(pool, lane, change, grants);
    else if (current != NULL)
        open_gate(pool, current, grants);
    free_passed_gates(&pool->lane_table);
}

static lanepool_status run_pause_change(lanepool_pool *pool, struct pause_change *change)
{
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    lanepool_i_note_release(&pool->notes.controls);
    lanepool_status status =
        lanepool_i_control_call_in_turn(pool, record, carry_out_change, change);
    return status == LANEPOOL_OK && change->shut_down ? LANEPOOL_SHUT_DOWN : status;
}

static lanepool_status check_lane(const lanepool_lane *lane)
{
    if (lane == NULL)
        return LANEPOOL_INVALID;
    return lanepool_i_pool_offers(lane->pool, LANEPOOL_I_LANE_PAUSES) ? LANEPOOL_OK
                                                                      : LANEPOOL_UNSUPPORTED;
}

lanepool_status lanepool_lane_pause(lanepool_lane *lane)
{
    lanepool_status status = check_lane(lane);
    if (status != LANEPOOL_OK)
        return status;
    struct pause_change change = { .handle = lane };
    change.gate = lanepool_i_memory_alloc(sizeof *change.gate);
    if (change.gate == NULL)
        return LANEPOOL_NOMEM;
    status = run_pause_change(lane->pool, &change);
    lanepool_i_memory_free(change.gate);
    return status;
}

lanepool_status lanepool_lane_resume(lanepool_lane *lane)
{
    struct pause_change change = { .handle = lane };
    lanepool_status status = check_lane(lane);
    return status == LANEPOOL_OK ? run_pause_change(lane->pool, &change) : status;
}
