/*
 * Checking a task's description before anything is done for it. Every submit makes the checks that
 * are inline here; the others are in task_check.c.
 */
#ifndef LANEPOOL_SRC_CORE_TASK_CHECK_H
#define LANEPOOL_SRC_CORE_TASK_CHECK_H

#include "base/versioned.h"
#include "future/member.h"
#include "future/pump.h"
#include "lanepool/failure.h"
#include "route/lane_handle.h"
#include "route/pool.h"

/* Returns true if the values are valid and the pool can carry the policy out. */
bool lanepool_i_policy_is_valid(const lanepool_pool *pool, const lanepool_failure_policy *policy);
/* Returns true if the policy asks for anything but the default. */
bool lanepool_i_policy_is_set(const lanepool_failure_policy *policy);

static inline bool lanepool_i_description_is_valid_bytes_or_lane(const lanepool_pool *pool,
                                                                 const lanepool_claim *claim)
{
    if (claim->type == LANEPOOL_KEY_BYTES)
        return claim->key.bytes.size <= LANEPOOL_KEY_BYTES_MAX &&
               (claim->key.bytes.data != NULL || claim->key.bytes.size == 0);
    return claim->type == LANEPOOL_KEY_LANE && claim->key.lane != NULL &&
           claim->key.lane->pool == pool;
}

static inline bool lanepool_i_description_is_valid_claim(const lanepool_pool *pool,
                                                         const lanepool_claim *claim)
{
    return claim->mode <= LANEPOOL_SHARED &&
           (claim->type == LANEPOOL_KEY_ID || claim->type == LANEPOOL_KEY_POINTER ||
            lanepool_i_description_is_valid_bytes_or_lane(pool, claim));
}

/* In place of the number of lanes: the task claims everything. It needs no lanes and is built as a
 * barrier. */
#define LANEPOOL_I_EVERYTHING UINT64_MAX

static inline bool lanepool_i_description_claims_everything(const lanepool_task *task,
                                                            uint64_t *lanes)
{
    *lanes = LANEPOOL_I_EVERYTHING;
    return task->claim_count == 1 && task->claims != NULL &&
           task->claims[0].type == LANEPOOL_KEY_ALL && task->claims[0].mode == LANEPOOL_EXCLUSIVE;
}

/* Priority and tag in one number, so that one comparison accepts a task without a priority. */
static inline uint64_t lanepool_i_description_priority_and_tag(const lanepool_task *task)
{
    return (uint64_t)task->priority << 32 | task->tag;
}

LANEPOOL_I_COLD bool lanepool_i_description_has_valid_priority_and_tag(const lanepool_pool *pool,
                                                                       const lanepool_task *task);

/* Sets *lanes to the number of lanes that the claims may need. A handle already has its lane. */
static inline bool lanepool_i_description_is_valid(const lanepool_pool *pool,
                                                   const lanepool_task *task, uint64_t *lanes)
{
    *lanes = 0;
    if ((task->struct_size != sizeof *task &&
         !lanepool_i_struct_is_valid(task, task->struct_size, sizeof *task)) ||
        task->function == NULL ||
        (lanepool_i_description_priority_and_tag(task) > LANEPOOL_TAG_MAX &&
         !lanepool_i_description_has_valid_priority_and_tag(pool, task)))
        return false;
    if (pool->options.is_compatible != NULL)
        return task->claim_count == 0 || lanepool_i_description_claims_everything(task, lanes);
    size_t count = task->claim_count;
    const lanepool_claim *claims = task->claims;
    if (task->kind != 0 || count > LANEPOOL_CLAIMS_MAX || (claims == NULL && count > 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!lanepool_i_description_is_valid_claim(pool, &claims[i]))
            return lanepool_i_description_claims_everything(task, lanes);
        *lanes += claims[i].type != LANEPOOL_KEY_LANE;
    }
    return true;
}

/* Whether the task has a group, a pump or a failure policy; one test, since most have none. */
static inline bool lanepool_i_description_is_member(const lanepool_task *task)
{
    return ((uintptr_t)task->group | (uintptr_t)task->pump | (uintptr_t)task->on_failure) != 0;
}

/* How many entries the task needs before routing merges duplicates. */
static inline size_t lanepool_i_description_entry_count(const lanepool_task *task)
{
    bool is_barrier = task->claim_count == 1 && task->claims[0].type == LANEPOOL_KEY_ALL;
    return is_barrier ? 0 : task->claim_count;
}

/* Whether the task's pump, group and failure policy can be used with this pool. */
static inline bool lanepool_i_description_fits_pool(const lanepool_pool *pool,
                                                    const lanepool_task *task)
{
    return (task->pump == NULL || task->pump->pool == pool) &&
           (task->group == NULL || task->group->creator.process == pool->creator.process ||
            lanepool_i_pool_is_forked(pool) || lanepool_i_group_is_here(task->group)) &&
           (task->on_failure == NULL || lanepool_i_policy_is_valid(pool, task->on_failure));
}

/* A delayed or periodic task cannot belong to a group, which could not list it yet, nor to a pump.
 */
static inline bool lanepool_i_description_is_valid_for_later(const lanepool_pool *pool,
                                                             const lanepool_task *task,
                                                             uint64_t *lanes)
{
    return lanepool_i_description_is_valid(pool, task, lanes) && task->group == NULL &&
           task->pump == NULL && lanepool_i_description_fits_pool(pool, task);
}

#endif
