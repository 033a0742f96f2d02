/* Owns the rows of a census: tasks as they were met, and their entries; see census.h. */
#include "route/census.h"

#include "route/pool.h"

void lanepool_i_survey_add_seen(lanepool_i_survey *survey, lanepool_i_task *task,
                                lanepool_snapshot_state state, size_t worker)
{
    lanepool_i_seen *seen = lanepool_i_array_add(&survey->seen, sizeof *seen);
    if (seen == NULL)
        survey->lacking = true;
    else
        *seen = (lanepool_i_seen){
            .task = task, .ticket = lanepool_i_task_ticket(task), .state = state, .worker = worker
        };
}

/* Where lanes are not stopped the rule names each task once, and those that do not wait, too: the
 * latch says which. */
static void count_unstopped(lanepool_i_survey *survey, const lanepool_i_task *task)
{
    survey->waiting +=
        load_relaxed(&task->as.wide.wait) != 0 && !lanepool_i_latch_says_started(task);
}

/* In a stopped lane; a task that waits is in no list, and stays there. */
static void count_stopped(lanepool_i_survey *survey, lanepool_i_task *task)
{
    if (lanepool_i_is_gate(task) ||
        (fetch_or_relaxed(&task->word, LANEPOOL_I_MARKED) & LANEPOOL_I_MARKED) != 0)
        return;
    lanepool_i_tasks_add(&survey->counted, task);
    survey->waiting++;
}

static void add_place(lanepool_i_survey *survey, const lanepool_snapshot_entry *entry,
                      const void *place)
{
    lanepool_snapshot_entry *added = lanepool_i_array_add(&survey->entries, sizeof *added);
    const void **added_place = lanepool_i_array_add(&survey->places, sizeof *added_place);
    if (added == NULL || added_place == NULL) {
        survey->lacking = true;
        return;
    }
    *added = *entry;
    *added_place = place;
}

void lanepool_i_survey_add_entry(lanepool_i_survey *survey, size_t task, const void *lane,
                                 lanepool_mode mode, bool granted)
{
    lanepool_snapshot_entry entry = {
        .task = task, .behind = LANEPOOL_SNAPSHOT_NONE, .mode = (uint32_t)mode, .granted = granted
    };
    add_place(survey, &entry, lane);
}

void lanepool_i_survey_add_missing(lanepool_i_survey *survey, size_t task)
{
    ((lanepool_i_seen *)survey->seen.items)[task].missing++;
}

void lanepool_i_survey_add_behind(lanepool_i_survey *survey, size_t task, size_t behind)
{
    lanepool_snapshot_entry entry = { .task = task,
                                      .lane = LANEPOOL_SNAPSHOT_NONE,
                                      .behind = behind };
    add_place(survey, &entry, NULL);
}

/* A mark waits for nothing that anyone would want to know. */
void lanepool_i_survey_add_task(lanepool_i_survey *survey, lanepool_i_task *task)
{
    if (survey->counts && survey->pool->rule->reap != NULL)
        count_unstopped(survey, task);
    else if (survey->counts)
        count_stopped(survey, task);
    else if (!lanepool_i_task_is_mark(task))
        lanepool_i_survey_add_seen(survey, task, LANEPOOL_SNAPSHOT_WAITING, LANEPOOL_SNAPSHOT_NONE);
}
