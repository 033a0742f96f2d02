/*
 * Checking a task's description before anything is done for it. Every submit makes the checks that
 * are inline here; the others are in task_check.c.
 */
#ifndef LANEPOOL_SRC_CORE_TASK_CHECK_H
#define LANEPOOL_SRC_CORE_TASK_CHECK_H

#include "base/versioned.h"
#include "future/member.h"
#include "future/pump.h"
#include "lanepool/task.h"
#include "route/lane_handle.h"
#include "route/pool.h"

LANEPOOL_I_ASSERT_NO_TAIL(lanepool_task, at_grant);

/* The size of a task's description in the first release. */
#define LANEPOOL_I_TASK_FIRST_SIZE LANEPOOL_I_SIZE_WITH(lanepool_task, cancelled)

/* Reads a task from a program that was built for another version. Returns false if it cannot be
 * read. */
LANEPOOL_I_COLD bool lanepool_i_description_copy(lanepool_task *known, const lanepool_task *given);

/* Replaces a description of another version by the copy in `room`, and sets the program's future to
 * NULL. Returns false if there is no description, or it cannot be read. */
static inline bool lanepool_i_description_read(const lanepool_task **task, lanepool_task *room)
{
    if (*task == NULL)
        return false;
    if ((*task)->struct_size != sizeof *room) {
        if (!lanepool_i_description_copy(room, *task))
            return false;
        *task = room;
    }
    if ((*task)->future != NULL)
        *(*task)->future = NULL;
    return true;
}

/* Returns false if the policy cannot be read, or a value is out of range. */
bool lanepool_i_policy_read(lanepool_failure_policy *known, const lanepool_failure_policy *given);
/* Returns INVALID if a value is out of range, and UNSUPPORTED if the pool cannot carry the policy
 * out. */
lanepool_status lanepool_i_policy_check(const lanepool_pool *pool,
                                        const lanepool_failure_policy *policy);
/* Returns true if the policy asks for anything but the default. */
bool lanepool_i_policy_is_set(const lanepool_failure_policy *policy);

static inline bool lanepool_i_description_is_valid_bytes_or_lane(const lanepool_pool *pool,
                                                                 const lanepool_claim *claim)
{
    if (claim->key.type == LANEPOOL_KEY_BYTES)
        return claim->key.size <= LANEPOOL_KEY_BYTES_MAX &&
               (claim->key.bytes != NULL || claim->key.size == 0);
    return claim->key.type == LANEPOOL_KEY_LANE && claim->key.lane != NULL &&
           claim->key.lane->pool == pool;
}

static inline bool lanepool_i_description_is_valid_claim(const lanepool_pool *pool,
                                                         const lanepool_claim *claim)
{
    return lanepool_i_mode_is_valid(claim->mode) &&
           (claim->key.type == LANEPOOL_KEY_ID || claim->key.type == LANEPOOL_KEY_POINTER ||
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
           task->claims[0].key.type == LANEPOOL_KEY_ALL &&
           task->claims[0].mode == LANEPOOL_EXCLUSIVE;
}

/* Priority and tag in one number, so that one comparison accepts a task without a priority. */
static inline uint64_t lanepool_i_description_priority_and_tag(const lanepool_task *task)
{
    return (uint64_t)task->priority << 32 | task->tag;
}

LANEPOOL_I_COLD bool lanepool_i_description_has_valid_priority_and_tag(const lanepool_pool *pool,
                                                                       const lanepool_task *task);

/* Returns true if the claims of a task may be the scope of the program's rule. */
bool lanepool_i_description_may_have_scope(const lanepool_pool *pool, const lanepool_task *task);

/* The description is of the library's size. Sets *lanes to the number of lanes that the claims may
 * need. A handle already has its lane. */
static inline bool lanepool_i_description_is_valid(const lanepool_pool *pool,
                                                   const lanepool_task *task, uint64_t *lanes)
{
    *lanes = 0;
    if (task->function == NULL ||
        (lanepool_i_description_priority_and_tag(task) > LANEPOOL_TAG_MAX &&
         !lanepool_i_description_has_valid_priority_and_tag(pool, task)))
        return false;
    if (pool->options.is_compatible != NULL && !lanepool_i_description_may_have_scope(pool, task))
        return task->claim_count == 0 || lanepool_i_description_claims_everything(task, lanes);
    size_t count = task->claim_count;
    const lanepool_claim *claims = task->claims;
    if (task->kind != 0 || count > LANEPOOL_CLAIMS_MAX || (claims == NULL && count > 0))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!lanepool_i_description_is_valid_claim(pool, &claims[i]))
            return lanepool_i_description_claims_everything(task, lanes);
        *lanes += claims[i].key.type != LANEPOOL_KEY_LANE;
    }
    return true;
}

/* Not 0 if the task has a group, a pump, a failure policy or a deadline, or is a cut. */
static inline uint64_t lanepool_i_description_member_bits(const lanepool_task *task)
{
    return (uintptr_t)task->group | (uintptr_t)task->pump | (uintptr_t)task->on_failure |
           task->start_within_ns | task->run_within_ns | (uintptr_t)task->at_lane |
           (uintptr_t)task->at_grant;
}

static inline bool lanepool_i_description_is_member(const lanepool_task *task)
{
    return lanepool_i_description_member_bits(task) != 0;
}

/* How many entries the task needs before routing merges duplicates. */
static inline size_t lanepool_i_description_entry_count(const lanepool_task *task)
{
    bool is_barrier = task->claim_count == 1 && task->claims[0].key.type == LANEPOOL_KEY_ALL;
    return is_barrier ? 0 : task->claim_count;
}

/* Returns true for a cut and for a progressive rollup. */
static inline bool lanepool_i_description_has_visits(const lanepool_task *task)
{
    return task->at_lane != NULL || task->at_grant != NULL;
}

static inline bool lanepool_i_description_names_own_parts(const lanepool_pool *pool,
                                                          const lanepool_task *task)
{
    return (task->pump == NULL || task->pump->pool == pool) &&
           (task->group == NULL || task->group->creator.process == pool->creator.process ||
            lanepool_i_pool_is_forked(pool) || lanepool_i_group_is_here(task->group));
}

/* Returns OK if the task is no cut and no progressive rollup, or may be one in this pool. Its other
 * values are valid. */
lanepool_status lanepool_i_description_check_cut(const lanepool_pool *pool,
                                                 const lanepool_task *task);

/* Whether the task's pump, group and failure policy can be used with this pool, and it may be a
 * cut if it is one. */
static inline bool lanepool_i_description_fits_pool(const lanepool_pool *pool,
                                                    const lanepool_task *task)
{
    return lanepool_i_description_names_own_parts(pool, task) &&
           (task->on_failure == NULL ||
            lanepool_i_policy_check(pool, task->on_failure) == LANEPOOL_OK) &&
           lanepool_i_description_check_cut(pool, task) == LANEPOOL_OK;
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

/* Returns why a description is refused: INVALID if a value is wrong, UNSUPPORTED if only the pool
 * does not offer what the values ask for; OK if the description is valid. Both may be NULL. */
LANEPOOL_I_COLD lanepool_status lanepool_i_description_check(const lanepool_pool *pool,
                                                             const lanepool_task *task);
/* Returns why a delayed or periodic task is refused; UNSUPPORTED also if it has a group or a pump.
 */
LANEPOOL_I_COLD lanepool_status lanepool_i_description_check_for_later(const lanepool_pool *pool,
                                                                       const lanepool_task *task);

#endif
