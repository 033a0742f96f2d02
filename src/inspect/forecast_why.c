/* Owns what a task of a plan waits for last, and how many tasks are before it in its lanes. */
#include "inspect/forecast_parts.h"

#include "inspect/memory.h"

#define NONE LANEPOOL_I_PLAN_NONE

/* A lane on the way from the task back to those that it waits for. */
enum lane_need {
    NEEDS_NOTHING,
    NEEDS_BEFORE_GROUP, /* all entries before a group; the walk is still in that */
    NEEDS_ALL           /* all entries that come now */
};

struct lane_walk {
    uint8_t need;
    uint8_t mode; /* of the group */
};

/* --- tasks before it --- */

/* Returns true if a task behind this entry, or its group, waits for the entry. */
static bool is_needed(struct lane_walk *lane, uint8_t mode)
{
    if (lane->need == NEEDS_BEFORE_GROUP && !lanepool_modes_overlap(mode, lane->mode))
        lane->need = NEEDS_ALL;
    return lane->need == NEEDS_ALL;
}

/* Tasks behind a cut in one of its lanes do not wait for its other lanes. */
static bool passes_need_on(const lanepool_i_forecast_plan *made, size_t task)
{
    return task == made->target || made->plan->tasks[task].form != LANEPOOL_PLAN_CUT;
}

static bool walk_task(const lanepool_i_forecast_plan *made, struct lane_walk *lanes, size_t task)
{
    const lanepool_i_planned *planned = &made->plan->tasks[task];
    const lanepool_i_plan_entry *entries = &made->plan->entries[planned->first_entry];
    bool needed = false;
    for (size_t i = 0; i < planned->entry_count; i++)
        needed |= is_needed(&lanes[entries[i].lane], entries[i].mode);
    if (task != made->target && !(needed && passes_need_on(made, task)))
        return needed;
    for (size_t i = 0; i < planned->entry_count; i++)
        if (lanes[entries[i].lane].need == NEEDS_NOTHING)
            lanes[entries[i].lane] = (struct lane_walk){ NEEDS_BEFORE_GROUP, entries[i].mode };
    return needed;
}

/* Walks from the task back to the first one. Returns false if memory cannot be allocated. */
static bool count_before(const lanepool_i_forecast_plan *made, size_t *count)
{
    size_t size = (made->plan->keys.count + 1) * sizeof(struct lane_walk);
    struct lane_walk *lanes = lanepool_i_inspect_alloc_zeroed(size);
    if (lanes == NULL)
        return false;
    *count = 0;
    for (size_t task = made->target + 1; task-- > 0;)
        *count += walk_task(made, lanes, task) && made->task_of[task] != NONE;
    lanepool_i_inspect_free(lanes);
    return true;
}

/* --- the last one --- */

/* Returns the task that releases the lane last before this entry is granted: of the group before
 * the entry's, the task that ends last. NONE if the entry is of the first group. */
static size_t find_blocker(const lanepool_i_forecast_plan *made, size_t entry)
{
    const lanepool_i_plan_entry *entries = made->plan->entries;
    size_t latest = NONE; /* of the current group */
    size_t before = NONE; /* of the group before it */
    size_t i = made->plan->lanes[entries[entry].lane].first;
    uint8_t mode = entries[i].mode;
    for (;; i = entries[i].next_of_lane) {
        if (latest != NONE && !lanepool_modes_overlap(entries[i].mode, mode)) {
            before = latest;
            latest = NONE;
        }
        if (i == entry)
            return before;
        mode = entries[i].mode;
        if (latest == NONE || made->times[entries[i].task].end_ns > made->times[latest].end_ns)
            latest = entries[i].task;
    }
}

/* Returns the task's entry that is granted last. The task has entries. */
static size_t find_last_granted(const lanepool_i_forecast_plan *made, size_t task)
{
    const lanepool_i_planned *planned = &made->plan->tasks[task];
    size_t last = planned->first_entry;
    for (size_t i = last + 1; i < planned->first_entry + planned->entry_count; i++)
        if (made->granted_ns[i] > made->granted_ns[last])
            last = i;
    return last;
}

static size_t snapshot_lane_of(const lanepool_i_forecast_plan *made, size_t entry)
{
    uint64_t number = made->plan->lanes[made->plan->entries[entry].lane].number;
    return number < made->snapshot->lane_count ? (size_t)number : LANEPOOL_SNAPSHOT_NONE;
}

/* --- tasks that start --- */

static void set_worker_limit(const lanepool_i_forecast_plan *made, lanepool_forecast *forecast)
{
    forecast->limit = LANEPOOL_FORECAST_WORKER;
    for (size_t i = 0; i < made->plan->task_count; i++)
        if (made->times[i].end_ns == forecast->start_ns && made->task_of[i] != NONE)
            forecast->task = made->task_of[i];
}

static void set_lane_limit(const lanepool_i_forecast_plan *made, size_t entry, size_t blocker,
                           lanepool_forecast *forecast)
{
    lanepool_i_plan_begin begin = made->plan->tasks[blocker].begin;
    forecast->limit = begin == LANEPOOL_I_PLAN_RUNS || begin == LANEPOOL_I_PLAN_RUNS_APART
                          ? LANEPOOL_FORECAST_RUNNING
                          : LANEPOOL_FORECAST_LANE;
    forecast->task = made->task_of[blocker];
    forecast->lane = snapshot_lane_of(made, entry);
}

static void set_known_limit(const lanepool_i_forecast_plan *made, lanepool_forecast *forecast)
{
    const lanepool_i_planned *planned = &made->plan->tasks[made->target];
    bool makes_visits = planned->form != LANEPOOL_PLAN_PLAIN;
    size_t entry = planned->entry_count > 0 ? find_last_granted(made, made->target) : NONE;
    size_t blocker = entry != NONE ? find_blocker(made, entry) : NONE;
    if (blocker != NONE && (makes_visits || made->granted_ns[entry] == forecast->start_ns))
        set_lane_limit(made, entry, blocker, forecast);
    else if (forecast->start_ns == 0)
        forecast->limit = LANEPOOL_FORECAST_NOTHING;
    else if (planned->begin == LANEPOOL_I_PLAN_RETURNS && forecast->start_ns == planned->returns_ns)
        forecast->limit = LANEPOOL_FORECAST_DELAY;
    else
        set_worker_limit(made, forecast);
}

/* --- tasks that never start --- */

/* Returns true if the task has what it needs, and never ends. */
static bool never_ends(const lanepool_i_forecast_plan *made, size_t task)
{
    const lanepool_i_planned *planned = &made->plan->tasks[task];
    bool has_begun =
        made->times[task].start_ns != UINT64_MAX || planned->form != LANEPOOL_PLAN_PLAIN;
    return (planned->is_endless && has_begun) || planned->returns_ns == LANEPOOL_I_PLAN_ENDLESS;
}

/* Returns the endless task that a task waits for which never starts. If all of its lanes are
 * granted, endless tasks have all workers. A task in the way comes before it in the plan. */
static size_t find_endless(const lanepool_i_forecast_plan *made, size_t *last_entry)
{
    size_t task = made->target;
    while (made->times[task].start_ns == UINT64_MAX && made->plan->tasks[task].entry_count > 0) {
        size_t entry = find_last_granted(made, task);
        if (made->granted_ns[entry] != UINT64_MAX)
            break;
        *last_entry = entry;
        task = find_blocker(made, entry);
    }
    if (never_ends(made, task))
        return task;
    for (task = 0; !never_ends(made, task);)
        task++;
    return task;
}

static void set_endless_limit(const lanepool_i_forecast_plan *made, lanepool_forecast *forecast)
{
    size_t last_entry = NONE;
    size_t endless = find_endless(made, &last_entry);
    size_t task = made->task_of[endless];
    forecast->task = task;
    if (task == NONE) {
        forecast->limit = LANEPOOL_FORECAST_PAUSED;
        forecast->lane = snapshot_lane_of(made, last_entry);
    } else if (made->snapshot->tasks[task].state == LANEPOOL_SNAPSHOT_PARKED) {
        forecast->limit = LANEPOOL_FORECAST_PARKED;
    } else {
        forecast->limit = LANEPOOL_FORECAST_ENDLESS;
    }
}

bool lanepool_i_forecast_decide(const lanepool_i_forecast_plan *made, lanepool_forecast *forecast)
{
    *forecast = lanepool_i_forecast_of(LANEPOOL_FORECAST_NOTHING);
    forecast->start_ns = made->times[made->target].start_ns;
    if (forecast->start_ns == UINT64_MAX)
        set_endless_limit(made, forecast);
    else
        set_known_limit(made, forecast);
    return count_before(made, &forecast->before);
}
