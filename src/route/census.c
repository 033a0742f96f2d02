/*
 * Owns the rows and entries of a census; see census.h. Only the role's holder fills them. Which
 * tasks it visits, and when, is decided in take_census.c and by the rule.
 */
#include "route/census.h"

#include "lane/visits.h"
#include "route/pool.h"

lanepool_i_census_row *lanepool_i_census_add_row(lanepool_i_census *census, lanepool_i_task *task,
                                                 lanepool_snapshot_state state, size_t worker)
{
    if (census->has_fixed_room && census->rows.count == census->rows.capacity) {
        census->is_full = true;
        return NULL;
    }
    lanepool_i_census_row *row = lanepool_i_vector_add(&census->rows, sizeof *row);
    if (row == NULL)
        census->out_of_memory = true;
    else
        *row = (lanepool_i_census_row){
            .task = task, .ticket = lanepool_i_task_ticket(task), .state = state, .worker = worker
        };
    return row;
}

static void add_census_entry(lanepool_i_census *census, const lanepool_snapshot_entry *entry,
                             const void *lane)
{
    lanepool_snapshot_entry *added = lanepool_i_vector_add(&census->entries, sizeof *added);
    const void **added_lane = lanepool_i_vector_add(&census->entry_lanes, sizeof *added_lane);
    if (added == NULL || added_lane == NULL) {
        census->out_of_memory = true;
        return;
    }
    *added = *entry;
    *added_lane = lane;
}

void lanepool_i_census_add_entry(lanepool_i_census *census, size_t task, const void *lane,
                                 lanepool_mode mode, bool granted, uint8_t level)
{
    lanepool_snapshot_entry entry = { .task = task,
                                      .behind = LANEPOOL_SNAPSHOT_NONE,
                                      .mode = (uint32_t)mode,
                                      .granted = granted,
                                      .level = level };
    add_census_entry(census, &entry, lane);
}

void lanepool_i_census_add_missing(lanepool_i_census *census, size_t task)
{
    ((lanepool_i_census_row *)census->rows.items)[task].missing++;
}

void lanepool_i_census_add_behind(lanepool_i_census *census, size_t task, size_t behind)
{
    lanepool_snapshot_entry entry = { .task = task,
                                      .lane = LANEPOOL_SNAPSHOT_NONE,
                                      .behind = behind };
    add_census_entry(census, &entry, NULL);
}

void lanepool_i_census_add_task(lanepool_i_census *census, lanepool_i_task *task)
{
    bool is_visited = lanepool_i_task_is_cut(task) && lanepool_i_cut_has_begun(task) &&
                      !lanepool_i_task_is_progressive(task);
    if (!lanepool_i_task_is_tombstone(task))
        (void)lanepool_i_census_add_row(
            census, task, is_visited ? LANEPOOL_SNAPSHOT_VISITED : LANEPOOL_SNAPSHOT_WAITING,
            LANEPOOL_SNAPSHOT_NONE);
}
