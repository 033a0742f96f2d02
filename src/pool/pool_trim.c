/* Owns when a pool's memory is trimmed; see pool_trim.h. */
#include "pool/pool_trim.h"

#include "core/caller_runs.h"
#include "feature/lane_limit.h"
#include "route/pool.h"

bool lanepool_i_pool_may_trim(void *owner)
{
    const lanepool_pool *pool = owner;
    return lanepool_i_slab_trim_due(&pool->slab) != 0 ||
           lanepool_i_lane_memory_trim_due(&pool->lane_table.store) != 0;
}

static bool is_trim_due(uint64_t due_ns, uint64_t now_ns)
{
    return due_ns != 0 && due_ns <= now_ns;
}

/* Returns false at the end of a trim, or if another thread has the role. */
static bool try_to_trim_lanes(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    if (!lanepool_i_role_try(&pool->router))
        return false;
    bool more = pool->rule->trim_some(pool, record);
    lanepool_i_role_give_back(pool, record);
    return more;
}

void lanepool_i_pool_trim_asleep(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    const lanepool_i_sleepers *sleepers = &pool->workers.sleepers;
    uint64_t now_ns = lanepool_i_clock_now();
    bool more = is_trim_due(lanepool_i_slab_trim_due(&pool->slab), now_ns);
    lanepool_i_quota_trim trim = { 0 };
    while (more && lanepool_i_sleepers_is_asleep(sleepers, worker->index) &&
           lanepool_i_lane_limits_trim_some(pool, worker->record, &trim))
        ;
    while (more && lanepool_i_sleepers_is_asleep(sleepers, worker->index))
        more = lanepool_i_slab_trim_some(&pool->slab);
    more = is_trim_due(lanepool_i_lane_memory_trim_due(&pool->lane_table.store), now_ns);
    while (more && lanepool_i_sleepers_is_asleep(sleepers, worker->index))
        more = try_to_trim_lanes(pool, worker->record);
}

/* Only memory that no lane uses. While tasks run, the router removes idle lanes. */
static void try_to_trim_lane_memory(lanepool_pool *pool, lanepool_i_worker *worker)
{
    if (!lanepool_i_role_try(&pool->router))
        return;
    if (!lanepool_i_lane_memory_trim_one(&pool->lane_table.store))
        lanepool_i_lane_memory_end_trim(&pool->lane_table.store, 0);
    lanepool_i_role_give_back(pool, worker->record);
}

static void trim_blocks_busily(lanepool_i_slab *slab)
{
    for (int i = 0; i < LANEPOOL_I_TRIM_BUSY_PARTS; i++)
        if (!lanepool_i_slab_trim_some(slab))
            return;
}

/* One busy worker at a time: the others find that it has just trimmed. */
void lanepool_i_pool_trim_busy(void *owner, lanepool_i_worker *worker)
{
    lanepool_pool *pool = owner;
    uint64_t now_ns = worker->now_ns;
    bool blocks = is_trim_due(lanepool_i_slab_trim_due(&pool->slab), now_ns);
    bool lanes = is_trim_due(lanepool_i_lane_memory_trim_due(&pool->lane_table.store), now_ns);
    uint64_t last_ns = load_relaxed(&pool->slab.trim.busy_ns);
    if ((!blocks && !lanes) || now_ns < last_ns + LANEPOOL_I_TRIM_BUSY_NS ||
        !cas_relaxed(&pool->slab.trim.busy_ns, &last_ns, now_ns))
        return;
    if (blocks)
        trim_blocks_busily(&pool->slab);
    else
        try_to_trim_lane_memory(pool, worker);
}

/* --- the call --- */

struct trim_call {
    bool more;
    bool has_stopped;
};

static void trim_lanes_as_role_holder(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      void *context, lanepool_i_grants *grants)
{
    struct trim_call *call = context;
    (void)grants;
    call->has_stopped = pool->lifecycle.handed_back;
    call->more = !call->has_stopped && pool->rule->trim_some(pool, record);
}

/* Ends a trim that may have begun before, and makes a whole one. */
static lanepool_status trim_lanes(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    struct trim_call call = { .more = true };
    lanepool_status status = LANEPOOL_OK;
    for (int trims = 0; trims < 2 && status == LANEPOOL_OK; trims += !call.more)
        status =
            lanepool_i_control_call(pool, record, UINT64_MAX, trim_lanes_as_role_holder, &call);
    return call.has_stopped ? LANEPOOL_SHUT_DOWN : status;
}

lanepool_status lanepool_pool_trim(lanepool_pool *pool)
{
    if (pool == NULL)
        return LANEPOOL_INVALID;
    lanepool_i_thread_record *record;
    lanepool_status status = lanepool_i_control_enter(pool, &record);
    if (status != LANEPOOL_OK)
        return status;
    status = trim_lanes(pool, record);
    lanepool_i_quota_trim quotas = { 0 };
    while (lanepool_i_lane_limits_trim_some(pool, record, &quotas))
        ;
    lanepool_i_slab_trim(&pool->slab);
    return status;
}
