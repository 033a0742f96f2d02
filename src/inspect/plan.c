/* Owns the tasks of a plan, their lanes, and what a change makes of them. */
#include "inspect/plan_parts.h"

#include "inspect/memory.h"

#define NONE LANEPOOL_I_PLAN_NONE

enum { WORKERS_MAX = 65535 };

/* --- create and destroy --- */

lanepool_status lanepool_plan_create(lanepool_plan **plan)
{
    if (plan == NULL)
        return LANEPOOL_INVALID;
    *plan = lanepool_i_inspect_alloc_zeroed(sizeof **plan);
    return *plan == NULL ? LANEPOOL_NOMEM : LANEPOOL_OK;
}

void lanepool_plan_destroy(lanepool_plan *plan)
{
    if (plan == NULL)
        return;
    lanepool_i_key_list_fini(&plan->keys);
    lanepool_i_inspect_free(plan->lanes);
    lanepool_i_inspect_free(plan->entries);
    lanepool_i_inspect_free(plan->tasks);
    lanepool_i_inspect_free(plan);
}

/* --- tasks --- */

static bool are_planned_claims_valid(const lanepool_plan_task *task)
{
    if (task->claim_count > LANEPOOL_CLAIMS_MAX || (task->claims == NULL && task->claim_count > 0))
        return false;
    for (size_t i = 0; i < task->claim_count; i++) {
        const lanepool_claim *claim = &task->claims[i];
        bool is_visited = task->form != LANEPOOL_PLAN_PLAIN;
        if (claim->mode > LANEPOOL_COMMUTING || !lanepool_i_key_is_plain(&claim->key) ||
            (is_visited && claim->mode == LANEPOOL_COMMUTING))
            return false;
    }
    return true;
}

static bool is_planned_task_valid(const lanepool_plan_task *task)
{
    if (task->form == LANEPOOL_PLAN_PLAIN)
        return task->visit_ns == 0 && are_planned_claims_valid(task);
    return (task->form == LANEPOOL_PLAN_CUT || task->form == LANEPOOL_PLAN_PROGRESSIVE) &&
           task->claim_count > 0 && are_planned_claims_valid(task);
}

/* Returns the index of a key's lane, which is added if needed; NONE if memory cannot be allocated.
 */
static size_t require_planned_lane(lanepool_plan *plan, const lanepool_key *key)
{
    size_t count = plan->keys.count;
    if (!lanepool_i_inspect_grow(&plan->lanes, &plan->lane_capacity, count + 1,
                                 sizeof *plan->lanes))
        return NONE;
    size_t lane = lanepool_i_key_list_require(&plan->keys, key);
    if (lane == count)
        plan->lanes[lane] =
            (lanepool_i_plan_lane){ .number = key->id, .first = NONE, .last = NONE };
    return lane;
}

/* Writes the task's entries behind those of the plan: one for each key, in no lane yet. A mode is a
 * set of bits. The claims of a key together overlap with what each of them does. Returns false if
 * memory cannot be allocated; then there may be new lanes, but no new entries. */
static bool write_entries(lanepool_plan *plan, const lanepool_plan_task *task, size_t *count)
{
    plan->call++;
    *count = 0;
    if (!lanepool_i_inspect_grow(&plan->entries, &plan->entry_capacity,
                                 plan->entry_count + task->claim_count, sizeof *plan->entries))
        return false;
    for (size_t i = 0; i < task->claim_count; i++) {
        size_t index = require_planned_lane(plan, &task->claims[i].key);
        if (index == NONE)
            return false;
        lanepool_i_plan_lane *lane = &plan->lanes[index];
        if (lane->call != plan->call) {
            lane->call = plan->call;
            lane->claimed = plan->entry_count + (*count)++;
            plan->entries[lane->claimed] =
                (lanepool_i_plan_entry){ .lane = index,
                                         .task = plan->task_count,
                                         .claim = i,
                                         .next_of_lane = NONE,
                                         .mode = (uint8_t)task->claims[i].mode };
        }
        plan->entries[lane->claimed].mode &= (uint8_t)task->claims[i].mode;
    }
    return true;
}

/* Returns true if an entry has the mode COMMUTING. */
static bool append_entries(lanepool_plan *plan, size_t count)
{
    bool commutes = false;
    for (size_t end = plan->entry_count + count; plan->entry_count < end; plan->entry_count++) {
        const lanepool_i_plan_entry *entry = &plan->entries[plan->entry_count];
        lanepool_i_plan_lane *lane = &plan->lanes[entry->lane];
        if (lane->last == NONE)
            lane->first = plan->entry_count;
        else
            plan->entries[lane->last].next_of_lane = plan->entry_count;
        lane->last = plan->entry_count;
        commutes |= entry->mode == LANEPOOL_COMMUTING;
    }
    return commutes;
}

/* Adds the task's work to *work_ns. Returns false if that would be too much. Each visit is of
 * another key. */
static bool add_work(uint64_t *work_ns, const lanepool_plan_task *task, size_t entry_count)
{
    uint64_t room_ns = INT64_MAX - *work_ns;
    if (task->duration_ns > room_ns)
        return false;
    room_ns -= task->duration_ns;
    if (entry_count > 0 && task->visit_ns > room_ns / entry_count)
        return false;
    *work_ns += task->duration_ns + task->visit_ns * entry_count;
    return true;
}

lanepool_status lanepool_plan_add(lanepool_plan *plan, const lanepool_plan_task *task)
{
    if (plan == NULL || task == NULL || !is_planned_task_valid(task))
        return LANEPOOL_INVALID;
    size_t count;
    if (!lanepool_i_inspect_grow(&plan->tasks, &plan->task_capacity, plan->task_count + 1,
                                 sizeof *plan->tasks) ||
        !write_entries(plan, task, &count))
        return LANEPOOL_NOMEM;
    if (!add_work(&plan->work_ns, task, count))
        return LANEPOOL_INVALID;
    size_t first = plan->entry_count;
    plan->tasks[plan->task_count] = (lanepool_i_planned){ .duration_ns = task->duration_ns,
                                                          .visit_ns = task->visit_ns,
                                                          .first_entry = first,
                                                          .entry_count = count,
                                                          .form = task->form,
                                                          .tag = task->tag,
                                                          .commutes = append_entries(plan, count) };
    plan->task_count++;
    return LANEPOOL_OK;
}

size_t lanepool_plan_count(const lanepool_plan *plan)
{
    return plan == NULL ? 0 : plan->task_count;
}

/* --- changes --- */

/* Returns the lane of a claim. A key that the task claims twice has one entry, with the number of
 * its first claim. */
static size_t lane_of_claim(const lanepool_plan *plan, const lanepool_i_planned *task, size_t claim)
{
    for (size_t i = 0; i < task->entry_count; i++)
        if (plan->entries[task->first_entry + i].claim == claim)
            return plan->entries[task->first_entry + i].lane;
    return NONE;
}

bool lanepool_i_plan_view_make(const lanepool_plan *plan, const lanepool_plan_pool *pool,
                               lanepool_i_plan_view *view)
{
    bool has_task = pool->task < plan->task_count;
    *view = (lanepool_i_plan_view){
        .plan = plan, .change = pool->change, .task = pool->task, .lane = NONE, .tag = pool->tag
    };
    switch (pool->change) {
    case LANEPOOL_PLAN_AS_IT_IS:
    case LANEPOOL_PLAN_CUT_TAG:
        return true;
    case LANEPOOL_PLAN_CUT_TASK:
        return has_task && lanepool_i_plan_may_be_cut(&plan->tasks[pool->task]);
    case LANEPOOL_PLAN_COMMUTE:
        if (has_task)
            view->lane = lane_of_claim(plan, &plan->tasks[pool->task], pool->claim);
        return view->lane != NONE;
    }
    return false;
}

bool lanepool_i_plan_is_pool_valid(const lanepool_plan_pool *pool)
{
    return pool->workers >= 1 && pool->workers <= WORKERS_MAX;
}

/* --- runs --- */

lanepool_status lanepool_plan_run(const lanepool_plan *plan, const lanepool_plan_pool *pool,
                                  lanepool_plan_result *result, lanepool_plan_time *times)
{
    lanepool_i_plan_view view;
    if (plan == NULL || pool == NULL || result == NULL || !lanepool_i_plan_is_pool_valid(pool) ||
        !lanepool_i_plan_view_make(plan, pool, &view))
        return LANEPOOL_INVALID;
    *result = (lanepool_plan_result){ .work_ns = plan->work_ns };
    size_t count;
    lanepool_status status = lanepool_i_plan_find_path(&view, &result->path_ns, NULL, 0, &count);
    return status != LANEPOOL_OK ? status
                                 : lanepool_i_plan_simulate(&view, pool, result, times, NULL);
}

lanepool_status lanepool_plan_path(const lanepool_plan *plan, size_t *tasks, size_t capacity,
                                   size_t *count)
{
    if (plan == NULL || count == NULL || (tasks == NULL && capacity > 0))
        return LANEPOOL_INVALID;
    lanepool_i_plan_view view = { .plan = plan, .change = LANEPOOL_PLAN_AS_IT_IS };
    uint64_t length_ns;
    return lanepool_i_plan_find_path(&view, &length_ns, tasks, capacity, count);
}
