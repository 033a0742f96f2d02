/* Owns the text form of a forecast. */
#include "lanepool/plan.h"

#include "inspect/snapshot_text.h"

static bool is_index_valid(size_t index, size_t count)
{
    return index == LANEPOOL_SNAPSHOT_NONE || index < count;
}

static void write_lane_if_any(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                              size_t lane, const char *before)
{
    if (lane == LANEPOOL_SNAPSHOT_NONE)
        return;
    lanepool_i_out_text(out, before);
    lanepool_i_out_lane(out, snapshot, lane);
}

/* Writes what the task waits for last. */
static void write_last(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                       const lanepool_forecast *forecast)
{
    bool is_for_worker = forecast->limit == LANEPOOL_FORECAST_WORKER;
    lanepool_i_out_text(out, ": then ");
    if (forecast->task != LANEPOOL_SNAPSHOT_NONE) {
        lanepool_i_out_task(out, snapshot, forecast->task);
        if (forecast->limit == LANEPOOL_FORECAST_RUNNING)
            lanepool_i_out_text(out, ", which runs now,");
        if (forecast->lane == LANEPOOL_SNAPSHOT_NONE)
            lanepool_i_out_text(out, is_for_worker ? " ends, and " : " ends");
        write_lane_if_any(out, snapshot, forecast->lane, " leaves lane ");
    }
    if (is_for_worker)
        lanepool_i_out_text(out, "a worker is free");
}

static void write_start(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                        const lanepool_forecast *forecast)
{
    lanepool_i_out_text(out, "it starts in about ");
    lanepool_i_out_ms(out, 0, forecast->start_ns);
    if (forecast->before > 0) {
        lanepool_i_out_text(out, ", after ");
        lanepool_i_out_count(out, forecast->before, "task");
    }
    if (forecast->limit == LANEPOOL_FORECAST_DELAY)
        lanepool_i_out_text(out, ": it is not due before");
    else
        write_last(out, snapshot, forecast);
}

/* Writes why it is not known when the task starts. */
static void write_never(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                        const lanepool_forecast *forecast)
{
    lanepool_i_out_text(out, "its start is not known");
    if (forecast->limit == LANEPOOL_FORECAST_UNSEEN) {
        lanepool_i_out_text(out, ": no snapshot shows it");
    } else if (forecast->limit == LANEPOOL_FORECAST_PAUSED) {
        write_lane_if_any(out, snapshot, forecast->lane, ": lane ");
        lanepool_i_out_text(out, forecast->lane != LANEPOOL_SNAPSHOT_NONE ? " is paused"
                                                                          : ": the pool is paused");
    } else if (forecast->task != LANEPOOL_SNAPSHOT_NONE) {
        lanepool_i_out_text(out, ": ");
        lanepool_i_out_task(out, snapshot, forecast->task);
        lanepool_i_out_text(out, forecast->limit == LANEPOOL_FORECAST_PARKED
                                     ? " is parked until it is resolved"
                                     : " has no known duration");
    }
}

lanepool_status lanepool_snapshot_write_forecast(const lanepool_snapshot *snapshot,
                                                 const lanepool_forecast *forecast,
                                                 lanepool_write_fn write, void *context)
{
    lanepool_i_out out = { write, context };
    if (snapshot == NULL || forecast == NULL || write == NULL ||
        !is_index_valid(forecast->task, snapshot->task_count) ||
        !is_index_valid(forecast->lane, snapshot->lane_count))
        return LANEPOOL_INVALID;
    if (forecast->limit == LANEPOOL_FORECAST_STARTED)
        lanepool_i_out_text(&out, "it has started");
    else if (forecast->limit == LANEPOOL_FORECAST_NOTHING)
        lanepool_i_out_text(&out, "it starts at once");
    else if (forecast->limit <= LANEPOOL_FORECAST_DELAY)
        write_start(&out, snapshot, forecast);
    else
        write_never(&out, snapshot, forecast);
    lanepool_i_out_text(&out, "\n");
    return LANEPOOL_OK;
}
