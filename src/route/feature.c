/* Owns the slots of a pool's features, and the calls that undo one another; see feature.h. */
#include "route/feature.h"

#include "base/misuse.h"
#include "route/pool.h"

static void add_to_slot(lanepool_i_slot slot, const lanepool_i_feature *feature, bool has_function)
{
    size_t i = 0;
    if (!has_function)
        return;
    while (slot[i] != NULL)
        i++;
    slot[i] = feature;
}

static void add_feature(lanepool_i_slots *slots, const lanepool_i_feature *feature)
{
    add_to_slot(slots->room, feature, feature->room_size > 0);
    add_to_slot(slots->admit, feature, feature->admit != NULL);
    add_to_slot(slots->member_size, feature, feature->member_size != NULL);
    add_to_slot(slots->build, feature, feature->build != NULL);
    add_to_slot(slots->route, feature, feature->route != NULL);
    add_to_slot(slots->asked, feature, feature->asked != NULL);
    add_to_slot(slots->begin_worker, feature, feature->begin_worker != NULL);
    add_to_slot(slots->call, feature, feature->call != NULL);
    add_to_slot(slots->begin_visit, feature, feature->begin_visit != NULL);
    add_to_slot(slots->end_at_lane, feature, feature->end_at_lane != NULL);
    add_to_slot(slots->end_visit, feature, feature->end_visit != NULL);
    add_to_slot(slots->release_early, feature, feature->release_early != NULL);
    add_to_slot(slots->refuses_start, feature, feature->refuses_start != NULL);
    add_to_slot(slots->failed, feature, feature->failed != NULL);
    add_to_slot(slots->ended, feature, feature->ended != NULL);
    add_to_slot(slots->postpones, feature, feature->postpones != NULL);
    add_to_slot(slots->reported, feature, feature->reported != NULL);
    add_to_slot(slots->retried, feature, feature->retried != NULL);
    add_to_slot(slots->wait_inside, feature, feature->wait_inside != NULL);
    add_to_slot(slots->end_call, feature, feature->end_call != NULL);
    add_to_slot(slots->hand_over, feature, feature->hand_over != NULL);
    add_to_slot(slots->recycle, feature, feature->recycle != NULL);
    add_to_slot(slots->dispose, feature, feature->dispose != NULL);
    add_to_slot(slots->hand_back, feature, feature->hand_back != NULL);
    add_to_slot(slots->describe, feature, feature->describe != NULL);
    add_to_slot(slots->on_clock, feature, feature->on_clock != NULL);
    add_to_slot(slots->in_plain, feature, feature->plain_use != LANEPOOL_I_PLAIN_NONE);
    if (feature->place != NULL)
        slots->in_lanes = feature;
    if (feature->turn != NULL)
        slots->cut = feature;
}

static bool is_wanted(const lanepool_i_feature *feature, const lanepool_options *options)
{
    return feature->is_wanted == NULL || feature->is_wanted(options);
}

size_t lanepool_i_features_part_size(const lanepool_i_feature *const *features,
                                     const lanepool_options *options)
{
    size_t size = 0;
    for (; *features != NULL; features++)
        if (is_wanted(*features, options))
            size += (*features)->part_size;
    return size;
}

/* Returns true if plain tasks have no room for the feature beside those in the slot. */
static bool is_in_the_way(const lanepool_i_feature *feature, const lanepool_i_slot in_plain)
{
    bool wants_line = false;
    bool wants_front = false;
    for (size_t i = 0; in_plain[i] != NULL; i++) {
        wants_line |= in_plain[i]->plain_use == LANEPOOL_I_PLAIN_LINE;
        wants_front |= in_plain[i]->plain_use == LANEPOOL_I_PLAIN_FRONT;
    }
    if (feature->plain_use == LANEPOOL_I_PLAIN_NONE || in_plain[0] == NULL)
        return false;
    return wants_line || feature->plain_use == LANEPOOL_I_PLAIN_LINE ||
           (wants_front && feature->plain_use == LANEPOOL_I_PLAIN_FRONT);
}

/* One feature's pointer has room in a plain task with one claim. */
static void find_plain_room(lanepool_pool *pool, const lanepool_i_feature *feature)
{
    if (feature->plain_use != LANEPOOL_I_PLAIN_NONE)
        pool->room.in_line |=
            pool->slots.in_plain[0] != NULL || feature->plain_use != LANEPOOL_I_PLAIN_POINTERS;
}

static void open_feature(lanepool_pool *pool, const lanepool_i_feature *feature, void *part)
{
    pool->all_wide |= feature->all_wide || is_in_the_way(feature, pool->slots.in_plain);
    find_plain_room(pool, feature);
    add_feature(&pool->slots, feature);
    LANEPOOL_I_ASSERT(feature->room_size == 0 || pool->room.per_entry == 0);
    pool->room.size += feature->room_size;
    pool->room.per_entry += feature->room_per_entry;
    if (feature->open != NULL)
        feature->open(pool, part);
}

void lanepool_i_features_open(lanepool_pool *pool, const lanepool_i_feature *const *features,
                              void *parts)
{
    char *part = parts;
    pool->all_wide = pool->rule->all_wide;
    for (; *features != NULL; features++) {
        if (!is_wanted(*features, &pool->options))
            continue;
        open_feature(pool, *features, part);
        part += (*features)->part_size;
    }
    if (pool->options.is_compatible == NULL || pool->room.size == 0)
        return;
    size_t end = pool->extension + pool->room.size;
    pool->room = (lanepool_i_room){ .at = sizeof(lanepool_i_task) + pool->extension };
    pool->extension = end;
}

void *lanepool_i_features_room(const lanepool_pool *pool, const lanepool_i_feature *feature,
                               lanepool_i_task *task)
{
    char *room = pool->room.at != 0 ? (char *)task + pool->room.at : task->as.wide.room;
    for (size_t i = 0; pool->slots.room[i] != feature; i++)
        room += pool->slots.room[i]->room_size;
    return room;
}

/* --- a submit --- */

static void unadmit_first(lanepool_pool *pool, lanepool_i_thread_record *record, size_t count)
{
    while (count-- > 0)
        pool->slots.admit[count]->unadmit(pool, record);
}

lanepool_status lanepool_i_features_admit(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          const lanepool_task *task)
{
    for (size_t i = 0; pool->slots.admit[i] != NULL; i++) {
        lanepool_status status = pool->slots.admit[i]->admit(pool, record, task);
        if (status == LANEPOOL_OK)
            continue;
        unadmit_first(pool, record, i);
        return status;
    }
    return LANEPOOL_OK;
}

void lanepool_i_features_unadmit(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    size_t count = 0;
    while (pool->slots.admit[count] != NULL)
        count++;
    unadmit_first(pool, record, count);
}

static void unbuild_first(const lanepool_i_slot slot, lanepool_pool *pool,
                          lanepool_i_thread_record *record, lanepool_i_task *block, size_t count)
{
    while (count-- > 0)
        if (slot[count]->unbuild != NULL)
            slot[count]->unbuild(pool, record, block);
}

/* Calls `build` of the features in the slot. */
static lanepool_status build_by(const lanepool_i_slot slot, lanepool_pool *pool,
                                lanepool_i_thread_record *record, const lanepool_task *task,
                                lanepool_i_task *block)
{
    for (size_t i = 0; slot[i] != NULL; i++) {
        lanepool_status status =
            slot[i]->build != NULL ? slot[i]->build(pool, record, task, block) : LANEPOOL_OK;
        if (status == LANEPOOL_OK)
            continue;
        unbuild_first(slot, pool, record, block, i);
        return status;
    }
    return LANEPOOL_OK;
}

lanepool_status lanepool_i_features_build(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          const lanepool_task *task, lanepool_i_task *block)
{
    return build_by(pool->slots.build, pool, record, task, block);
}

lanepool_status lanepool_i_features_build_plain(lanepool_pool *pool,
                                                lanepool_i_thread_record *record,
                                                const lanepool_task *task, lanepool_i_task *block)
{
    for (size_t i = 0; pool->slots.in_plain[i] != NULL; i++)
        if (pool->slots.in_plain[i]->init_room != NULL)
            pool->slots.in_plain[i]->init_room(pool, task, block);
    return build_by(pool->slots.in_plain, pool, record, task, block);
}

void lanepool_i_features_unbuild(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *block)
{
    lanepool_i_feature const *const *slot =
        lanepool_i_task_is_wide(block) ? pool->slots.build : pool->slots.in_plain;
    size_t count = 0;
    while (slot[count] != NULL)
        count++;
    unbuild_first(slot, pool, record, block, count);
}

size_t lanepool_i_features_member_size(const lanepool_pool *pool, const lanepool_task *task)
{
    size_t size = 0;
    for (size_t i = 0; pool->slots.member_size[i] != NULL && size == 0; i++)
        size = pool->slots.member_size[i]->member_size(pool, task);
    return size;
}

/* --- routing --- */

void lanepool_i_features_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_task *task, lanepool_i_grants *grants)
{
    for (size_t i = 0; pool->slots.route[i] != NULL; i++)
        if (pool->slots.route[i]->route(pool, record, task, grants))
            return;
    pool->rule->route(pool, record, task, grants);
}

/* --- the end of a task --- */

void lanepool_i_features_dispose(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task)
{
    for (size_t i = 0; pool->slots.dispose[i] != NULL; i++)
        pool->slots.dispose[i]->dispose(pool, record, task);
}

void lanepool_i_features_dispose_plain(lanepool_pool *pool, lanepool_i_thread_record *record,
                                       lanepool_i_task *task)
{
    for (size_t i = 0; pool->slots.in_plain[i] != NULL; i++)
        if (pool->slots.in_plain[i]->dispose != NULL)
            pool->slots.in_plain[i]->dispose(pool, record, task);
}
