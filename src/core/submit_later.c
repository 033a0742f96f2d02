/* Owns building tasks that enter the inbox later, or never; see submit_later.h. */
#include "core/submit_later.h"

#include "core/pool_submit.h"
#include "core/task_build.h"

lanepool_status lanepool_i_submit_prepare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          const lanepool_task *task, size_t entry_count,
                                          lanepool_i_task **prepared)
{
    uint64_t lanes;
    if (!lanepool_i_description_is_valid(pool, task, &lanes) ||
        !lanepool_i_description_fits_pool(pool, task))
        return lanepool_i_description_check(pool, task);
    lanepool_i_task *block;
    lanepool_status status = lanepool_i_build_with_room(pool, record, task, entry_count, &block);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_admission_force(&pool->admission, record, NULL);
    lanepool_i_submit_hand_out_future(task, block);
    *prepared = block;
    return LANEPOOL_OK;
}

void lanepool_i_submit_undo_prepare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_task *task, lanepool_i_task *prepared)
{
    lanepool_i_unbuild_without_entries(pool, record, prepared, task);
    lanepool_i_submit_take_back_admission(pool, record);
}

lanepool_status lanepool_i_submit_for_later(lanepool_pool *pool, const lanepool_task *task,
                                            lanepool_i_thread_record **record,
                                            lanepool_i_task **block)
{
    lanepool_i_terms terms = { LANEPOOL_I_WAIT_FOR_ROOM, LANEPOOL_FOREVER, UINT64_MAX };
    uint64_t lanes;
    if (pool == NULL || !lanepool_i_description_is_valid_for_later(pool, task, &lanes))
        return lanepool_i_description_check_for_later(pool, task);
    lanepool_status status = lanepool_i_pool_enter(pool, record);
    if (status == LANEPOOL_OK)
        status = lanepool_i_submit_admit(pool, *record, task, terms);
    if (status != LANEPOOL_OK)
        return status;
    status =
        lanepool_i_build(pool, *record, task, lanepool_i_description_is_member(task), lanes, block);
    if (status == LANEPOOL_OK)
        lanepool_i_submit_hand_out_future(task, *block);
    else
        lanepool_i_submit_take_back_admission(pool, *record);
    return status;
}

void lanepool_i_submit_undo_for_later(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *block, const lanepool_task *task)
{
    lanepool_i_unbuild(pool, record, block, task);
    lanepool_i_submit_take_back_admission(pool, record);
}
