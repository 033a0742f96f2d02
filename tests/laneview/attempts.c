/* The model: attempts at tasks that fail, and what lies between. */
#include <string.h>

#include "model/spans.h"
#include "story.h"
#include "support/test.h"

/* Task 1 runs in lane 1, fails, will be retried, runs on another worker, fails and is parked. */
static void tell_failures(struct story *story)
{
    tell(story, 10, LANEPOOL_EVENT_ROUTE, 1, 101, 0);
    tell(story, 10, LANEPOOL_EVENT_ENTER, 1, 1, LANEPOOL_EVENT_GRANTED);
    tell(story, 10, LANEPOOL_EVENT_READY, 1, 0, 0);
    tell(story, 20, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(story, 30, LANEPOOL_EVENT_RETRY, 1, 0, LANEPOOL_FAILED);
    tell(story, 50, LANEPOOL_EVENT_READY, 1, 0, 0);
    tell_on(story, 1, 50, LANEPOOL_EVENT_START, 1, 0, 0);
    tell_on(story, 1, 60, LANEPOOL_EVENT_PARK, 1, 0, LANEPOOL_FAILED);
}

Test(attempts, idle_worker_names_the_task_that_has_failed)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_failures(&story);
    struct model_span *spans = story.model.workers[0].spans;
    size_t last = story.model.workers[0].span_count - 1;
    expect_eq(spans[last].kind, MODEL_BLOCKED);
    expect_eq(spans[last].holder_state, LANEPOOL_REPLAY_PARKED);
    expect_eq(spans[last].from, 60);
    expect_eq(model_worker_ns(&story.model, 0, MODEL_RUNS), 10);
    expect_eq(model_worker_ns(&story.model, 1, MODEL_RUNS), 10);
    expect_eq(model_worker_ns(&story.model, 0, MODEL_BLOCKED), 20);
    tell(&story, 70, LANEPOOL_EVENT_ROUTE, 2, 102, 0);
    tell(&story, 70, LANEPOOL_EVENT_ENTER, 2, 1, 0);
    struct model_span cause = model_cause(&story.model, 0);
    expect_eq(story.model.replay->tasks[cause.holder].ticket, 1);
    expect_eq(cause.holder_state, LANEPOOL_REPLAY_PARKED);
    end(&story);
}

Test(attempts, kept_task_goes_on_with_an_attempt)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_failures(&story);
    expect_eq(story.model.replay->counts[LANEPOOL_REPLAY_PARKED], 1);
    expect_eq(model_pending(&story.model), 1);
    tell(&story, 90, LANEPOOL_EVENT_READY, 1, 0, 0);
    expect_eq(story.model.replay->counts[LANEPOOL_REPLAY_PARKED], 0);
    tell(&story, 95, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(&story, 99, LANEPOOL_EVENT_END, 1, 0, 0);
    const lanepool_replay_task *task = &story.model.replay->tasks[0];
    expect_eq(task->failed_count, 2);
    expect_eq(model_attempt(&story.model, 0, 0).parked_ns, LANEPOOL_REPLAY_UNSEEN);
    expect_eq(model_attempt(&story.model, 0, 0).ready_ns, 50);
    expect_eq(model_attempt(&story.model, 0, 1).thread, 1);
    expect_eq(model_attempt(&story.model, 0, 1).parked_ns, 60);
    expect_eq(model_attempt(&story.model, 0, 1).ready_ns, 90);
    expect_eq(task->ready_ns, 10);
    expect_eq(task->start_ns, 95);
    expect_eq(model_attempt_at(&story.model, 0, 94), 1);
    expect_eq(model_attempt_at(&story.model, 0, 95), 2);
    expect_eq(model_pending(&story.model), 0);
    end(&story);
}

/* The kinds of the spans of lane 0, a letter each. */
static const char *kinds_of_lane(const struct model *model)
{
    static char kinds[32];
    struct lane_spans spans = { 0 };
    size_t count = 0;
    spans_of_lane(model, 0, &spans);
    for (; count < spans.count && count + 1 < sizeof kinds; count++) {
        kinds[count] = "lwRrk"[spans.items[count].kind];
        expect(count == 0 || spans.items[count].from >= spans.items[count - 1].to);
    }
    kinds[count] = 0;
    spans_fini(&spans);
    return kinds;
}

Test(attempts, kept_span_lasts_until_the_end_that_skips_the_task)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell_failures(&story);
    tell_on(&story, LANEPOOL_EVENT_OUTSIDE, 80, LANEPOOL_EVENT_END, 1, 0, LANEPOOL_FAILED);
    tell_on(&story, LANEPOOL_EVENT_OUTSIDE, 80, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    model_advance(&story.model, 100);
    expect(strcmp(kinds_of_lane(&story.model), "wRrRk") == 0);
    expect_eq(story.model.replay->counts[LANEPOOL_REPLAY_ENDED], 1);
    expect_eq(story.model.replay->first[LANEPOOL_REPLAY_RETRYING], LANEPOOL_REPLAY_NONE);
    expect_eq(story.model.replay->first[LANEPOOL_REPLAY_PARKED], LANEPOOL_REPLAY_NONE);
    end(&story);
}

Test(attempts, delay_that_is_cut_short_ends_with_the_task_kept)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell(&story, 10, LANEPOOL_EVENT_ENTER, 1, 1, LANEPOOL_EVENT_GRANTED);
    tell(&story, 10, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(&story, 20, LANEPOOL_EVENT_RETRY, 1, 0, LANEPOOL_FAILED);
    tell(&story, 30, LANEPOOL_EVENT_PARK, 1, 0, LANEPOOL_FAILED);
    model_advance(&story.model, 50);
    expect_eq(story.model.replay->tasks[0].failed_count, 1);
    expect(strcmp(kinds_of_lane(&story.model), "Rrk") == 0);
    end(&story);
}

Test(attempts, failures_whose_other_events_were_missed_are_known_all_the_same)
{
    struct story story;
    begin(&story, LANEPOOL_PER_KEY);
    tell(&story, 10, LANEPOOL_EVENT_PARK, 1, 0, LANEPOOL_FAILED);
    expect_eq(story.model.replay->counts[LANEPOOL_REPLAY_PARKED], 1);
    tell(&story, 20, LANEPOOL_EVENT_START, 1, 0, 0);
    expect_eq(story.model.replay->counts[LANEPOOL_REPLAY_RUNNING], 1);
    tell(&story, 30, LANEPOOL_EVENT_RETRY, 1, 0, LANEPOOL_FAILED);
    tell(&story, 30, LANEPOOL_EVENT_RETRY, 1, 0, LANEPOOL_FAILED);
    expect_eq(story.model.replay->tasks[0].failed_count, 2);
    expect_eq(story.model.replay->workers[0].task, LANEPOOL_REPLAY_NONE);
    tell(&story, 40, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    expect_eq(story.model.replay->counts[LANEPOOL_REPLAY_ENDED], 1);
    tell(&story, 50, LANEPOOL_EVENT_PARK, 1, 0, LANEPOOL_FAILED);
    expect_eq(model_pending(&story.model), 0);
    end(&story);
}
