/* Threads that observe a working pool: readers of events, and takers of snapshots. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"
#include "support/event_judge.h"

enum { RING = 4, ASKED_MAX = 3 };

/* --- scenario 39 --- */

static _Atomic uint32_t named;
static struct scene_task *from_inside;

/* Called by the role's holder: submits, takes its time, and may not take a snapshot. */
static size_t name_that_submits(void *user, lanepool_key key, char *text, size_t size)
{
    lanepool_snapshot *snapshot;

    (void)user;
    EXPECT(size > 0);
    if (atomic_fetch_add(&named, 1) == 0) {
        EXPECT_STATUS(OK, scene_submit(from_inside));
        EXPECT_STATUS(DEADLOCK, lanepool_snapshot_take(scene.pool, &snapshot));
    }
    text[0] = (char)('A' + key.id);
    return 1;
}

/* Each event is either read or counted as missed. The events of one task are read in the order of
 * its steps. */
static void read_slowly(void *argument)
{
    static const uint8_t steps[] = { LANEPOOL_EVENT_ROUTE, LANEPOOL_EVENT_READY,
                                     LANEPOOL_EVENT_START, LANEPOOL_EVENT_END };
    lanepool_trace_reader *reader = argument;
    uint8_t last[SCENE_TASKS_MAX] = { 0 };
    lanepool_event event;
    size_t count;

    do {
        EXPECT_STATUS(OK, lanepool_trace_read(reader, &event, 1, &count));
        for (size_t i = 0; count > 0 && i < sizeof steps; i++) {
            uint64_t task = event.task % SCENE_TASKS_MAX;
            if (event.type != steps[i])
                continue;
            EXPECT(event.type > last[task]);
            last[task] = event.type;
        }
    } while (count > 0);
}

SCENARIO(scenario_39_names_that_submit_and_rings_that_overflow, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_trace_reader *reader;

    atomic_store(&named, 0);
    options.workers = 2;
    options.trace_events = RING;
    options.key_name = name_that_submits;
    scene_open(&options);
    EXPECT_STATUS(OK, lanepool_trace_open(scene.pool, &reader));
    from_inside = scene_task("C");
    scene_task("A")->takes = 3;
    scene_task("AB")->takes = 2;
    scene_task("B");
    scene_spawn(read_slowly, reader);
    for (int i = 1; i <= ASKED_MAX; i++)
        EXPECT_STATUS(OK, scene_submit(&scene.tasks[i]));
    EXPECT_STATUS(OK, lanepool_pool_quiesce(scene.pool, LANEPOOL_FOREVER));
    scene_join();
    read_slowly(reader);
    lanepool_trace_close(reader);
    scene_close();
}

/* --- scenario 45 --- */

static struct scene_task *behind;

static void look(void *argument)
{
    lanepool_snapshot *snapshot;
    lanepool_snapshot_reason reasons[4];
    size_t count;

    (void)argument;
    EXPECT_STATUS(OK, lanepool_snapshot_take(scene.pool, &snapshot));
    for (size_t i = 0; i < snapshot->task_count; i++) {
        EXPECT_STATUS(OK, lanepool_snapshot_explain(snapshot, i, reasons, 4, &count));
        bool held_up = snapshot->tasks[i].state == LANEPOOL_SNAPSHOT_WAITING;
        EXPECT(held_up == (count > 0));
        EXPECT(!held_up || snapshot->tasks[i].context == behind);
    }
    lanepool_snapshot_release(snapshot);
}

/* The first task's block may be read just when it is given back and used again. */
SCENARIO(scenario_45_a_look_at_a_task_that_ends, EXHAUSTIVE)
{
    scene_open_with(1);
    scene_task("A");
    behind = scene_task("A");
    scene_task("B");
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[0]));
    EXPECT_STATUS(OK, scene_submit(behind));
    scene_spawn(look, NULL);
    EXPECT_STATUS(OK, scene_submit(&scene.tasks[2]));
    scene_close();
}

/* --- two snapshots --- */

static struct scene_task *first_of_two;

/* Checks that each task in a snapshot is as it was submitted. */
static void look_twice(void *argument)
{
    lanepool_snapshot *snapshot;

    (void)argument;
    for (int i = 0; i < 2; i++) {
        EXPECT_STATUS(OK, lanepool_snapshot_take(scene.pool, &snapshot));
        for (size_t task = 0; task < snapshot->task_count; task++) {
            const struct scene_task *of = snapshot->tasks[task].context;
            EXPECT(of == first_of_two || of == first_of_two + 1);
            EXPECT(snapshot->tasks[task].entry_count == 1);
        }
        lanepool_snapshot_release(snapshot);
    }
}

/* A worker that finished a task during the first census gave back blocks that were retained for the
 * second. */
SCENARIO(regress_what_is_kept_for_the_next_look_stays, RANDOM)
{
    scene_open_with(2);
    first_of_two = scene_task("A");
    scene_task("B");
    EXPECT_STATUS(OK, scene_submit(first_of_two));
    EXPECT_STATUS(OK, scene_submit(first_of_two + 1));
    scene_spawn(look_twice, NULL);
    scene_close();
}

/* --- memory of replays and times --- */

enum { RECORDED = 40, RECORDERS = 3 };

/* Both refuse an event for the same reason only: there is no memory. */
static bool tell(lanepool_replay *replay, lanepool_times *times, uint8_t type, uint64_t task,
                 uint32_t detail)
{
    lanepool_event event = { .time_ns = task,
                             .task = task,
                             .object = type == LANEPOOL_EVENT_ROUTE ? RECORDED + task : task,
                             .detail = detail,
                             .thread = (uint16_t)(task % RECORDERS),
                             .type = type,
                             .object_type = LANEPOOL_EVENT_LANE_ID };
    lanepool_status told = lanepool_replay_feed(replay, &event);

    if (told == LANEPOOL_OK)
        told = lanepool_times_add(times, &event, 1);
    EXPECT(told == LANEPOOL_OK || told == LANEPOOL_NOMEM);
    return told == LANEPOOL_OK;
}

static void tell_until_refused(lanepool_replay *replay, lanepool_times *times)
{
    bool goes_on = true;

    for (uint64_t task = 1; goes_on && task <= RECORDED; task++)
        goes_on = tell(replay, times, LANEPOOL_EVENT_ROUTE, task, 0) &&
                  tell(replay, times, LANEPOOL_EVENT_ENTER, task, LANEPOOL_EVENT_GRANTED) &&
                  tell(replay, times, LANEPOOL_EVENT_READY, task, 0) &&
                  tell(replay, times, LANEPOOL_EVENT_START, task, 0) &&
                  (task % 2 == 0 || tell(replay, times, LANEPOOL_EVENT_END, task, 0));
}

/* Whether memory is refused or not, all of it is given back. */
SCENARIO(scenario_30_each_failure_of_replays_and_times, FAULTS)
{
    lanepool_replay *replay;
    lanepool_times *times;

    lanepool_status made =
        lanepool_replay_create(LANEPOOL_REPLAY_TASKS | LANEPOOL_REPLAY_LANES, &replay);
    EXPECT(made == (replay != NULL ? LANEPOOL_OK : LANEPOOL_NOMEM));
    made = lanepool_times_create(RECORDED, &times);
    EXPECT(made == (times != NULL ? LANEPOOL_OK : LANEPOOL_NOMEM));
    if (replay != NULL && times != NULL)
        tell_until_refused(replay, times);
    lanepool_times_destroy(times);
    lanepool_replay_destroy(replay);
}
