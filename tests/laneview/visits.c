/* The model: visits of cuts, on workers and in lanes. */
#include <string.h>

#include "draw/frame.h"
#include "model/describe.h"
#include "model/spans.h"
#include "story.h"
#include "support/test.h"

/* Task 1 runs in lane 1. Cut 2 waits there, and visits lane 2 on worker 1. */
static void tell_visit(struct story *story)
{
    tell(story, 10, LANEPOOL_EVENT_ROUTE, 1, 101, 0);
    tell(story, 10, LANEPOOL_EVENT_ENTER, 1, 1, LANEPOOL_EVENT_GRANTED);
    tell(story, 10, LANEPOOL_EVENT_READY, 1, 0, 0);
    tell(story, 20, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(story, 30, LANEPOOL_EVENT_ROUTE, 2, 102, 0);
    tell(story, 30, LANEPOOL_EVENT_ENTER, 2, 1, LANEPOOL_EVENT_CUT);
    tell(story, 30, LANEPOOL_EVENT_ENTER, 2, 2, LANEPOOL_EVENT_CUT | LANEPOOL_EVENT_GRANTED);
    tell_on(story, 1, 35, LANEPOOL_EVENT_VISIT, 2, 2, 0);
}

/* The visit succeeds. Then lane 1 is free, and is visited on worker 0. */
static void tell_second_visit(struct story *story)
{
    tell_on(story, 1, 38, LANEPOOL_EVENT_VISITED, 2, 2, 0);
    tell_on(story, 1, 38, LANEPOOL_EVENT_RELEASE, 2, 2, LANEPOOL_EVENT_EARLY);
    tell(story, 50, LANEPOOL_EVENT_END, 1, 0, 0);
    tell(story, 50, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    tell(story, 50, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    tell(story, 51, LANEPOOL_EVENT_VISIT, 2, 1, 0);
}

static void expect_span(const struct lane_spans *spans, size_t number, enum lane_span_kind kind,
                        uint64_t from, uint64_t to)
{
    expect(number < spans->count);
    expect_eq(spans->items[number].kind, kind);
    expect_eq(spans->items[number].from, from);
    expect_eq(spans->items[number].to, to);
}

Test(visits, worker_is_busy_with_a_visit)
{
    struct story story;
    struct text text = { 0 };
    begin(&story, LANEPOOL_PER_KEY);
    tell_visit(&story);
    struct model_span cause = model_cause(&story.model, 1);
    expect_eq(cause.kind, MODEL_RUNS);
    describe_visit(&text, &story.model, cause.entry);
    expect(strcmp(text.data, "#2 cut at 2") == 0);
    expect_eq(story.model.replay->latched, 0);
    tell_second_visit(&story);
    expect_eq(model_worker_ns(&story.model, 1, MODEL_RUNS), 3);
    expect_eq(model_cause(&story.model, 0).kind, MODEL_RUNS);
    tell(&story, 55, LANEPOOL_EVENT_VISITED, 2, 1, 0);
    tell(&story, 55, LANEPOOL_EVENT_RELEASE, 2, 1, LANEPOOL_EVENT_EARLY);
    expect_eq(model_worker_ns(&story.model, 0, MODEL_RUNS), 30 + 4);
    text_fini(&text);
    end(&story);
}

Test(visits, idle_worker_waits_for_what_a_cut_waits_for)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_visit(&story);
    tell_on(&story, 1, 38, LANEPOOL_EVENT_VISITED, 2, 2, 0);
    tell_on(&story, 1, 38, LANEPOOL_EVENT_RELEASE, 2, 2, LANEPOOL_EVENT_EARLY);
    struct model_span cause = model_cause(&story.model, 1);
    expect_eq(cause.kind, MODEL_BLOCKED);
    expect_eq(cause.task, LANEPOOL_REPLAY_NONE);
    expect_eq(story.model.replay->tasks[cause.holder].ticket, 1);
    end(&story);
}

Test(visits, idle_worker_has_no_work_while_all_lanes_are_visited)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_visit(&story);
    tell_second_visit(&story);
    expect_eq(model_cause(&story.model, 1).kind, MODEL_NO_WORK);
    tell(&story, 52, LANEPOOL_EVENT_ROUTE, 3, 103, 0);
    tell(&story, 52, LANEPOOL_EVENT_ENTER, 3, 1, 0);
    struct model_span cause = model_cause(&story.model, 1);
    expect_eq(cause.kind, MODEL_BLOCKED);
    expect_eq(story.model.replay->tasks[cause.holder].ticket, 2);
    end(&story);
}

/* Task 3 is behind the visit of lane 2. What the cut waits for in lane 1 does not block it. */
Test(visits, task_behind_a_visit_waits_for_the_cut_only)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell(&story, 5, LANEPOOL_EVENT_ROUTE, 3, 103, 0); /* the oldest that waits */
    tell_visit(&story);
    tell(&story, 36, LANEPOOL_EVENT_ENTER, 3, 2, 0);
    tell(&story, 50, LANEPOOL_EVENT_END, 1, 0, 0);
    struct model_span cause = model_cause(&story.model, 0);
    expect_eq(cause.kind, MODEL_BLOCKED);
    expect_eq(story.model.replay->tasks[cause.holder].ticket, 2);
    end(&story);
}

Test(visits, lane_shows_the_visit_and_no_latch)
{
    struct story story;
    struct lane_spans spans = { 0 };
    begin(&story, LANEPOOL_PER_KEY);
    tell_visit(&story);
    tell_second_visit(&story);
    model_advance(&story.model, 60);
    spans_of_lane(&story.model, 1, &spans);
    expect_eq(spans.count, 2);
    expect_span(&spans, 0, LANE_READY, 30, 35);
    expect_span(&spans, 1, LANE_VISITED, 35, 38);
    spans_of_lane(&story.model, 0, &spans);
    expect_eq(spans.count, 4);
    expect_span(&spans, 2, LANE_READY, 50, 51);
    expect_span(&spans, 3, LANE_VISITED, 51, 60);
    spans_fini(&spans);
    end(&story);
}

/* The visit of lane 2 fails. The lane is latched until all visits are made, and then as after any
 * failed attempt. */
Test(visits, failed_visit_keeps_its_lane)
{
    struct story story;
    struct lane_spans spans = { 0 };
    begin(&story, LANEPOOL_PER_KEY);
    tell_visit(&story);
    tell_on(&story, 1, 38, LANEPOOL_EVENT_VISITED, 2, 2, LANEPOOL_FAILED);
    tell(&story, 50, LANEPOOL_EVENT_END, 1, 0, 0);
    tell(&story, 50, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    tell(&story, 50, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    tell(&story, 50, LANEPOOL_EVENT_VISIT, 2, 1, 0);
    tell(&story, 54, LANEPOOL_EVENT_VISITED, 2, 1, 0);
    tell(&story, 54, LANEPOOL_EVENT_RELEASE, 2, 1, LANEPOOL_EVENT_EARLY);
    tell(&story, 55, LANEPOOL_EVENT_READY, 2, 0, 0);
    tell(&story, 56, LANEPOOL_EVENT_RETRY, 2, 0, LANEPOOL_FAILED);
    tell(&story, 60, LANEPOOL_EVENT_READY, 2, 0, 0);
    tell(&story, 61, LANEPOOL_EVENT_VISIT, 2, 2, 0);
    tell(&story, 63, LANEPOOL_EVENT_VISITED, 2, 2, 0);
    tell(&story, 63, LANEPOOL_EVENT_RELEASE, 2, 2, LANEPOOL_EVENT_EARLY);
    tell(&story, 64, LANEPOOL_EVENT_READY, 2, 0, 0);
    tell(&story, 65, LANEPOOL_EVENT_START, 2, 0, 0);
    tell(&story, 70, LANEPOOL_EVENT_END, 2, 0, 0);
    spans_of_lane(&story.model, 1, &spans);
    expect_eq(spans.count, 6);
    expect_span(&spans, 0, LANE_READY, 30, 35);
    expect_span(&spans, 1, LANE_VISITED, 35, 38);
    expect_span(&spans, 2, LANE_LATCHED, 38, 56);
    expect_span(&spans, 3, LANE_RETRYING, 56, 60);
    expect_span(&spans, 4, LANE_READY, 60, 61);
    expect_span(&spans, 5, LANE_VISITED, 61, 63);
    spans_of_lane(&story.model, 0, &spans);
    expect_span(&spans, spans.count - 1, LANE_VISITED, 50, 54);
    spans_fini(&spans);
    end(&story);
}

Test(visits, visit_whose_events_were_missed_in_part_is_drawn)
{
    struct story story;
    struct lane_spans spans = { 0 };
    begin(&story, LANEPOOL_PER_KEY);
    tell(&story, 30, LANEPOOL_EVENT_ENTER, 2, 1, LANEPOOL_EVENT_CUT | LANEPOOL_EVENT_GRANTED);
    tell(&story, 40, LANEPOOL_EVENT_VISITED, 2, 1, 0);
    tell(&story, 41, LANEPOOL_EVENT_RELEASE, 2, 1, LANEPOOL_EVENT_EARLY);
    tell(&story, 50, LANEPOOL_EVENT_VISIT, 3, 1, 0);
    tell(&story, 60, LANEPOOL_EVENT_RELEASE, 3, 1, LANEPOOL_EVENT_EARLY);
    spans_of_lane(&story.model, 0, &spans);
    expect_eq(spans.count, 2);
    expect_span(&spans, 0, LANE_VISITED, 30, 40);
    expect_span(&spans, 1, LANE_VISITED, 50, 60);
    expect_eq(model_cause(&story.model, 0).kind, MODEL_NO_WORK);
    spans_fini(&spans);
    end(&story);
}

Test(visits, frame_shows_visits_without_a_history)
{
    struct story story;
    struct cells cells;
    struct text text = { 0 };
    begin_with(&story, LANEPOOL_PER_KEY, false);
    tell_visit(&story);
    frame_draw(&cells, &story.model,
               &(struct frame_options){ .title = "t", .width = 90, .height = 20 });
    cells_print(&text, &cells, false, "", "\n");
    expect(strstr(text.data, "visits #2 cut at 2 for 0") != NULL);
    expect(strstr(text.data, "visited by #2 cut") != NULL);
    cells_fini(&cells);
    text_fini(&text);
    end(&story);
}
