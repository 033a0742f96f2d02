/* Owns the checks that few descriptions need, and those of failure policies; see task_check.h. */
#include "core/task_check.h"

bool lanepool_i_description_has_valid_priority_and_tag(const lanepool_pool *pool,
                                                       const lanepool_task *task)
{
    return pool->options.priorities && task->priority <= LANEPOOL_PRIORITY_MAX &&
           task->tag <= LANEPOOL_TAG_MAX;
}

/* --- failure policies --- */

bool lanepool_i_policy_is_set(const lanepool_failure_policy *policy)
{
    return policy->retries > 0 || policy->at_end != LANEPOOL_FAILURE_GO_ON ||
           policy->at_poison != LANEPOOL_AT_POISON_WAIT;
}

/* Returns true if the policy works only in a pool that has a lane for each key. */
static bool needs_lanes(const lanepool_failure_policy *policy)
{
    return policy->at_end == LANEPOOL_FAILURE_PAUSE || policy->at_poison != LANEPOOL_AT_POISON_WAIT;
}

bool lanepool_i_policy_is_valid(const lanepool_pool *pool, const lanepool_failure_policy *policy)
{
    return lanepool_i_struct_is_valid(policy, policy->struct_size, sizeof *policy) &&
           (unsigned)policy->at_end <= LANEPOOL_FAILURE_PAUSE &&
           (unsigned)policy->at_poison <= LANEPOOL_AT_POISON_GO_WITHOUT &&
           (pool->rule->release != NULL || !needs_lanes(policy)) &&
           (pool->options.layout == LANEPOOL_PER_KEY || !lanepool_i_policy_is_set(policy));
}
