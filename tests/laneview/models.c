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
    expect_eq(story.model.tasks[cause.task].ticket, 2);
    expect_eq(story.model.tasks[cause.holder].ticket, 1);
    expect_eq(story.model.latched, 1);
    tell(&story, 40, LANEPOOL_EVENT_END, 1, 0, 0);
    tell(&story, 40, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    tell(&story, 40, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    tell(&story, 40, LANEPOOL_EVENT_READY, 2, 0, 0);
    expect_eq(story.model.latched, 0);
    expect_eq(model_cause(&story.model, 1).kind, MODEL_SEARCHES);
    tell_on(&story, 1, 50, LANEPOOL_EVENT_START, 2, 0, 0);
    expect_eq(model_cause(&story.model, 1).kind, MODEL_RUNS);
    expect_eq(model_cause(&story.model, 0).kind, MODEL_NO_WORK);
    expect_eq(model_worker_ns(&story.model, 1, MODEL_BLOCKED), 10);
    end(&story);
}

Test(models, task_is_first_seen_at_its_end)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell(&story, 5, LANEPOOL_EVENT_END, 9, 0, 0);
    tell(&story, 5, LANEPOOL_EVENT_RELEASE, 9, 1, 0);
    expect_eq(story.model.task_count, 1);
    expect_eq(story.model.tasks[0].state, MODEL_ENDED);
    expect_eq(story.model.tasks[0].start, MODEL_UNSEEN);
    expect_eq(story.model.lanes[0].open, 0);
    expect_eq(story.model.lanes[0].waiting, 0);
    end(&story);
}

Test(models, release_ends_a_task_whose_end_was_missed)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_latch(&story);
    tell(&story, 60, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    expect_eq(story.model.counts[MODEL_RUNNING], 0);
    expect_eq(story.model.workers[0].depth, 0);
    end(&story);
}

Test(models, task_that_gives_a_lane_up_early_goes_on)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_latch(&story);
    tell(&story, 60, LANEPOOL_EVENT_RELEASE, 2, 1, LANEPOOL_EVENT_EARLY);
    tell(&story, 60, LANEPOOL_EVENT_READY, 2, 0, 0);
    expect_eq(story.model.counts[MODEL_READY], 1);
    expect_eq(story.model.lanes[0].waiting, 0);
    tell(&story, 70, LANEPOOL_EVENT_RELEASE, 1, 1, LANEPOOL_EVENT_EARLY);
    expect_eq(story.model.counts[MODEL_RUNNING], 1);
    expect_eq(story.model.lanes[0].open, 0);
    end(&story);
}

Test(models, task_whose_end_was_missed_is_over_when_the_next_of_its_lane_arrives)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_latch(&story);
    tell(&story, 60, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    expect_eq(story.model.counts[MODEL_RUNNING], 0);
    expect_eq(story.model.workers[0].depth, 0);
    expect_eq(story.model.lanes[0].open, 1);
    end(&story);
}

Test(models, shared_entries_hold_a_lane_together)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    for (uint64_t ticket = 1; ticket < 4; ticket++) {
        tell(&story, 10, LANEPOOL_EVENT_ENTER, ticket, 1,
             LANEPOOL_EVENT_GRANTED | LANEPOOL_EVENT_SHARED);
    }
    expect_eq(story.model.lanes[0].open, 3);
    expect_eq(story.model.lanes[0].waiting, 0);
    tell(&story, 20, LANEPOOL_EVENT_ENTER, 4, 1, 0);
    tell(&story, 30, LANEPOOL_EVENT_ARRIVE, 4, 1, 0);
    expect_eq(story.model.lanes[0].open, 1);
    end(&story);
}

Test(models, submit_whose_route_was_missed_is_pending_no_longer)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell(&story, 10, LANEPOOL_EVENT_SUBMIT, 0, 7, 0);
    tell_on(&story, 1, 10, LANEPOOL_EVENT_SUBMIT, 0, 8, 0);
    tell(&story, 20, LANEPOOL_EVENT_SUBMIT, 0, 9, 0);
    tell(&story, 30, LANEPOOL_EVENT_ROUTE, 3, 9, 0);
    expect_eq(story.model.counts[MODEL_SUBMITTED], 1); /* another thread's */
    expect_eq(story.model.counts[MODEL_CANCELLED], 1);
    end(&story);
}

Test(models, tickets_begin_again_and_submissions_are_used_again)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    for (uint64_t round = 0; round < 3; round++) {
        uint64_t ticket = round % 2 == 0 ? RECORDING_TICKET_COUNT - 1 : 0;
        tell(&story, 10 * round, LANEPOOL_EVENT_SUBMIT, 0, 7, 0);
        tell(&story, 10 * round, LANEPOOL_EVENT_ROUTE, ticket, 7, 0);
        tell(&story, 10 * round, LANEPOOL_EVENT_READY, ticket, 0, 0);
        tell(&story, 10 * round, LANEPOOL_EVENT_START, ticket, 0, 0);
        tell(&story, 10 * round + 4, LANEPOOL_EVENT_END, ticket, 0, 0);
    }
    expect_eq(story.model.task_count, 3);
    expect_eq(story.model.counts[MODEL_ENDED], 3);
    end(&story);
}

Test(models, task_that_waits_inside_of_a_task_runs_others_on_top)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell(&story, 10, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(&story, 20, LANEPOOL_EVENT_START, 2, 0, 0);
    expect_eq(story.model.tasks[model_cause(&story.model, 0).task].ticket, 2);
    tell(&story, 30, LANEPOOL_EVENT_END, 2, 0, 0);
    expect_eq(story.model.tasks[model_cause(&story.model, 0).task].ticket, 1);
    end(&story);
}

Test(models, refused_submission_is_pending_no_longer)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell(&story, 10, LANEPOOL_EVENT_SUBMIT, 0, 7, 0);
    expect_eq(story.model.counts[MODEL_SUBMITTED], 1);
    tell(&story, 20, LANEPOOL_EVENT_CANCEL, 0, 7, 0);
    expect_eq(story.model.counts[MODEL_SUBMITTED], 0);
    expect_eq(story.model.counts[MODEL_CANCELLED], 1);
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
    expect_eq(story.model.lane_count, 1);
    expect(strcmp(story.model.lanes[0].name, "AB") == 0);
    expect_eq(story.model.lanes[0].entry_count, 2);
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
    expect_eq(story.model.tasks[model_cause(&story.model, 1).task].ticket, 1);
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
    cells_print(text, &cells, true, "\n");
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

Test(models, forgetting_what_is_over_changes_no_frame)
{
    struct story whole, parked;
    begin(&whole, LANEPOOL_PER_KEY);
    begin(&parked, LANEPOOL_PER_KEY);
    for (uint64_t n = 1; n <= 60; n++) {
        struct text wanted = { 0 }, found = { 0 };
        tell_step(&whole, n);
        tell_step(&parked, n);
        model_forget(&parked.model);
        add_frame(&wanted, &whole.model);
        add_frame(&found, &parked.model);
        expect(strcmp(found.data, wanted.data) == 0);
        text_fini(&wanted);
        text_fini(&found);
    }
    expect_eq(whole.model.task_count, 60);
    expect_eq(parked.model.task_count, 3);
    end(&whole);
    end(&parked);
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
            cells_print(&text, &cells, true, "\n");
            text_fini(&text);
            cells_fini(&cells);
        }
    }
    end(&story);
}
