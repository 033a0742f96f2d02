/* The events of cuts, and what a replay and added-up times make of them. */
#include "support/cut.h"
#include "support/event_judge.h"
#include "support/step.h"
#include "support/test.h"

enum { EVENTS = 1 << 12, CUTS = 40, ROWS_MAX = 8 };

static lanepool_pool *traced_pool(unsigned workers, lanepool_trace_reader **reader)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.trace_events = EVENTS;
    lanepool_pool *pool = pool_make_with(&options);
    expect_ok(lanepool_trace_open(pool, reader));
    return pool;
}

/* --- events of a pool --- */

Test(cut_events, a_cut_leaves_the_events_of_its_visits)
{
    static const lanepool_event_type wanted[] = {
        LANEPOOL_EVENT_SUBMIT,  LANEPOOL_EVENT_ROUTE, LANEPOOL_EVENT_ENTER,
        LANEPOOL_EVENT_ENTER,   LANEPOOL_EVENT_VISIT, LANEPOOL_EVENT_VISITED,
        LANEPOOL_EVENT_RELEASE, LANEPOOL_EVENT_VISIT, LANEPOOL_EVENT_VISITED,
        LANEPOOL_EVENT_RELEASE, LANEPOOL_EVENT_READY, LANEPOOL_EVENT_START,
        LANEPOOL_EVENT_END,
    };
    lanepool_event events[EVENTS];
    lanepool_trace_reader *reader;
    struct cut cut;
    size_t count, place = 0;
    lanepool_pool *pool = traced_pool(1, &reader);

    cut_init(&cut, 2, LANEPOOL_SHARED);
    expect_status(cut_end(cut_submit(pool, &cut), NULL), LANEPOOL_OK);
    pool_settle(pool);
    expect_ok(lanepool_trace_read(reader, events, EVENTS, &count));
    for (size_t i = 0; i < count; i++) {
        const lanepool_event *event = &events[i];

        if (event->type == LANEPOOL_EVENT_SLEEP || event->type == LANEPOOL_EVENT_WAKE)
            continue;
        expect(place < sizeof wanted / sizeof *wanted);
        expect_eq(event->type, wanted[place++]);
        if (event->type == LANEPOOL_EVENT_ENTER)
            expect_eq(event->detail,
                      LANEPOOL_EVENT_SHARED | LANEPOOL_EVENT_GRANTED | LANEPOOL_EVENT_CUT);
        if (event->type == LANEPOOL_EVENT_RELEASE)
            expect_eq(event->detail, LANEPOOL_EVENT_EARLY);
        if (event->type == LANEPOOL_EVENT_VISIT || event->type == LANEPOOL_EVENT_VISITED) {
            expect_eq(event->object, place > 6);
            expect_eq(event->object_type, LANEPOOL_EVENT_LANE_ID);
            expect_eq(event->detail, LANEPOOL_OK);
            expect_eq(event->thread, 0);
        }
    }
    expect_eq(place, sizeof wanted / sizeof *wanted);
    lanepool_trace_close(reader);
    pool_end(pool);
}

static void submit_for_good_or_not(lanepool_pool *pool, struct cut *cut, unsigned number)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    cut_init(cut, 1 + number % 7, number % 2 == 0 ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE);
    cut->codes[number % 7] = number % 3 == 0;
    cut->code = number % 5 == 0;
    policy.retries = 2;
    lanepool_task task = cut_task(cut);
    task.at_lane = number % 4 == 0 ? cut_visit : cut_fail_once;
    task.on_failure = number % 8 < 5 ? &policy : NULL;
    expect_ok(lanepool_pool_submit(pool, &task));
}

Test(cut_events, events_of_many_cuts_agree)
{
    static struct cut cuts[CUTS];
    static struct step steps[CUTS];
    lanepool_trace_reader *reader;
    size_t cancelled;

    for (unsigned workers = 1; workers <= 4; workers++) {
        struct event_judge *judge = event_judge_create();
        lanepool_pool *pool = traced_pool(workers, &reader);

        for (unsigned i = 0; i < CUTS; i++) {
            steps[i] = (struct step){ .id = i };
            expect_ok(step_submit_on(pool, &steps[i], i % 5));
            submit_for_good_or_not(pool, &cuts[i], i);
            if (i == CUTS / 2)
                expect_ok(lanepool_pool_cancel(pool, &cancelled));
        }
        pool_settle(pool);
        expect(event_judge_read(judge, reader));
        expect_eq(lanepool_trace_missed(reader), 0);
        expect(event_judge_end(judge) == NULL);
        expect_eq(event_judge_tasks(judge), 2 * CUTS);
        event_judge_destroy(judge);
        lanepool_trace_close(reader);
        pool_end(pool);
    }
}

/* --- a replay --- */

static void tell(lanepool_replay *replay, uint16_t thread, uint64_t time_ns,
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

/* Task 1 runs in lane 1. Cut 2 waits there, is granted lane 2, and visits it on worker 1. */
static lanepool_replay *replay_of_visit(unsigned keep)
{
    lanepool_replay *replay;

    expect_ok(lanepool_replay_create(keep, &replay));
    tell(replay, 0, 10, LANEPOOL_EVENT_ROUTE, 1, 101, 0);
    tell(replay, 0, 10, LANEPOOL_EVENT_ENTER, 1, 1, LANEPOOL_EVENT_GRANTED);
    tell(replay, 0, 10, LANEPOOL_EVENT_READY, 1, 0, 0);
    tell(replay, 0, 20, LANEPOOL_EVENT_START, 1, 0, 0);
    tell(replay, 0, 30, LANEPOOL_EVENT_ROUTE, 2, 102, 0);
    tell(replay, 0, 30, LANEPOOL_EVENT_ENTER, 2, 1, LANEPOOL_EVENT_CUT);
    tell(replay, 0, 30, LANEPOOL_EVENT_ENTER, 2, 2, LANEPOOL_EVENT_CUT | LANEPOOL_EVENT_GRANTED);
    expect_eq(replay->latched, 0);
    expect_eq(replay->to_visit, 1);
    expect(replay->tasks[1].is_cut);
    tell(replay, 1, 35, LANEPOOL_EVENT_VISIT, 2, 2, 0);
    expect_eq(replay->to_visit, 0);
    expect_eq(replay->visits, 1);
    expect_eq(replay->workers[1].visit, 2);
    expect_eq(replay->entries[2].visit_ns, 35);
    expect_eq(replay->entries[2].visitor, 1);
    return replay;
}

Test(cut_events, a_replay_follows_the_visits_of_a_cut)
{
    lanepool_replay *replay = replay_of_visit(LANEPOOL_REPLAY_TASKS);

    tell(replay, 1, 38, LANEPOOL_EVENT_VISITED, 2, 2, 0);
    expect_eq(replay->entry, 2);
    expect_eq(replay->workers[1].visit, LANEPOOL_REPLAY_NONE);
    tell(replay, 1, 38, LANEPOOL_EVENT_RELEASE, 2, 2, LANEPOOL_EVENT_EARLY);
    expect_eq(replay->entries[2].visited_ns, 38);
    expect_eq(replay->entries[2].release_ns, 38);
    expect_eq(lanepool_replay_blocker(replay, 1), 0);
    tell(replay, 0, 50, LANEPOOL_EVENT_END, 1, 0, 0);
    tell(replay, 0, 50, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    tell(replay, 0, 50, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    expect_eq(replay->to_visit, 1);
    expect_eq(replay->latched, 0);
    expect_eq(lanepool_replay_blocker(replay, 1), LANEPOOL_REPLAY_NONE);
    tell(replay, 0, 51, LANEPOOL_EVENT_VISIT, 2, 1, 0);
    tell(replay, 0, 53, LANEPOOL_EVENT_VISITED, 2, 1, 0);
    expect_eq(replay->visits, 0);
    tell(replay, 0, 53, LANEPOOL_EVENT_RELEASE, 2, 1, LANEPOOL_EVENT_EARLY);
    tell(replay, 0, 54, LANEPOOL_EVENT_READY, 2, 0, 0);
    tell(replay, 1, 55, LANEPOOL_EVENT_START, 2, 0, 0);
    expect_eq(replay->workers[1].task, 1);
    expect_eq(replay->tasks[1].open, 0);
    tell(replay, 1, 60, LANEPOOL_EVENT_END, 2, 0, 0);
    expect_eq(replay->tasks[1].ran_ns, 5);
    lanepool_replay_destroy(replay);
}

Test(cut_events, a_replay_follows_a_cut_that_is_retried)
{
    lanepool_replay *replay = replay_of_visit(LANEPOOL_REPLAY_TASKS);

    tell(replay, 1, 38, LANEPOOL_EVENT_VISITED, 2, 2, LANEPOOL_FAILED);
    tell(replay, 0, 50, LANEPOOL_EVENT_RELEASE, 1, 1, 0);
    tell(replay, 0, 50, LANEPOOL_EVENT_ARRIVE, 2, 1, 0);
    tell(replay, 0, 51, LANEPOOL_EVENT_VISIT, 2, 1, 0);
    tell(replay, 0, 52, LANEPOOL_EVENT_VISITED, 2, 1, 0);
    tell(replay, 0, 52, LANEPOOL_EVENT_RELEASE, 2, 1, LANEPOOL_EVENT_EARLY);
    tell(replay, 0, 53, LANEPOOL_EVENT_READY, 2, 0, 0);
    tell(replay, 0, 54, LANEPOOL_EVENT_RETRY, 2, 0, LANEPOOL_FAILED);
    expect_eq(replay->tasks[1].open, 1);
    tell(replay, 0, 60, LANEPOOL_EVENT_READY, 2, 0, 0);
    tell(replay, 0, 61, LANEPOOL_EVENT_VISIT, 2, 2, 0);
    expect_eq(replay->tasks[1].state, LANEPOOL_REPLAY_WAITING);
    expect_eq(replay->tasks[1].failed.ready_ns, 60);
    expect_eq(replay->entries[2].visit_ns, 61);
    tell(replay, 0, 62, LANEPOOL_EVENT_VISITED, 2, 2, 0);
    tell(replay, 0, 62, LANEPOOL_EVENT_RELEASE, 2, 2, LANEPOOL_EVENT_EARLY);
    tell(replay, 0, 63, LANEPOOL_EVENT_READY, 2, 0, 0);
    expect_eq(replay->tasks[1].state, LANEPOOL_REPLAY_READY);
    expect_eq(replay->tasks[1].open, 0);
    lanepool_replay_destroy(replay);
}

Test(cut_events, a_replay_concludes_that_missed_visits_have_ended)
{
    lanepool_replay *replay = replay_of_visit(LANEPOOL_REPLAY_TASKS);

    tell(replay, 1, 40, LANEPOOL_EVENT_SLEEP, 0, 0, 0);
    expect_eq(replay->visits, 0);
    expect_eq(replay->workers[1].visit, LANEPOOL_REPLAY_NONE);
    expect_eq(replay->entries[2].visited_ns, 40);
    tell(replay, 0, 55, LANEPOOL_EVENT_START, 2, 0, 0);
    expect_eq(replay->tasks[1].open, 0);
    expect_eq(replay->to_visit, 0);
    tell(replay, 0, 56, LANEPOOL_EVENT_VISIT, 2, 1, 0);
    expect_eq(replay->visits, 0);
    lanepool_replay_clear(replay);
    tell(replay, 0, 60, LANEPOOL_EVENT_ENTER, 3, 1, LANEPOOL_EVENT_GRANTED);
    tell(replay, 0, 60, LANEPOOL_EVENT_ENTER, 3, 2, LANEPOOL_EVENT_GRANTED);
    expect_eq(replay->latched, 2);
    tell(replay, 0, 61, LANEPOOL_EVENT_VISITED, 3, 1, 0);
    expect_eq(replay->latched, 0);
    expect_eq(replay->to_visit, 1);
    expect_eq(replay->entries[0].visit_ns, LANEPOOL_REPLAY_UNSEEN);
    tell(replay, 0, 62, LANEPOOL_EVENT_CANCEL, 3, 0, 0);
    expect_eq(replay->to_visit, 0);
    lanepool_replay_destroy(replay);
}

/* --- times --- */

static lanepool_event event_at(lanepool_event_type type, uint64_t time_ns, uint64_t lane,
                               uint32_t detail)
{
    return (lanepool_event){ .time_ns = time_ns,
                             .task = 2,
                             .object = lane,
                             .detail = detail,
                             .type = (uint8_t)type,
                             .object_type = LANEPOOL_EVENT_LANE_ID };
}

Test(cut_events, times_of_a_visited_lane_are_those_of_its_visit)
{
    const lanepool_event events[] = {
        event_at(LANEPOOL_EVENT_ROUTE, 30, 102, 9),
        event_at(LANEPOOL_EVENT_ENTER, 30, 1, LANEPOOL_EVENT_CUT),
        event_at(LANEPOOL_EVENT_ENTER, 30, 2, LANEPOOL_EVENT_CUT | LANEPOOL_EVENT_GRANTED),
        event_at(LANEPOOL_EVENT_VISIT, 35, 2, 0),
        event_at(LANEPOOL_EVENT_VISITED, 38, 2, 0),
        event_at(LANEPOOL_EVENT_RELEASE, 38, 2, LANEPOOL_EVENT_EARLY),
        event_at(LANEPOOL_EVENT_ARRIVE, 50, 1, 0),
        event_at(LANEPOOL_EVENT_VISIT, 51, 1, 0),
        event_at(LANEPOOL_EVENT_VISITED, 55, 1, 0),
        event_at(LANEPOOL_EVENT_RELEASE, 55, 1, LANEPOOL_EVENT_EARLY),
        event_at(LANEPOOL_EVENT_READY, 56, 0, 0),
        event_at(LANEPOOL_EVENT_START, 57, 0, 0),
        event_at(LANEPOOL_EVENT_END, 60, 0, 0),
    };
    lanepool_times_row rows[ROWS_MAX];
    lanepool_times_workers workers;
    lanepool_times *times;

    expect_ok(lanepool_times_create(ROWS_MAX, &times));
    expect_ok(lanepool_times_add(times, events, sizeof events / sizeof *events));
    expect_eq(lanepool_times_rows(times, rows, ROWS_MAX), 3);
    expect_eq(rows[0].object_type, 0);
    expect_eq(rows[0].running.max_ns, 3);
    expect_eq(rows[0].ready.max_ns, 1);
    for (int i = 1; i < 3; i++) {
        bool is_first = rows[i].object == 1;
        expect_eq(rows[i].latched.count, 0);
        expect_eq(rows[i].waiting.max_ns, is_first ? 20 : 0);
        expect_eq(rows[i].ready.max_ns, is_first ? 1 : 5);
        expect_eq(rows[i].running.count, 1);
        expect_eq(rows[i].running.max_ns, is_first ? 4 : 3);
    }
    lanepool_times_of_workers(times, &workers);
    expect_eq(workers.running_ns, 3 + 4 + 3);
    lanepool_times_destroy(times);
}
