/* Owns lanepool_explain(): the reasons of a future's task, or what has become of it; and when it
 * starts. */
#include "lanepool/plan.h"

#include "inspect/forecast_parts.h"
#include "inspect/snapshot_text.h"

static void write_result(const lanepool_i_out *out, const lanepool_result *result)
{
    lanepool_i_out_text(out, "the task has finished");
    if (result->status != LANEPOOL_OK) {
        lanepool_i_out_text(out, ": ");
        lanepool_i_out_text(out, lanepool_status_text(result->status));
    }
    if (result->status == LANEPOOL_FAILED) {
        int code = result->code;
        lanepool_i_out_text(out, code < 0 ? ", code -" : ", code ");
        lanepool_i_out_number(out, code < 0 ? -(uint64_t)code : (uint64_t)code);
    }
    lanepool_i_out_text(out, "\n");
}

/* Writes where a task is that is in no snapshot. */
static void write_place(const lanepool_i_out *out, const lanepool_snapshot_place *place)
{
    switch (place->where) {
    case LANEPOOL_SNAPSHOT_FINISHED:
        write_result(out, &place->result);
        break;
    case LANEPOOL_SNAPSHOT_DELAYED:
        lanepool_i_out_text(out, "the task is due in ");
        lanepool_i_out_ms(out, place->time_ns, place->due_ns);
        lanepool_i_out_text(out, "\n");
        break;
    case LANEPOOL_SNAPSHOT_IN_SEQUENCE:
        lanepool_i_out_text(out, "the task is one of a sequence, which run one after the other\n");
        break;
    case LANEPOOL_SNAPSHOT_UNWRITTEN:
        lanepool_i_out_text(out, "the task has run, and its journal entry is not written yet\n");
        break;
    default:
        lanepool_i_out_text(out, "the task is just being submitted, or is just ending\n");
    }
}

static lanepool_status write_reasons(const lanepool_snapshot_place *place,
                                     const lanepool_i_out *out)
{
    return lanepool_snapshot_write_reasons(
        place->snapshot, place->snapshot->tasks[place->task].ticket, out->write, out->context);
}

lanepool_status lanepool_explain(lanepool_future *future, lanepool_write_fn write, void *context)
{
    lanepool_i_out out = { write, context };
    lanepool_snapshot_place place;
    if (future == NULL || write == NULL)
        return LANEPOOL_INVALID;
    lanepool_status status = lanepool_snapshot_locate(future, &place);
    if (status != LANEPOOL_OK)
        return status;
    if (place.where != LANEPOOL_SNAPSHOT_FOUND) {
        write_place(&out, &place);
        return LANEPOOL_OK;
    }
    status = write_reasons(&place, &out);
    lanepool_snapshot_release(place.snapshot);
    return status;
}

/* --- when it starts --- */

/* Returns the forecast of a task that is in no snapshot. */
static lanepool_forecast forecast_place(const lanepool_snapshot_place *place)
{
    lanepool_forecast forecast = lanepool_i_forecast_of(LANEPOOL_FORECAST_UNSEEN);
    if (place->where == LANEPOOL_SNAPSHOT_FINISHED || place->where == LANEPOOL_SNAPSHOT_UNWRITTEN)
        return lanepool_i_forecast_of(LANEPOOL_FORECAST_STARTED);
    if (place->where == LANEPOOL_SNAPSHOT_DELAYED) {
        forecast.limit = LANEPOOL_FORECAST_DELAY;
        forecast.start_ns = place->due_ns > place->time_ns ? place->due_ns - place->time_ns : 0;
    }
    return forecast;
}

static lanepool_status forecast_found(const lanepool_snapshot_place *place,
                                      lanepool_expect_fn expect, void *user,
                                      lanepool_forecast *forecast, const lanepool_i_out *out)
{
    lanepool_status status =
        lanepool_snapshot_forecast(place->snapshot, place->task, expect, user, forecast);
    if (status == LANEPOOL_OK)
        status = write_reasons(place, out);
    if (status == LANEPOOL_OK)
        status =
            lanepool_snapshot_write_forecast(place->snapshot, forecast, out->write, out->context);
    forecast->task = forecast->lane = LANEPOOL_SNAPSHOT_NONE;
    return status;
}

lanepool_status lanepool_explain_forecast(lanepool_future *future, lanepool_expect_fn expect,
                                          void *user, lanepool_forecast *forecast,
                                          lanepool_write_fn write, void *context)
{
    lanepool_i_out out = { write, context };
    lanepool_snapshot_place place;
    lanepool_forecast unused;
    if (future == NULL || expect == NULL || write == NULL)
        return LANEPOOL_INVALID;
    forecast = forecast != NULL ? forecast : &unused;
    lanepool_status status = lanepool_snapshot_locate(future, &place);
    if (status != LANEPOOL_OK)
        return status;
    if (place.where == LANEPOOL_SNAPSHOT_FOUND) {
        status = forecast_found(&place, expect, user, forecast, &out);
        lanepool_snapshot_release(place.snapshot);
        return status;
    }
    *forecast = forecast_place(&place);
    write_place(&out, &place);
    return LANEPOOL_OK;
}
