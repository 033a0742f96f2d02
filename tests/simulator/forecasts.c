#include "simulator/forecasts.h"

#include <stdlib.h>

#include "support/memory.h"

static bool expect(void *user, const lanepool_snapshot *snapshot, size_t task,
                   lanepool_expected *expected)
{
    const struct forecast_task *known = snapshot->tasks[task].context;

    (void)user;
    expected->duration_ns = known->planned.duration_ns;
    expected->visit_ns = known->planned.visit_ns;
    return true;
}

/* --- tasks before others, by comparing each two --- */

static bool tasks_conflict(const lanepool_plan_task *a, const lanepool_plan_task *b)
{
    for (size_t i = 0; i < a->claim_count; i++) {
        for (size_t j = 0; j < b->claim_count; j++) {
            /* Claims of one key together overlap with what each of them does. */
            if (a->claims[i].key.id == b->claims[j].key.id &&
                !lanepool_modes_overlap(a->claims[i].mode, b->claims[j].mode)) {
                return true;
            }
        }
    }
    return false;
}

static void mark_before(const lanepool_snapshot *snapshot, size_t task, bool *marked)
{
    const struct forecast_task *known = snapshot->tasks[task].context;

    for (size_t i = 0; i < task; i++) {
        const struct forecast_task *other = snapshot->tasks[i].context;

        if (!marked[i] && tasks_conflict(&known->planned, &other->planned)) {
            marked[i] = true;
        }
    }
}

/* The tasks of a snapshot are those that are pending, by ticket. */
static size_t count_before(const lanepool_snapshot *snapshot, size_t task)
{
    bool *marked = memory_get(task + 1, sizeof *marked);
    size_t count = 0;

    for (size_t i = 0; i < task; i++) {
        marked[i] = false;
    }
    mark_before(snapshot, task, marked);
    for (size_t i = task; i-- > 0;) {
        if (marked[i]) {
            count++;
            mark_before(snapshot, i, marked);
        }
    }
    free(marked);
    return count;
}

/* --- forecasts --- */

static bool forecast_each(const lanepool_snapshot *snapshot, uint64_t begin_ns)
{
    for (size_t i = 0; i < snapshot->task_count; i++) {
        struct forecast_task *task = snapshot->tasks[i].context;
        lanepool_forecast forecast;

        if (lanepool_snapshot_forecast(snapshot, i, expect, NULL, &forecast) != LANEPOOL_OK ||
            forecast.undated > 0 || forecast.start_ns == LANEPOOL_FOREVER) {
            return false;
        }
        if (forecast.limit != LANEPOOL_FORECAST_STARTED) {
            task->forecast_ns = snapshot->time_ns - begin_ns + forecast.start_ns;
            task->before = forecast.before;
            task->before_seen = count_before(snapshot, i);
        }
    }
    return true;
}

bool forecasts_take(lanepool_pool *pool, uint64_t begin_ns)
{
    lanepool_snapshot *snapshot;

    if (lanepool_snapshot_take(pool, &snapshot) != LANEPOOL_OK) {
        return false;
    }
    bool ok = forecast_each(snapshot, begin_ns);
    lanepool_snapshot_release(snapshot);
    return ok;
}

size_t forecasts_find_wrong(const struct forecast_task *tasks, size_t count, uint64_t off_ns)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t forecast_ns = tasks[i].forecast_ns;
        uint64_t seen_ns = tasks[i].seen.start_ns;

        if (forecast_ns != UINT64_MAX &&
            (forecast_ns > seen_ns + off_ns || seen_ns > forecast_ns + off_ns ||
             tasks[i].before != tasks[i].before_seen)) {
            return i;
        }
    }
    return count;
}
