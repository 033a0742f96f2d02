/* The model: event by event, as a live view feeds it, and when events are missing. */
#include <string.h>

#include "draw/frame.h"
#include "story.h"
#include "support/test.h"

/* Task 1 runs in lane 1; rollup 2 is latched in lane 2 and waits for lane 1. */
static void tell_latch(struct story *story)
{
    tell(story, 10, LANEPOOL_EVENT_ROUTE, 1, 101, 0);
    tell(story, 10, LANEPOOL_EVENT_ENTER, 1, 1, LANEPOOL_EVENT_GRANTED);
    tell(story, 10, LANEPOOL_EVENT_READY, 1, 0, 0);
    tell(story, 20, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(story, 30, LANEPOOL_EVENT_ROUTE, 2, 102, 0);
    tell(story, 30, LANEPOOL_EVENT_ENTER, 2, 1, 0);
    tell(story, 30, LANEPOOL_EVENT_ENTER, 2, 2, LANEPOOL_EVENT_GRANTED);
}

Test(models, idle_worker_names_the_latch_and_the_task_that_holds_it_up)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    expect_eq(model_cause(&story.model, 1).kind, MODEL_NO_WORK);
    tell_latch(&story);
    struct model_span cause = model_cause(&story.model, 1);
    expect_eq(cause.kind, MODEL_BLOCKED);
    expect_eq(story.model.replay->tasks[cause.task].ticket, 2);
    expect_eq(story.model.replay->tasks[cause.holder].ticket, 1);
    expect_eq(story.model.replay->latched, 1);
    tell(&story, 40, LANEPOOL_EVENT_END, 1, 0, 0);
    tell(&story, 40, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    tell(&story, 40, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    tell(&story, 40, LANEPOOL_EVENT_READY, 2, 0, 0);
    expect_eq(story.model.replay->latched, 0);
    expect_eq(model_cause(&story.model, 1).kind, MODEL_SEARCHES);
    tell_on(&story, 1, 50, LANEPOOL_EVENT_START, 2, 0, 0);
    expect_eq(model_cause(&story.model, 1).kind, MODEL_RUNS);
    expect_eq(model_cause(&story.model, 0).kind, MODEL_NO_WORK);
    expect_eq(model_worker_ns(&story.model, 1, MODEL_BLOCKED), 10);
    end(&story);
}

Test(models, byte_string_keeps_its_lane_under_another_number)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    for (uint64_t number = 5; number < 7; number++) {
        lanepool_event event = { .task = 'A' | 'B' << 8,
                                 .detail = 2 << 16,
                                 .object = number,
                                 .type = LANEPOOL_EVENT_NAME,
                                 .object_type = LANEPOOL_EVENT_LANE_BYTES };
        model_feed(&story.model, &event);
        event.type = LANEPOOL_EVENT_ENTER;
        event.task = number;
        model_feed(&story.model, &event);
    }
    expect_eq(story.model.replay->lane_count, 1);
    expect(strcmp(story.model.lanes[0].name, "AB") == 0);
    expect_eq(story.model.replay->lanes[0].open, 2);
    end(&story);
}

Test(models, worker_with_a_lane_of_its_own_is_blocked_by_the_latch_in_it)
{
    struct story story;
    begin(&story, LANEPOOL_PER_WORKER);
    for (uint64_t lane = 0; lane < 2; lane++) {
        lanepool_event event = { .task = 1,
                                 .object = lane,
                                 .type = LANEPOOL_EVENT_ENTER,
                                 .object_type = LANEPOOL_EVENT_LANE_WORKER };
        model_feed(&story.model, &event);
    }
    lanepool_event event = { .task = 1,
                             .object = 1,
                             .thread = 1,
                             .type = LANEPOOL_EVENT_ARRIVE,
                             .object_type = LANEPOOL_EVENT_LANE_WORKER };
    model_feed(&story.model, &event);
    expect_eq(model_cause(&story.model, 1).kind, MODEL_BLOCKED);
    expect_eq(story.model.replay->tasks[model_cause(&story.model, 1).task].ticket, 1);
    end(&story);
}

Test(models, worker_with_a_lane_of_its_own_has_no_work_in_another_lane)
{
    struct story story;
    begin(&story, LANEPOOL_PER_WORKER);
    lanepool_event event = { .task = 1,
                             .object = 1,
                             .thread = 1,
                             .type = LANEPOOL_EVENT_ENTER,
                             .object_type = LANEPOOL_EVENT_LANE_WORKER };
    model_feed(&story.model, &event);
    event.type = LANEPOOL_EVENT_READY;
    model_feed(&story.model, &event);
    expect_eq(model_cause(&story.model, 0).kind, MODEL_NO_WORK);
    expect_eq(model_cause(&story.model, 1).kind, MODEL_SEARCHES);
    end(&story);
}

static void add_frame(struct text *text, const struct model *model)
{
    struct cells cells;
    frame_draw(&cells, model, &(struct frame_options){ .title = "t", .width = 90, .height = 20 });
    cells_print(text, &cells, true, "", "\n");
    cells_fini(&cells);
}

/* Some tasks fail; of these some are parked until they are tried again. */
static void tell_step_of_failure(struct story *story, uint64_t n, uint64_t ended)
{
    if (ended % 4 == 0) {
        int type = ended % 8 == 0 ? LANEPOOL_EVENT_PARK : LANEPOOL_EVENT_RETRY;
        tell_on(story, n % 2, 10 * n + 4, type, ended, 0, LANEPOOL_FAILED);
        tell(story, 10 * n + 4, LANEPOOL_EVENT_READY, ended, 0, 0);
        tell_on(story, n % 2, 10 * n + 4, LANEPOOL_EVENT_START, ended, 0, 0);
    } else if (ended % 4 == 1) {
        tell_on(story, n % 2, 10 * n + 4, LANEPOOL_EVENT_PARK, ended, 0, LANEPOOL_FAILED);
    }
}

/* Task n enters two lanes; then task n - 3 runs and leaves its own. */
static void tell_step(struct story *story, uint64_t n)
{
    uint64_t time = 10 * n, ended = n - 3;
    tell_on(story, LANEPOOL_EVENT_OUTSIDE, time, LANEPOOL_EVENT_SUBMIT, 0, 100 + n % 7, 0);
    tell(story, time + 1, LANEPOOL_EVENT_ROUTE, n, 100 + n % 7, (uint32_t)(n % 2));
    tell(story, time + 1, LANEPOOL_EVENT_ENTER, n, n % 5, n % 3 ? LANEPOOL_EVENT_GRANTED : 0);
    tell(story, time + 1, LANEPOOL_EVENT_ENTER, n, 5 + n % 4, LANEPOOL_EVENT_SHARED);
    if (n > 3) {
        tell(story, time + 2, LANEPOOL_EVENT_READY, ended, 0, 0);
        tell_on(story, n % 2, time + 3, LANEPOOL_EVENT_START, ended, 0, 0);
        tell_step_of_failure(story, n, ended);
        tell_on(story, n % 2, time + 5, LANEPOOL_EVENT_END, ended, 0, 0);
        tell_on(story, n % 2, time + 5, LANEPOOL_EVENT_RELEASE, ended, ended % 5, 0);
        tell_on(story, n % 2, time + 6, LANEPOOL_EVENT_RELEASE, ended, 5 + ended % 4, 0);
    }
}

Test(models, frames_need_no_history)
{
    struct story whole, present;
    begin(&whole, LANEPOOL_PER_KEY);
    begin_with(&present, LANEPOOL_PER_KEY, false);
    for (uint64_t n = 1; n <= 60; n++) {
        struct text wanted = { 0 }, found = { 0 };
        tell_step(&whole, n);
        tell_step(&present, n);
        add_frame(&wanted, &whole.model);
        add_frame(&found, &present.model);
        expect(strcmp(found.data, wanted.data) == 0);
        text_fini(&wanted);
        text_fini(&found);
    }
    expect_eq(whole.model.replay->task_count, 60);
    expect(present.model.replay->task_count < 6);
    end(&whole);
    end(&present);
}

Test(models, frame_of_any_size_is_drawn)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_latch(&story);
    for (size_t width = 0; width < 60; width += 3) {
        for (size_t height = 0; height < 12; height++) {
            struct cells cells;
            struct text text = { 0 };
            frame_draw(&cells, &story.model,
                       &(struct frame_options){ .title = "t", .width = width, .height = height });
            cells_print(&text, &cells, true, "", "\n");
            text_fini(&text);
            cells_fini(&cells);
        }
    }
    end(&story);
}
