/* Tombstones: entries of cancelled tasks, which pass as soon as they are granted. */
#include "unit/lane_tasks.h"

/* Makes the tasks tombstones, as the router does: while the lane is frozen. */
static void cancel(struct lane_tasks *all, const char *names)
{
    expect(lanepool_i_lane_freeze(&all->lane));
    for (; *names != '\0'; names++) {
        plain_make_tombstone(block_of(all, *names), 0);
    }
    lanepool_i_lane_thaw(&all->lane, &all->grants);
}

Test(lane_tombstones, a_tombstone_passes_in_its_turn)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bcd", LANEPOOL_EXCLUSIVE);
    cancel(&all, "c");
    expect_ready(&all, "");
    release(&all);
    expect_ready(&all, "b");
    release(&all);
    expect_ready(&all, "cd"); /* without a release of its own */
    release(&all);
    expect_idle(&all);
}

Test(lane_tombstones, any_number_passes_by_one_release)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bcdef", LANEPOOL_EXCLUSIVE);
    cancel(&all, "bcde");
    release(&all);
    expect_ready(&all, "bcdef");
    release(&all);
    expect_idle(&all);
}

Test(lane_tombstones, the_lane_is_idle_behind_the_last_one)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bc", LANEPOOL_EXCLUSIVE);
    cancel(&all, "bc");
    release(&all);
    expect_ready(&all, "bc");
    expect_idle(&all);
    expect(append(&all, 'd', LANEPOOL_EXCLUSIVE));
}

Test(lane_tombstones, one_in_a_shared_run_does_not_end_the_run)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bcd", LANEPOOL_SHARED);
    append_waiting(&all, "e", LANEPOOL_EXCLUSIVE);
    cancel(&all, "c");
    release(&all);
    expect_ready(&all, "bcd");
    release(&all);
    expect_ready(&all, "");
    release(&all);
    expect_ready(&all, "e");
    release(&all);
    expect_idle(&all);
}

Test(lane_tombstones, a_run_of_nothing_else_passes)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bcd", LANEPOOL_SHARED);
    append_waiting(&all, "e", LANEPOOL_EXCLUSIVE);
    cancel(&all, "bcd");
    release(&all);
    expect_ready(&all, "bcde");
    release(&all);
    expect_idle(&all);
}

Test(lane_tombstones, the_thaw_passes_them_after_a_release)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bc", LANEPOOL_EXCLUSIVE);
    expect(lanepool_i_lane_freeze(&all.lane));
    plain_make_tombstone(block_of(&all, 'b'), 0);
    release(&all);
    expect_ready(&all, "");
    lanepool_i_lane_thaw(&all.lane, &all.grants);
    expect_ready(&all, "bc");
    release(&all);
    expect_idle(&all);
}

Test(lane_tombstones, one_among_joining_entries_passes)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_SHARED));
    append_waiting(&all, "b", LANEPOOL_EXCLUSIVE);
    append_waiting(&all, "cd", LANEPOOL_SHARED);
    expect(lanepool_i_lane_freeze(&all.lane));
    plain_make_tombstone(block_of(&all, 'c'), 0);
    lanepool_i_lane_take_out(&all.lane, entry_of(&all, 'b'));
    lanepool_i_lane_grant_overlapping(&all.lane, &all.grants);
    lanepool_i_lane_thaw(&all.lane, &all.grants);
    expect_ready(&all, "cd");
    release(&all);
    expect(!lanepool_i_lane_is_idle(&all.lane));
    release(&all);
    expect_idle(&all);
}

Test(lane_tombstones, a_wide_one_is_ready_for_disposal_when_all_its_entries_have_passed)
{
    struct lane_tasks lanes[2];
    struct wide_block wide;

    wide_init(&wide, 24, 2); /* 'x' */
    for (size_t i = 0; i < 2; i++) {
        lane_tasks_init(&lanes[i]);
        expect(append(&lanes[i], 'a', LANEPOOL_EXCLUSIVE));
        expect(!lanepool_i_lane_append(&lanes[i].lane, wide_link(&wide, i, LANEPOOL_EXCLUSIVE),
                                       &lanes[i].grants));
        append_waiting(&lanes[i], "b", LANEPOOL_EXCLUSIVE);
        wide_make_tombstone(&wide, i);
    }
    expect(!lanepool_i_countdown_arrive(&wide.task, 1));
    release(&lanes[0]);
    expect_ready(&lanes[0], "b");
    release(&lanes[1]);
    expect_ready(&lanes[1], "xb");
    for (size_t i = 0; i < 2; i++) {
        release(&lanes[i]);
        expect_idle(&lanes[i]); /* no entry counts as latched */
    }
}
