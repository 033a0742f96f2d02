/*
 * What a task's description asks for, and whether it may: nothing has been done
 * yet when it is refused.
 */
#ifndef LANEPOOL_SRC_CORE_TASK_CHECK_H
#define LANEPOOL_SRC_CORE_TASK_CHECK_H

#include "base/versioned.h"
#include "future/member.h"
#include "future/pump.h"
#include "lanepool/failure.h"
#include "route/lane_handle.h"
#include "route/pool.h"

/* Whether a failure policy is in range, and offered by this pool; and whether it asks for anything.
 */
bool lanepool_i_policy_is_valid(const lanepool_pool *pool, const lanepool_failure_policy *policy);
bool lanepool_i_policy_is_set(const lanepool_failure_policy *policy);

static inline bool lanepool_i_description_is_bytes_or_lane(const lanepool_pool *pool,
                                                           const lanepool_claim *claim)
{
    if (claim->type == LANEPOOL_KEY_BYTES)
        return claim->key.bytes.size <= LANEPOOL_KEY_BYTES_MAX &&
               (claim->key.bytes.data != NULL || claim->key.bytes.size == 0);
    return claim->type == LANEPOOL_KEY_LANE && claim->key.lane != NULL &&
           claim->key.lane->pool == pool;
}

static inline bool lanepool_i_description_is_claim(const lanepool_pool *pool,
                                                   const lanepool_claim *claim)
{
    return claim->mode <= LANEPOOL_SHARED &&
           (claim->type == LANEPOOL_KEY_ID || claim->type == LANEPOOL_KEY_POINTER ||
            lanepool_i_description_is_bytes_or_lane(pool, claim));
}

/* What its only claim is on everything needs no lane, and is built apart. */
#define LANEPOOL_I_EVERYTHING UINT64_MAX

static inline bool lanepool_i_description_claims_everything(const lanepool_task *task,
                                                            uint64_t *lanes)
{
    *lanes = LANEPOOL_I_EVERYTHING;
    return task->claim_count == 1 && task->claims != NULL &&
           task->claims[0].type == LANEPOOL_KEY_ALL && task->claims[0].mode == LANEPOOL_EXCLUSIVE;
}

/* Tag and priority together, which can be read at once: one question for all without priority. */
static inline uint64_t lanepool_i_description_ranking(const lanepool_task *task)
{
    return (uint64_t)task->priority << 32 | task->tag;
}

LANEPOOL_I_COLD bool lanepool_i_description_has_right_ranking(const lanepool_pool *pool,
                                                              const lanepool_task *task);

/* Also counts the lanes that the claims may need: a handle brings its own. */
static inline bool lanepool_i_description_is_valid(const lanepool_pool *pool,
                                                   const lanepool_task *task, uint64_t *lanes)
{
    *lanes = 0;
    if ((task->struct_size != sizeof *task &&
         !lanepool_i_struct_is_valid(task, task->struct_size, sizeof *task)) ||
        task->function == NULL ||
        (lanepool_i_description_ranking(task) > LANEPOOL_TAG_MAX &&
         !lanepool_i_description_has_right_ranking(pool, task)))
        return false;
    if (pool->options.is_compatible != NULL)
        return task->claim_count == 0 || lanepool_i_description_claims_everything(task, lanes);
    size_t count = task->claim_count;
    const lanepool_claim *claims = task->claims;
    if (task->kind != 0 || count > LANEPOOL_CLAIMS_MAX || (claims == NULL && count > 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!lanepool_i_description_is_claim(pool, &claims[i]))
            return lanepool_i_description_claims_everything(task, lanes);
        *lanes += claims[i].type != LANEPOOL_KEY_LANE;
    }
    return true;
}

/* One question, for all that submit without a group, a pump, and a policy for failures. */
static inline bool lanepool_i_description_is_member(const lanepool_task *task)
{
    return ((uintptr_t)task->group | (uintptr_t)task->pump | (uintptr_t)task->on_failure) != 0;
}

/* How many entries it has. */
static inline size_t lanepool_i_description_entry_count(const lanepool_task *task)
{
    bool is_barrier = task->claim_count == 1 && task->claims[0].type == LANEPOOL_KEY_ALL;
    return is_barrier ? 0 : task->claim_count;
}

/* What makes a task a member. */
static inline bool lanepool_i_description_fits(const lanepool_pool *pool, const lanepool_task *task)
{
    return (task->pump == NULL || task->pump->pool == pool) &&
           (task->group == NULL || task->group->creator.process == pool->creator.process ||
            lanepool_i_pool_is_forked(pool) || lanepool_i_group_is_here(task->group)) &&
           (task->on_failure == NULL || lanepool_i_policy_is_valid(pool, task->on_failure));
}

/* What comes later is listed by no group until then, and its block has no part in a pump. */
static inline bool lanepool_i_description_is_valid_for_later(const lanepool_pool *pool,
                                                             const lanepool_task *task,
                                                             uint64_t *lanes)
{
    return lanepool_i_description_is_valid(pool, task, lanes) && task->group == NULL &&
           task->pump == NULL && lanepool_i_description_fits(pool, task);
}

#endif
