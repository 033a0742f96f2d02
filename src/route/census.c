/*
 * Owns the rows and entries of a census, and the count of waiting tasks that needs no memory; see
 * census.h. Only the role's holder fills them. Which tasks it visits, and when, is decided in
 * take_census.c and by the rule.
 */
#include "route/census.h"

#include "route/pool.h"

void lanepool_i_census_add_row(lanepool_i_census *census, lanepool_i_task *task,
                               lanepool_snapshot_state state, size_t worker)
{
    lanepool_i_census_row *row = lanepool_i_vector_add(&census->rows, sizeof *row);
    if (row == NULL)
        census->out_of_memory = true;
    else
        *row = (lanepool_i_census_row){
            .task = task, .ticket = lanepool_i_task_ticket(task), .state = state, .worker = worker
        };
}

/* Counts a task of a rule that does not freeze lanes, if the task waits. Such a rule adds all of
 * its tasks, each of them once: the countdown says which ones wait. */
static void count_unfrozen(lanepool_i_census *census, const lanepool_i_task *task)
{
    census->waiting +=
        load_relaxed(&task->as.wide.countdown) != 0 && !lanepool_i_countdown_has_started(task);
}

/* Counts a task of a frozen lane, once. The task can be linked into `visited`: a task that waits is
 * in no other list, and it waits until the thaw. */
static void count_frozen(lanepool_i_census *census, lanepool_i_task *task)
{
    if (lanepool_i_is_gate(task) ||
        (fetch_or_relaxed(&task->word, LANEPOOL_I_VISITED) & LANEPOOL_I_VISITED) != 0)
        return;
    lanepool_i_tasks_add(&census->visited, task);
    census->waiting++;
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
                                 lanepool_mode mode, bool granted)
{
    lanepool_snapshot_entry entry = {
        .task = task, .behind = LANEPOOL_SNAPSHOT_NONE, .mode = (uint32_t)mode, .granted = granted
    };
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

/* A tombstone is counted but gets no row: it only waits to leave its lanes. */
void lanepool_i_census_add_task(lanepool_i_census *census, lanepool_i_task *task)
{
    if (census->counts_only && census->pool->rule->reap != NULL)
        count_unfrozen(census, task);
    else if (census->counts_only)
        count_frozen(census, task);
    else if (!lanepool_i_task_is_tombstone(task))
        lanepool_i_census_add_row(census, task, LANEPOOL_SNAPSHOT_WAITING, LANEPOOL_SNAPSHOT_NONE);
}
