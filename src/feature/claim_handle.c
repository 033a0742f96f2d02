/* Owns the handles that a program acquires for keys; see lane_handle.h. */
#include "route/lane_handle.h"

#include "base/misuse.h"
#include "feature/lane_limit.h"
#include "route/offers.h"
#include "route/program_key.h"

#include <string.h>

static bool is_valid_key(lanepool_key key)
{
    if (key.type == LANEPOOL_KEY_BYTES)
        return key.size <= LANEPOOL_KEY_BYTES_MAX && (key.bytes != NULL || key.size == 0);
    return key.type == LANEPOOL_KEY_ID || key.type == LANEPOOL_KEY_POINTER;
}

lanepool_status lanepool_lane_acquire(lanepool_pool *pool, lanepool_key key, lanepool_lane **lane)
{
    if (lane != NULL)
        *lane = NULL;
    if (pool == NULL || lane == NULL || !is_valid_key(key))
        return LANEPOOL_INVALID;
    if (!lanepool_i_pool_offers(pool, LANEPOOL_I_LANE_HANDLES))
        return LANEPOOL_UNSUPPORTED;
    lanepool_i_thread_record *record;
    lanepool_status status = lanepool_i_pool_enter(pool, &record);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_lane *handle = lanepool_i_memory_alloc(sizeof *handle);
    if (handle == NULL)
        return LANEPOOL_NOMEM;
    memset(handle, 0, sizeof *handle);
    handle->pool = pool;
    if (!lanepool_i_key_of_program(pool, record, key, &handle->key))
        goto free_handle;
    handle->has_own_bytes = handle->key.type == LANEPOOL_I_TYPE_BYTES;
    if (!lanepool_i_lane_memory_reserve(&pool->lane_table.store, 1))
        goto give_bytes;
    if (pool->limits_lanes) {
        handle->quota = lanepool_i_lane_limits_reference_quota(pool, record, key);
        if (handle->quota == NULL)
            goto give_lane;
    }
    LANEPOOL_I_QUARANTINE_NAME(handle, pool->quarantine);
    *lane = handle;
    return LANEPOOL_OK;
give_lane:
    lanepool_i_lane_memory_unreserve(&pool->lane_table.store, 1);
give_bytes:
    if (handle->has_own_bytes)
        lanepool_i_key_bytes_give(pool, record, handle->key.value.bytes);
free_handle:
    lanepool_i_memory_free(handle);
    return LANEPOOL_NOMEM;
}

/* A handle that the router never met has not used its lane reservation. */
static void carry_out_release(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_message *message, lanepool_i_grants *grants)
{
    (void)grants;
    lanepool_lane *handle = (lanepool_lane *)message;
    if (handle->quota != NULL)
        lanepool_i_lane_quotas_unreference(&pool->lane_quotas, handle->quota);
    if (handle->lane != NULL)
        handle->lane->key.handle_count--;
    else
        lanepool_i_lane_memory_settle(&pool->lane_table.store, 1);
    if (handle->has_own_bytes)
        lanepool_i_key_bytes_give(pool, record, handle->key.value.bytes);
    LANEPOOL_I_QUARANTINE_KEEP(handle, lanepool_i_memory_free);
}

void lanepool_lane_release(lanepool_lane *handle)
{
    if (handle == NULL)
        return;
    lanepool_pool *pool = handle->pool;
    if (lanepool_i_pool_is_forked(pool)) {
        LANEPOOL_I_QUARANTINE_KEEP(handle, lanepool_i_memory_free);
        return;
    }
    if (LANEPOOL_I_MISUSED(handle->message.carry_out != NULL, "the lane was released before"))
        return;
    lanepool_i_thread_record *record = lanepool_i_pool_thread_record(pool);
    handle->message.carry_out = carry_out_release;
    if (lanepool_i_router_send(pool, record, &handle->message))
        return;
    if (handle->has_own_bytes)
        lanepool_i_key_bytes_end(handle->key.value.bytes);
    LANEPOOL_I_QUARANTINE_KEEP(handle, lanepool_i_memory_free);
}

/* Sets the limit in the quota, which the handle references. Waiting submitters may fit now. */
lanepool_status lanepool_lane_set_pending_max(lanepool_lane *lane, size_t pending_max)
{
    if (lane == NULL || !lane->pool->limits_lanes)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(lane->pool))
        return LANEPOOL_FORKED;
    lanepool_i_lane_quotas_set_max(&lane->pool->lane_quotas, lane->quota, pending_max);
    lanepool_i_admission_serve(&lane->pool->admission, true);
    return LANEPOOL_OK;
}
