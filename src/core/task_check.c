/* Owns the checks that few descriptions need, those of failure policies, and why a description is
 * refused; see task_check.h. */
#include "core/task_check.h"

#include "future/attempts.h"
#include "route/offers.h"

bool lanepool_i_description_has_valid_priority_and_tag(const lanepool_pool *pool,
                                                       const lanepool_task *task)
{
    return pool->options.priorities && task->priority <= LANEPOOL_PRIORITY_MAX &&
           task->tag <= LANEPOOL_TAG_MAX;
}

bool lanepool_i_description_may_have_scope(const lanepool_pool *pool, const lanepool_task *task)
{
    return task->kind == 0 && lanepool_i_pool_offers(pool, LANEPOOL_I_CLAIMS);
}

bool lanepool_i_description_copy(lanepool_task *known, const lanepool_task *given)
{
    return LANEPOOL_I_STRUCT_READ(known, given, lanepool_task, cancelled);
}

/* --- failure policies --- */

LANEPOOL_I_ASSERT_NO_TAIL(lanepool_failure_policy, at_poison);

bool lanepool_i_policy_read(lanepool_failure_policy *known, const lanepool_failure_policy *given)
{
    return LANEPOOL_I_STRUCT_READ(known, given, lanepool_failure_policy, at_poison) &&
           (unsigned)known->at_end <= LANEPOOL_FAILURE_PAUSE &&
           (unsigned)known->at_poison <= LANEPOOL_AT_POISON_RUN_WITHOUT;
}

bool lanepool_i_policy_is_set(const lanepool_failure_policy *policy)
{
    return policy->retries > 0 || policy->at_end != LANEPOOL_FAILURE_CONTINUE ||
           policy->at_poison != LANEPOOL_AT_POISON_WAIT;
}

static bool is_policy_offered(const lanepool_pool *pool, const lanepool_failure_policy *policy)
{
    return (policy->retries == 0 || lanepool_i_pool_offers(pool, LANEPOOL_I_RETRIES)) &&
           (policy->at_end != LANEPOOL_FAILURE_POISON ||
            lanepool_i_pool_offers(pool, LANEPOOL_I_PARKED_TASKS)) &&
           (policy->at_end != LANEPOOL_FAILURE_PAUSE ||
            lanepool_i_pool_offers(pool, LANEPOOL_I_PAUSE_AFTER_FAILURE)) &&
           (policy->at_poison == LANEPOOL_AT_POISON_WAIT ||
            lanepool_i_pool_offers(pool, LANEPOOL_I_AT_POISON));
}

lanepool_status lanepool_i_policy_check(const lanepool_pool *pool,
                                        const lanepool_failure_policy *policy)
{
    lanepool_failure_policy known;
    if (!lanepool_i_policy_read(&known, policy))
        return LANEPOOL_INVALID;
    return is_policy_offered(pool, &known) ? LANEPOOL_OK : LANEPOOL_UNSUPPORTED;
}

/* --- cuts --- */

/* A contribution to a cut must be a state of the serial run, and commuting tasks have no order. */
static bool are_claims_of_cut(const lanepool_task *task)
{
    bool valid = task->claim_count > 0 && task->claims[0].key.type != LANEPOOL_KEY_ALL;
    for (size_t i = 0; i < task->claim_count && valid; i++)
        valid = task->claims[i].mode != LANEPOOL_COMMUTING;
    return valid;
}

/* When a lane is poisoned, other lanes may have been visited already. So a cut cannot fail there. A
 * progressive rollup waits there: it has all of its lanes, or none. */
static bool bears_poison(const lanepool_pool *pool, const lanepool_task *task)
{
    lanepool_failure_policy policy = pool->failures->policy;
    if (task->on_failure != NULL)
        (void)lanepool_i_policy_read(&policy, task->on_failure);
    return policy.at_poison == LANEPOOL_AT_POISON_WAIT ||
           (policy.at_poison == LANEPOOL_AT_POISON_RUN_WITHOUT && task->at_grant == NULL);
}

lanepool_status lanepool_i_description_check_cut(const lanepool_pool *pool,
                                                 const lanepool_task *task)
{
    if (!lanepool_i_description_has_visits(task))
        return LANEPOOL_OK;
    if (!are_claims_of_cut(task) || (task->at_lane != NULL && task->at_grant != NULL))
        return LANEPOOL_INVALID;
    bool is_offered = lanepool_i_pool_offers(pool, LANEPOOL_I_CUTS) && task->pump == NULL &&
                      bears_poison(pool, task);
    return is_offered ? LANEPOOL_OK : LANEPOOL_UNSUPPORTED;
}

/* --- why a description is refused --- */

static bool are_claims_valid(const lanepool_pool *pool, const lanepool_task *task)
{
    uint64_t lanes;
    size_t count = task->claim_count;
    if (count > LANEPOOL_CLAIMS_MAX || (count > 0 && task->claims == NULL))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!lanepool_i_description_is_valid_claim(pool, &task->claims[i]))
            return lanepool_i_description_claims_everything(task, &lanes);
    return true;
}

/* Whether each value is in its range, whatever the pool offers. */
static bool are_values_valid(const lanepool_pool *pool, const lanepool_task *task)
{
    return task->function != NULL && task->tag <= LANEPOOL_TAG_MAX &&
           task->priority <= LANEPOOL_PRIORITY_MAX && are_claims_valid(pool, task) &&
           lanepool_i_description_names_own_parts(pool, task);
}

static bool names_keys(const lanepool_task *task)
{
    uint64_t lanes;
    return task->claim_count > 0 && !lanepool_i_description_claims_everything(task, &lanes);
}

static bool is_description_offered(const lanepool_pool *pool, const lanepool_task *task)
{
    return (!names_keys(task) || lanepool_i_pool_offers(pool, LANEPOOL_I_CLAIMS)) &&
           (task->kind == 0 ||
            (!names_keys(task) && lanepool_i_pool_offers(pool, LANEPOOL_I_KINDS))) &&
           (task->priority == 0 || lanepool_i_pool_offers(pool, LANEPOOL_I_PRIORITIES));
}

lanepool_status lanepool_i_description_check(const lanepool_pool *pool, const lanepool_task *task)
{
    uint64_t lanes;
    if (pool == NULL || task == NULL || !are_values_valid(pool, task))
        return LANEPOOL_INVALID;
    if (!is_description_offered(pool, task))
        return LANEPOOL_UNSUPPORTED;
    if (!lanepool_i_description_is_valid(pool, task, &lanes))
        return LANEPOOL_INVALID; /* a priority in a pool without the option */
    lanepool_status status =
        task->on_failure != NULL ? lanepool_i_policy_check(pool, task->on_failure) : LANEPOOL_OK;
    return status == LANEPOOL_OK ? lanepool_i_description_check_cut(pool, task) : status;
}

lanepool_status lanepool_i_description_check_for_later(const lanepool_pool *pool,
                                                       const lanepool_task *task)
{
    lanepool_status status = lanepool_i_description_check(pool, task);
    if (status == LANEPOOL_OK && (task->group != NULL || task->pump != NULL))
        return LANEPOOL_UNSUPPORTED;
    return status;
}
