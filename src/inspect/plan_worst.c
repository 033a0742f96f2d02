/* Owns the search for the rollups and keys that cost the most time. */
#include "inspect/memory.h"
#include "inspect/plan_parts.h"

/* The rows with the most `held_ns`, the first one with the most. */
struct tries {
    lanepool_plan_row rows[LANEPOOL_PLAN_TRIES];
    size_t count;
};

/* Of equal rows the earlier one stays in front. */
static void try_row(struct tries *tries, const lanepool_plan_row *row)
{
    size_t at = tries->count;
    while (at > 0 && tries->rows[at - 1].held_ns < row->held_ns)
        at--;
    if (at == LANEPOOL_PLAN_TRIES)
        return;
    tries->count += tries->count < LANEPOOL_PLAN_TRIES;
    for (size_t i = tries->count - 1; i > at; i--)
        tries->rows[i] = tries->rows[i - 1];
    tries->rows[at] = *row;
}

/* Returns how long a rollup has lanes in which others wait, added up over these. */
static uint64_t held_by_rollup(const lanepool_plan *plan, const lanepool_i_planned *rollup,
                               const lanepool_plan_time *time, const uint64_t *granted_ns)
{
    uint64_t held_ns = 0;
    for (size_t i = 0; i < rollup->entry_count; i++) {
        size_t entry = rollup->first_entry + i;
        uint64_t more_ns = time->end_ns - granted_ns[entry];
        if (plan->entries[entry].next_of_lane != LANEPOOL_I_PLAN_NONE)
            held_ns = more_ns > UINT64_MAX - held_ns ? UINT64_MAX : held_ns + more_ns;
    }
    return held_ns;
}

static void find_rollups(const lanepool_plan *plan, const lanepool_plan_time *times,
                         const uint64_t *granted_ns, struct tries *tries)
{
    for (size_t task = 0; task < plan->task_count; task++) {
        const lanepool_i_planned *planned = &plan->tasks[task];
        if (!lanepool_i_plan_may_be_cut(planned) ||
            planned->entry_count <= LANEPOOL_I_PLAN_TRANSFER_KEYS)
            continue;
        lanepool_plan_row row = { .change = LANEPOOL_PLAN_CUT_TASK,
                                  .task = task,
                                  .held_ns =
                                      held_by_rollup(plan, planned, &times[task], granted_ns) };
        if (row.held_ns > 0)
            try_row(tries, &row);
    }
}

/* With one claim that may commute, nothing is saved. */
static void find_keys(const lanepool_plan *plan, struct tries *tries)
{
    for (size_t lane = 0; lane < plan->keys.count; lane++) {
        size_t entry = plan->lanes[lane].first;
        lanepool_plan_row row = { .change = LANEPOOL_PLAN_COMMUTE };
        size_t count = 0;
        for (; entry != LANEPOOL_I_PLAN_NONE; entry = plan->entries[entry].next_of_lane) {
            const lanepool_i_plan_entry *at = &plan->entries[entry];
            if (!lanepool_i_plan_may_commute(plan, at))
                continue;
            row.task = count == 0 ? at->task : row.task;
            row.claim = count == 0 ? at->claim : row.claim;
            row.held_ns += plan->tasks[at->task].duration_ns;
            count++;
        }
        if (count > 1)
            try_row(tries, &row);
    }
}

static bool is_worse(const lanepool_plan_row *a, const lanepool_plan_row *b)
{
    return a->saved_ns != b->saved_ns ? a->saved_ns > b->saved_ns : a->held_ns > b->held_ns;
}

/* Of equal rows the earlier one stays in front. */
static void sort_plan_rows(lanepool_plan_row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        lanepool_plan_row row = rows[i];
        size_t at = i;
        for (; at > 0 && is_worse(&row, &rows[at - 1]); at--)
            rows[at] = rows[at - 1];
        rows[at] = row;
    }
}

static lanepool_status run_rows(const lanepool_plan *plan, const lanepool_plan_pool *pool,
                                uint64_t makespan_ns, struct tries *tries)
{
    for (size_t i = 0; i < tries->count; i++) {
        lanepool_plan_row *row = &tries->rows[i];
        lanepool_plan_pool changed = *pool;
        changed.change = row->change;
        changed.task = row->task;
        changed.claim = row->claim;
        lanepool_i_plan_view view;
        lanepool_plan_result result;
        if (!lanepool_i_plan_view_make(plan, &changed, &view) ||
            lanepool_i_plan_simulate(&view, &changed, &result, NULL, NULL) != LANEPOOL_OK)
            return LANEPOOL_NOMEM;
        row->makespan_ns = result.makespan_ns;
        row->saved_ns = result.makespan_ns < makespan_ns ? makespan_ns - result.makespan_ns : 0;
    }
    return LANEPOOL_OK;
}

/* Fills both lists: of rollups, and of keys. */
static lanepool_status find_worst(const lanepool_plan *plan, const lanepool_plan_pool *pool,
                                  struct tries *lists)
{
    lanepool_plan_time *times = lanepool_i_inspect_alloc((plan->task_count + 1) * sizeof *times);
    uint64_t *granted_ns = lanepool_i_inspect_alloc((plan->entry_count + 1) * sizeof *granted_ns);
    lanepool_i_plan_view view = { .plan = plan, .change = LANEPOOL_PLAN_AS_IT_IS };
    lanepool_plan_result result;
    lanepool_status status = LANEPOOL_NOMEM;
    if (times != NULL && granted_ns != NULL)
        status = lanepool_i_plan_simulate(&view, pool, &result, times, granted_ns);
    if (status == LANEPOOL_OK) {
        find_rollups(plan, times, granted_ns, &lists[0]);
        find_keys(plan, &lists[1]);
        status = run_rows(plan, pool, result.makespan_ns, &lists[0]);
    }
    if (status == LANEPOOL_OK)
        status = run_rows(plan, pool, result.makespan_ns, &lists[1]);
    lanepool_i_inspect_free(times);
    lanepool_i_inspect_free(granted_ns);
    return status;
}

lanepool_status lanepool_plan_worst(const lanepool_plan *plan, const lanepool_plan_pool *pool,
                                    lanepool_plan_row *rows, size_t capacity, size_t *count)
{
    if (count != NULL)
        *count = 0;
    if (plan == NULL || pool == NULL || count == NULL || (rows == NULL && capacity > 0) ||
        !lanepool_i_plan_is_pool_valid(pool) || pool->change != LANEPOOL_PLAN_AS_IT_IS)
        return LANEPOOL_INVALID;
    struct tries lists[2] = { { .count = 0 }, { .count = 0 } };
    lanepool_status status = find_worst(plan, pool, lists);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_plan_row all[2 * LANEPOOL_PLAN_TRIES];
    size_t found = lists[0].count + lists[1].count;
    for (size_t i = 0; i < found; i++)
        all[i] = i < lists[0].count ? lists[0].rows[i] : lists[1].rows[i - lists[0].count];
    sort_plan_rows(all, found);
    *count = found < capacity ? found : capacity;
    for (size_t i = 0; i < *count; i++)
        rows[i] = all[i];
    return LANEPOOL_OK;
}
