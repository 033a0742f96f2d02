/* Replays: what is known of tasks, lanes and workers after each event, also if some are missing. */
#include <string.h>

#include "support/step.h"
#include "support/test.h"

enum { HISTORY = LANEPOOL_REPLAY_TASKS | LANEPOOL_REPLAY_LANES };

static lanepool_replay *replay_make(unsigned keep)
{
    lanepool_replay *replay;

    expect_ok(lanepool_replay_create(keep, &replay));
    return replay;
}

/* An event of a task, in the lane of an id where it has one. */
static void tell_on(lanepool_replay *replay, uint16_t thread, uint64_t time_ns,
                    lanepool_event_type type, uint64_t task, uint64_t object, uint32_t detail)
{
    lanepool_event event = { .time_ns = time_ns,
                             .task = task,
                             .object = object,
                             .detail = detail,
                             .thread = thread,
                             .type = (uint8_t)type,
                             .object_type = LANEPOOL_EVENT_LANE_ID };

    expect_ok(lanepool_replay_feed(replay, &event));
}

static void tell(lanepool_replay *replay, uint64_t time_ns, lanepool_event_type type, uint64_t task,
                 uint64_t object, uint32_t detail)
{
    tell_on(replay, 0, time_ns, type, task, object, detail);
}

/* Task 1 runs in lane 1; rollup 2 is latched in lane 2 and waits for lane 1. */
static void tell_latch(lanepool_replay *replay)
{
    tell(replay, 10, LANEPOOL_EVENT_ROUTE, 1, 101, 7);
    tell(replay, 10, LANEPOOL_EVENT_ENTER, 1, 1, LANEPOOL_EVENT_GRANTED);
    tell(replay, 10, LANEPOOL_EVENT_READY, 1, 0, 0);
    tell(replay, 20, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(replay, 30, LANEPOOL_EVENT_ROUTE, 2, 102, 0);
    tell(replay, 30, LANEPOOL_EVENT_ENTER, 2, 1, 0);
    tell(replay, 31, LANEPOOL_EVENT_ENTER, 2, 2, LANEPOOL_EVENT_GRANTED);
}

static const lanepool_replay_lane *lane_with(const lanepool_replay *replay, uint64_t id)
{
    size_t lane = lanepool_replay_lane_of(replay, LANEPOOL_EVENT_LANE_ID, id);

    expect(lane != LANEPOOL_REPLAY_NONE);
    return &replay->lanes[lane];
}

Test(replay, wrong_arguments_are_refused)
{
    lanepool_event event = { .type = LANEPOOL_EVENT_SLEEP };
    lanepool_replay *replay;

    expect_status(lanepool_replay_create(4, &replay), LANEPOOL_INVALID);
    expect(replay == NULL);
    expect_status(lanepool_replay_create(0, NULL), LANEPOOL_INVALID);
    replay = replay_make(0);
    expect_status(lanepool_replay_feed(NULL, &event), LANEPOOL_INVALID);
    expect_status(lanepool_replay_feed(replay, NULL), LANEPOOL_INVALID);
    expect_eq(lanepool_replay_blocker(replay, 0), LANEPOOL_REPLAY_NONE);
    expect_eq(lanepool_replay_lane_of(replay, LANEPOOL_EVENT_LANE_ID, 1), LANEPOOL_REPLAY_NONE);
    expect_eq(lanepool_replay_lane_of(replay, LANEPOOL_EVENT_LANE_TASK, 1), LANEPOOL_REPLAY_NONE);
    lanepool_replay_destroy(replay);
    lanepool_replay_destroy(NULL);
}

Test(replay, a_rollup_is_latched_until_its_last_lane_is_granted)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell_latch(replay);
    expect_eq(replay->task_count, 2);
    expect_eq(replay->tasks[0].tag, 7);
    expect_eq(replay->tasks[0].state, LANEPOOL_REPLAY_RUNNING);
    expect_eq(replay->workers[0].task, 0);
    expect_eq(replay->tasks[1].state, LANEPOOL_REPLAY_WAITING);
    expect_eq(replay->tasks[1].arrived, 1);
    expect_eq(replay->latched, 1);
    expect_eq(lanepool_replay_blocker(replay, 1), 0);
    expect_eq(lane_with(replay, 1)->waiting, 1);
    expect_eq(replay->entries[lane_with(replay, 1)->first_open].task, 0);
    tell(replay, 40, LANEPOOL_EVENT_END, 1, 0, LANEPOOL_OK);
    expect_eq(replay->task, 0);
    expect_eq(replay->before, LANEPOOL_REPLAY_RUNNING);
    expect_eq(replay->tasks[0].ran_ns, 20);
    tell(replay, 40, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    tell(replay, 41, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    expect_eq(replay->entry, replay->tasks[1].first_entry);
    expect_eq(replay->entries[replay->entry].enter_ns, 30);
    expect_eq(replay->entries[replay->entry].arrive_ns, 41);
    tell(replay, 42, LANEPOOL_EVENT_READY, 2, 0, 0);
    expect_eq(replay->latched, 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_READY], 1);
    expect_eq(replay->first[LANEPOOL_REPLAY_READY], 1);
    expect_eq(lanepool_replay_blocker(replay, 1), LANEPOOL_REPLAY_NONE);
    lanepool_replay_destroy(replay);
}

Test(replay, a_task_is_first_seen_at_its_end)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell(replay, 5, LANEPOOL_EVENT_END, 9, 0, 0);
    tell(replay, 5, LANEPOOL_EVENT_RELEASE, 9, 1, 0);
    expect_eq(replay->task_count, 1);
    expect_eq(replay->tasks[0].state, LANEPOOL_REPLAY_ENDED);
    expect_eq(replay->tasks[0].start_ns, LANEPOOL_REPLAY_UNSEEN);
    expect_eq(replay->lanes[0].open, 0);
    expect_eq(replay->lanes[0].waiting, 0);
    lanepool_replay_destroy(replay);
}

Test(replay, a_task_that_is_first_seen_as_it_enters_a_lane_waits)
{
    lanepool_replay *replay = replay_make(0);

    tell(replay, 10, LANEPOOL_EVENT_ENTER, 1, 1, 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_WAITING], 1);
    lanepool_replay_destroy(replay);
}

Test(replay, a_release_ends_a_task_whose_end_was_missed)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell_latch(replay);
    tell(replay, 60, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_RUNNING], 0);
    expect_eq(replay->workers[0].task, LANEPOOL_REPLAY_NONE);
    lanepool_replay_destroy(replay);
}

Test(replay, a_lane_released_early_ends_no_task)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell_latch(replay);
    tell(replay, 60, LANEPOOL_EVENT_RELEASE, 2, 1, LANEPOOL_EVENT_EARLY);
    tell(replay, 60, LANEPOOL_EVENT_READY, 2, 0, 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_READY], 1);
    expect_eq(lane_with(replay, 1)->waiting, 0);
    tell(replay, 70, LANEPOOL_EVENT_RELEASE, 1, 1, LANEPOOL_EVENT_EARLY);
    expect_eq(replay->counts[LANEPOOL_REPLAY_RUNNING], 1);
    expect_eq(lane_with(replay, 1)->open, 0);
    lanepool_replay_destroy(replay);
}

Test(replay, a_grant_ends_the_tasks_before_it)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell_latch(replay);
    tell(replay, 60, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_RUNNING], 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_CANCELLED], 1);
    expect_eq(replay->workers[0].task, LANEPOOL_REPLAY_NONE);
    expect_eq(lane_with(replay, 1)->open, 1);
    lanepool_replay_destroy(replay);
}

Test(replay, shared_entries_have_a_lane_together)
{
    lanepool_replay *replay = replay_make(HISTORY);

    for (uint64_t ticket = 1; ticket < 4; ticket++) {
        tell(replay, 10, LANEPOOL_EVENT_ENTER, ticket, 1,
             LANEPOOL_EVENT_GRANTED | LANEPOOL_EVENT_SHARED);
    }
    expect_eq(replay->lanes[0].open, 3);
    expect_eq(replay->lanes[0].waiting, 0);
    tell(replay, 20, LANEPOOL_EVENT_ENTER, 4, 1, 0);
    tell(replay, 30, LANEPOOL_EVENT_ARRIVE, 4, 1, 0);
    expect_eq(replay->lanes[0].open, 1);
    lanepool_replay_destroy(replay);
}

Test(replay, a_submit_whose_route_was_missed_is_pending_no_longer)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell(replay, 10, LANEPOOL_EVENT_SUBMIT, 0, 7, 0);
    tell_on(replay, 1, 10, LANEPOOL_EVENT_SUBMIT, 0, 8, 0);
    tell(replay, 20, LANEPOOL_EVENT_SUBMIT, 0, 9, 0);
    tell(replay, 30, LANEPOOL_EVENT_ROUTE, 3, 9, 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_SUBMITTED], 1); /* another thread's */
    expect_eq(replay->counts[LANEPOOL_REPLAY_CANCELLED], 1);
    lanepool_replay_destroy(replay);
}

Test(replay, a_refused_submission_is_pending_no_longer)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell(replay, 10, LANEPOOL_EVENT_SUBMIT, 0, 7, 0);
    tell(replay, 20, LANEPOOL_EVENT_CANCEL, 0, 7, 0);
    expect_eq(replay->task_count, 1);
    expect_eq(replay->counts[LANEPOOL_REPLAY_CANCELLED], 1);
    lanepool_replay_destroy(replay);
}

Test(replay, tickets_begin_again_and_submissions_are_used_again)
{
    lanepool_replay *replay = replay_make(HISTORY);

    for (uint64_t round = 0; round < 3; round++) {
        uint64_t ticket = round % 2 == 0 ? (UINT64_C(1) << 40) - 1 : 0;
        tell(replay, 10 * round, LANEPOOL_EVENT_SUBMIT, 0, 7, 0);
        tell(replay, 10 * round, LANEPOOL_EVENT_ROUTE, ticket, 7, 0);
        tell(replay, 10 * round, LANEPOOL_EVENT_READY, ticket, 0, 0);
        tell(replay, 10 * round, LANEPOOL_EVENT_START, ticket, 0, 0);
        tell(replay, 10 * round + 4, LANEPOOL_EVENT_END, ticket, 0, 0);
    }
    expect_eq(replay->task_count, 3);
    expect_eq(replay->counts[LANEPOOL_REPLAY_ENDED], 3);
    lanepool_replay_destroy(replay);
}

Test(replay, a_ticket_that_begins_again_ends_its_former_task)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell(replay, 10, LANEPOOL_EVENT_ROUTE, 1, 7, 0);
    tell(replay, 11, LANEPOOL_EVENT_ENTER, 1, 1, LANEPOOL_EVENT_GRANTED);
    tell(replay, 12, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(replay, 19, LANEPOOL_EVENT_SUBMIT, 0, 8, 0);
    tell(replay, 20, LANEPOOL_EVENT_ROUTE, 1, 8, 0);
    expect_eq(replay->task_count, 2);
    expect_eq(replay->counts[LANEPOOL_REPLAY_RUNNING], 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_WAITING], 1);
    expect_eq(replay->workers[0].task, LANEPOOL_REPLAY_NONE);
    lanepool_replay_destroy(replay);
}

Test(replay, a_task_that_waits_inside_another_runs_on_top)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell(replay, 10, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(replay, 20, LANEPOOL_EVENT_START, 2, 0, 0);
    expect_eq(replay->tasks[replay->workers[0].task].ticket, 2);
    tell(replay, 30, LANEPOOL_EVENT_END, 2, 0, 0);
    expect_eq(replay->tasks[replay->workers[0].task].ticket, 1);
    lanepool_replay_destroy(replay);
}

Test(replay, a_failed_task_is_retried_and_parked)
{
    lanepool_replay *replay = replay_make(0);

    tell_latch(replay);
    tell(replay, 40, LANEPOOL_EVENT_RETRY, 1, 0, LANEPOOL_FAILED);
    expect_eq(replay->first[LANEPOOL_REPLAY_RETRYING], 0);
    expect_eq(replay->workers[0].task, LANEPOOL_REPLAY_NONE);
    tell(replay, 50, LANEPOOL_EVENT_READY, 1, 0, 0);
    expect_eq(replay->tasks[0].failed.ready_ns, 50);
    tell_on(replay, 1, 55, LANEPOOL_EVENT_START, 1, 0, 0);
    tell_on(replay, 1, 60, LANEPOOL_EVENT_PARK, 1, 0, LANEPOOL_FAILED);
    expect_eq(replay->tasks[0].state, LANEPOOL_REPLAY_PARKED);
    expect_eq(replay->tasks[0].failed_count, 2);
    expect_eq(replay->tasks[0].failed.start_ns, 55);
    expect_eq(replay->tasks[0].failed.parked_ns, 60);
    expect_eq(replay->tasks[0].failed.thread, 1);
    expect_eq(replay->tasks[0].ran_ns, 25);
    expect_eq(lanepool_replay_blocker(replay, 1), 0);
    lanepool_replay_destroy(replay);
}

/* Each event has up to eight bytes of a name. */
static void tell_name(lanepool_replay *replay, uint64_t number, const char *name)
{
    for (size_t at = 0; at < strlen(name); at += 8) {
        lanepool_event event = { .detail = (uint32_t)(strlen(name) << 16 | at),
                                 .object = number,
                                 .type = LANEPOOL_EVENT_NAME,
                                 .object_type = LANEPOOL_EVENT_LANE_BYTES };

        for (size_t i = 0; i < 8 && at + i < strlen(name); i++) {
            event.task |= (uint64_t)(unsigned char)name[at + i] << 8 * i;
        }
        expect_ok(lanepool_replay_feed(replay, &event));
    }
}

static void tell_entry(lanepool_replay *replay, uint64_t task, uint64_t number)
{
    lanepool_event event = { .task = task,
                             .object = number,
                             .type = LANEPOOL_EVENT_ENTER,
                             .object_type = LANEPOOL_EVENT_LANE_BYTES };

    expect_ok(lanepool_replay_feed(replay, &event));
}

Test(replay, a_byte_string_names_its_lane)
{
    lanepool_replay *replay = replay_make(HISTORY);

    tell_name(replay, 5, "client 42");
    tell_entry(replay, 1, 5);
    tell_name(replay, 6, "client 42"); /* the same lane under another number */
    tell_entry(replay, 2, 6);
    tell_name(replay, 5, "client 43"); /* another lane under a number that is used again */
    tell_entry(replay, 3, 5);
    expect_eq(replay->lane_count, 2);
    expect_eq(replay->lanes[0].name_size, 9);
    expect(memcmp(replay->lanes[0].name, "client 42", 9) == 0);
    expect_eq(replay->lanes[0].open, 2);
    expect(memcmp(replay->lanes[1].name, "client 43", 9) == 0);
    expect_eq(lanepool_replay_lane_of(replay, LANEPOOL_EVENT_LANE_BYTES, 5), 1);
    lanepool_replay_destroy(replay);
}

/* Task n enters two lanes, one of them with a number of its own, runs and leaves them. */
static void tell_whole_task(lanepool_replay *replay, uint64_t n)
{
    tell(replay, 10 * n, LANEPOOL_EVENT_SUBMIT, 0, 100 + n % 3, 0);
    tell(replay, 10 * n, LANEPOOL_EVENT_ROUTE, n, 100 + n % 3, 0);
    tell(replay, 10 * n, LANEPOOL_EVENT_ENTER, n, 1, LANEPOOL_EVENT_GRANTED);
    tell(replay, 10 * n, LANEPOOL_EVENT_ENTER, n, 100 + n, LANEPOOL_EVENT_GRANTED);
    tell(replay, 10 * n, LANEPOOL_EVENT_READY, n, 0, 0);
    tell(replay, 10 * n + 1, LANEPOOL_EVENT_START, n, 0, 0);
    tell(replay, 10 * n + 5, LANEPOOL_EVENT_END, n, 0, 0);
    tell(replay, 10 * n + 5, LANEPOOL_EVENT_RELEASE, n, 1, 0);
    tell(replay, 10 * n + 5, LANEPOOL_EVENT_RELEASE, n, 100 + n, 0);
}

Test(replay, memory_grows_only_with_what_is_kept)
{
    enum { TASKS = 1000 };
    lanepool_replay *present = replay_make(0);
    lanepool_replay *lanes = replay_make(LANEPOOL_REPLAY_LANES);
    lanepool_replay *history = replay_make(HISTORY);

    for (uint64_t n = 1; n <= TASKS; n++) {
        tell_whole_task(present, n);
        tell_whole_task(lanes, n);
        tell_whole_task(history, n);
    }
    expect(present->task_count < 4);
    expect(present->entry_count < 8);
    expect(present->lane_count < 4);
    expect(lanes->task_count < 4);
    expect_eq(lanes->lane_count, TASKS + 1);
    expect_eq(history->task_count, TASKS);
    expect_eq(history->entry_count, 2 * TASKS);
    expect_eq(present->counts[LANEPOOL_REPLAY_ENDED], TASKS);
    size_t entries = 0;
    for (size_t entry = history->lanes[0].first_entry; entry != LANEPOOL_REPLAY_NONE;
         entry = history->entries[entry].next_of_lane) {
        entries++;
    }
    expect_eq(entries, TASKS);
    lanepool_replay_destroy(present);
    lanepool_replay_destroy(lanes);
    lanepool_replay_destroy(history);
}

Test(replay, a_cleared_replay_knows_no_task)
{
    lanepool_replay *replay = replay_make(0);

    tell_latch(replay);
    lanepool_replay_clear(replay);
    expect_eq(replay->task_count, 0);
    expect_eq(replay->counts[LANEPOOL_REPLAY_RUNNING], 0);
    expect_eq(replay->workers[0].task, LANEPOOL_REPLAY_NONE);
    tell_latch(replay);
    expect_eq(replay->task_count, 2);
    lanepool_replay_destroy(replay);
}
