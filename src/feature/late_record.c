/* Owns the reservations of records that tasks get when they fail; see late_record.h. */
#include "feature/late_record.h"

#include "core/task_check.h"
#include "feature/delay.h"
#include "feature/failures.h"
#include "route/offers.h"
#include "route/pool.h"

/* Records that a thread reserves at once. */
#define RESERVED_AT_ONCE LANEPOOL_I_LANE_CREDIT

static bool makes_records_late(const lanepool_options *options)
{
    lanepool_failure_policy policy;
    return options->on_failure != NULL && lanepool_i_policy_read(&policy, options->on_failure) &&
           lanepool_i_policy_makes_records_late(&policy);
}

bool lanepool_i_late_record_is_for(const lanepool_pool *pool, const lanepool_task *task)
{
    return pool->failures->makes_records_late && task->future == NULL &&
           !lanepool_i_description_is_member(task);
}

/* All plain tasks of such a pool have a reservation. */
bool lanepool_i_late_record_is_missing(const lanepool_pool *pool, const lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    bool has_reserved = (word & LANEPOOL_I_WIDE) != 0 ? (word & LANEPOOL_I_FAILS_BY_POOL) != 0
                                                      : pool->failures->makes_records_late;
    return has_reserved && lanepool_i_task_future_by(task, word) == NULL;
}

static lanepool_status reserve_record(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      const lanepool_task *task, lanepool_i_task *block)
{
    const lanepool_failure_policy *policy = &pool->failures->policy;
    bool is_wide = lanepool_i_task_is_wide(block);
    if (is_wide && !lanepool_i_late_record_is_for(pool, task))
        return LANEPOOL_OK;
    lanepool_status status = policy->retries > 0 && policy->delay_ns > 0
                                 ? lanepool_i_delays_start_clock(pool)
                                 : LANEPOOL_OK;
    if (status != LANEPOOL_OK)
        return status;
    if (record->attempts == 0) {
        if (!lanepool_i_attempts_memory_reserve(&pool->failures->memory, RESERVED_AT_ONCE))
            return LANEPOOL_NOMEM;
        record->attempts = RESERVED_AT_ONCE;
    }
    record->attempts--;
    if (is_wide)
        store_relaxed(&block->word, load_relaxed(&block->word) | LANEPOOL_I_FAILS_BY_POOL);
    return LANEPOOL_OK;
}

/* The thread may give some of its reservations to the others. */
void lanepool_i_late_record_end(lanepool_pool *pool, lanepool_i_thread_record *record,
                                lanepool_i_task *task)
{
    if (!lanepool_i_late_record_is_missing(pool, task))
        return;
    if (++record->attempts < 2 * RESERVED_AT_ONCE)
        return;
    record->attempts -= RESERVED_AT_ONCE;
    lanepool_i_attempts_memory_unreserve(&pool->failures->memory, RESERVED_AT_ONCE);
}

const lanepool_i_feature lanepool_i_feature_late_record = {
    .is_wanted = makes_records_late,
    .offer = LANEPOOL_I_RETRIES,
    .plain_use = LANEPOOL_I_PLAIN_POINTERS,
    .build = reserve_record,
    .unbuild = lanepool_i_late_record_end,
    .dispose = lanepool_i_late_record_end,
};
