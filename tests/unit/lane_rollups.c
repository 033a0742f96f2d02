/* Rollups: tasks with entries in several lanes, which are ready when all lanes are granted. */
#include "unit/lane_tasks.h"

enum { LANES = WIDE_ENTRIES_MAX };

struct fixture {
    struct lane_tasks lanes[LANES]; /* each with tasks of its own, and its own grants */
    struct plain_block plain;       /* two claims: lanes 0 and 1 */
    struct wide_block wide;         /* a claim on each lane */
};

static void fixture_init(struct fixture *all)
{
    for (size_t i = 0; i < LANES; i++) {
        lane_tasks_init(&all->lanes[i]);
    }
    plain_init(&all->plain, 24, 2);   /* 'x' */
    wide_init(&all->wide, 23, LANES); /* 'w' */
}

/* Lets a task run in lane `i`. */
static void occupy(struct fixture *all, size_t i)
{
    expect(append(&all->lanes[i], 'a', LANEPOOL_EXCLUSIVE));
}

static bool append_wide(struct fixture *all, size_t i, lanepool_mode mode)
{
    return lanepool_i_lane_append(&all->lanes[i].lane, wide_link(&all->wide, i, mode),
                                  &all->lanes[i].grants);
}

static bool append_plain(struct fixture *all, size_t i)
{
    return lanepool_i_lane_append(
        &all->lanes[i].lane, plain_link(&all->plain, i, LANEPOOL_EXCLUSIVE), &all->lanes[i].grants);
}

/* Each thread counts a difference; the sum is the number of latches. */
static int64_t count_latched(const struct fixture *all)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < LANES; i++) {
        sum += all->lanes[i].grants.latched;
    }
    return (int64_t)sum;
}

Test(lane_rollups, a_wide_task_is_ready_when_its_last_lane_is_granted)
{
    struct fixture all;

    fixture_init(&all);
    for (size_t i = 0; i < LANES; i++) {
        occupy(&all, i);
        expect(!append_wide(&all, i, LANEPOOL_EXCLUSIVE));
    }
    expect(!lanepool_i_countdown_arrive(&all.wide.task, 1)); /* the router's own */
    for (size_t i = 0; i + 1 < LANES; i++) {
        release(&all.lanes[i]);
        expect_ready(&all.lanes[i], "");
        expect_eq(count_latched(&all), i + 1);
    }
    release(&all.lanes[LANES - 1]);
    expect_ready(&all.lanes[LANES - 1], "w");
    expect_eq(count_latched(&all), 0);
}

Test(lane_rollups, a_plain_task_is_ready_when_both_lanes_are_granted)
{
    struct fixture all;

    fixture_init(&all);
    for (size_t i = 0; i < 2; i++) {
        occupy(&all, i);
        expect(!append_plain(&all, i));
    }
    expect(!lanepool_i_countdown_arrive(&all.plain.task, 1));
    release(&all.lanes[1]);
    expect_ready(&all.lanes[1], "");
    expect_eq(count_latched(&all), 1);
    release(&all.lanes[0]);
    expect_ready(&all.lanes[0], "x");
    expect_eq(count_latched(&all), 0);
}

Test(lane_rollups, the_router_arrives_last_if_lanes_were_granted_before)
{
    struct fixture all;

    fixture_init(&all);
    occupy(&all, 0);
    expect(!append_plain(&all, 0));
    release(&all.lanes[0]); /* granted before the router has appended both */
    expect_ready(&all.lanes[0], "");
    expect(append_plain(&all, 1));
    expect(lanepool_i_countdown_arrive(&all.plain.task, 2)); /* lane 1 and the router's own */
}

Test(lane_rollups, a_latch_blocks_its_lane_until_the_task_has_run)
{
    struct fixture all;

    fixture_init(&all);
    occupy(&all, 1);
    expect(append_plain(&all, 0));
    expect(!append_plain(&all, 1));
    expect(!lanepool_i_countdown_arrive(&all.plain.task, 2));
    append_waiting(&all.lanes[0], "b", LANEPOOL_EXCLUSIVE);
    all.lanes[1].grants.latched++; /* lane 0, as the router counts it */
    release(&all.lanes[1]);
    expect_ready(&all.lanes[1], "x");
    expect_eq(count_latched(&all), 0);
    expect_ready(&all.lanes[0], "");
    release(&all.lanes[0]);
    expect_ready(&all.lanes[0], "b");
}

Test(lane_rollups, wide_and_plain_entries_share_a_run)
{
    struct fixture all;

    fixture_init(&all);
    for (size_t i = 0; i < LANES; i++) {
        occupy(&all, i);
        append_waiting(&all.lanes[i], "b", LANEPOOL_SHARED);
        expect(!append_wide(&all, i, LANEPOOL_SHARED));
        append_waiting(&all.lanes[i], "c", LANEPOOL_SHARED);
    }
    expect(!lanepool_i_countdown_arrive(&all.wide.task, 1));
    release(&all.lanes[0]);
    expect_ready(&all.lanes[0], "bc");
    release(&all.lanes[1]);
    expect_ready(&all.lanes[1], "bc");
    release(&all.lanes[2]);
    expect_ready(&all.lanes[2], "bwc");
    for (size_t i = 0; i < LANES; i++) {
        for (int times = 0; times < 3; times++) {
            expect(!lanepool_i_lane_is_idle(&all.lanes[i].lane));
            release(&all.lanes[i]);
        }
        expect(lanepool_i_lane_is_idle(&all.lanes[i].lane));
    }
}
