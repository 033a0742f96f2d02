/*
 * What a task's description asks for, and whether it may: nothing has been done
 * yet when it is refused.
 */
#ifndef LANEPOOL_SRC_DESCRIPTION_H
#define LANEPOOL_SRC_DESCRIPTION_H

#include "handle.h"
#include "known.h"
#include "pool.h"
#include "pump.h"

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

/* Also counts the lanes that the claims may need: a handle brings its own. */
static inline bool lanepool_i_description_is_valid(const lanepool_pool *pool,
                                                   const lanepool_task *task, uint64_t *lanes)
{
    *lanes = 0;
    if ((task->struct_size != sizeof *task &&
         !lanepool_i_is_known(task, task->struct_size, sizeof *task)) ||
        task->function == NULL || task->tag > LANEPOOL_TAG_MAX)
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

/* One question, for all that submit neither with a group nor for a pump. */
static inline bool lanepool_i_description_is_member(const lanepool_task *task)
{
    return ((uintptr_t)task->group | (uintptr_t)task->pump) != 0;
}

/* How many entries it has. */
static inline size_t lanepool_i_description_entry_count(const lanepool_task *task)
{
    bool is_barrier = task->claim_count == 1 && task->claims[0].type == LANEPOOL_KEY_ALL;
    return is_barrier ? 0 : task->claim_count;
}

static inline bool lanepool_i_description_has_right_pump(const lanepool_pool *pool,
                                                         const lanepool_task *task)
{
    return task->pump == NULL || task->pump->pool == pool;
}

/* What comes later is listed by no group until then, and its block has no part in a pump. */
static inline bool lanepool_i_description_is_valid_for_later(const lanepool_pool *pool,
                                                             const lanepool_task *task,
                                                             uint64_t *lanes)
{
    return lanepool_i_description_is_valid(pool, task, lanes) &&
           !lanepool_i_description_is_member(task);
}

#endif
