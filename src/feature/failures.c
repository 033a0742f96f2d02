/* Owns the pool's failure policy, and what failed tasks and paused lanes are counted in; see
 * failures.h. */
#include "feature/failures.h"

#include "core/task_check.h"
#include "route/pool.h"

/* --- policies --- */

lanepool_status lanepool_i_failures_read_policy(lanepool_pool *pool)
{
    const lanepool_failure_policy *given = pool->options.on_failure;
    if (given == NULL)
        return LANEPOOL_OK;
    lanepool_status status = lanepool_i_policy_check(pool, given);
    if (status != LANEPOOL_OK)
        return status;
    (void)lanepool_i_policy_read(&pool->failures->policy, given); /* it was found valid */
    pool->failures->has_policy = lanepool_i_policy_is_set(&pool->failures->policy);
    pool->failures->makes_records_late =
        lanepool_i_policy_makes_records_late(&pool->failures->policy);
    pool->options.on_failure = NULL;
    return LANEPOOL_OK;
}

bool lanepool_i_policy_makes_records_late(const lanepool_failure_policy *policy)
{
    return lanepool_i_policy_is_set(policy) && policy->at_end != LANEPOOL_FAILURE_PAUSE &&
           policy->at_poison != LANEPOOL_AT_POISON_FAIL;
}

/* A task that leaves poisoned lanes is wide. */
bool lanepool_i_failures_allow_plain(const lanepool_i_failures *failures)
{
    return !failures->has_policy ||
           (failures->makes_records_late && failures->policy.at_poison == LANEPOOL_AT_POISON_WAIT);
}

/* A task that leaves poisoned lanes has MESSAGE in its word, for the router. So have a barrier and
 * a cut, for other reasons. */
void lanepool_i_failures_remove_policy(lanepool_i_task *task)
{
    lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    if (attempts != NULL) {
        lanepool_i_attempts_free_gates(attempts);
        attempts->member.has_policy = false;
    }
    uint64_t word = load_relaxed(&task->word);
    uint64_t cut = LANEPOOL_I_WIDE | LANEPOOL_I_CUT;
    if (!lanepool_i_task_is_barrier(task) && (word & cut) != cut)
        store_relaxed(&task->word, word & ~LANEPOOL_I_MESSAGE);
}

/* --- messages --- */

/* Raises `messages` before the append. If all workers are inside tasks, the append wakes the waits
 * there; they see `messages`, and route. */
bool lanepool_i_failures_send(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_message *message)
{
    message->urgent = true;
    fetch_add_seq(&pool->failures->messages, 1);
    bool sent = lanepool_i_router_send(pool, record, message);
    if (!sent)
        fetch_sub_seq(&pool->failures->messages, 1);
    return sent;
}

void lanepool_i_failures_sent(lanepool_pool *pool)
{
    fetch_sub_seq(&pool->failures->messages, 1);
}

/* --- counts --- */

bool lanepool_i_failures_block_some(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->suspended.lock);
    bool some = pool->failures->parked + pool->failures->paused > 0;
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    return some;
}

void lanepool_i_failures_count_paused(lanepool_pool *pool, size_t by)
{
    lanepool_i_mutex_lock(&pool->suspended.lock);
    pool->failures->paused += by;
    pool->failures->changes++;
    lanepool_i_mutex_unlock(&pool->suspended.lock);
}
