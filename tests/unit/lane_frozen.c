/* Frozen lanes: entries wait until the thaw, may leave the list, and may join the granted ones. */
#include "unit/lane_tasks.h"

/* Grants 'a', and appends the others behind it: capital letters EXCLUSIVE, small ones SHARED. */
static void lane_init(struct lane_tasks *all, lanepool_mode first, const char *waiting)
{
    lane_tasks_init(all);
    expect(append(all, 'a', first));
    for (; *waiting != '\0'; waiting++) {
        bool exclusive = *waiting < 'a';

        expect(!append(all, exclusive ? (char)(*waiting - 'A' + 'a') : *waiting,
                       exclusive ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED));
    }
}

static void thaw(struct lane_tasks *all)
{
    lanepool_i_lane_thaw(&all->lane, &all->grants);
    expect(!lanepool_i_lane_is_frozen(&all->lane));
}

static void take_out(struct lane_tasks *all, char name)
{
    lanepool_i_lane_take_out(&all->lane, entry_of(all, name));
}

/* Returns the names of the entries that wait in a frozen lane, in order. */
static const char *waiting_names(struct lane_tasks *all)
{
    static char names[LANE_TASKS + 1];
    size_t count = 0;
    uintptr_t link = load_relaxed(lanepool_i_lane_head(&all->lane));

    for (; link != 0 && count < LANE_TASKS; count++) {
        names[count] = (char)('a' + lanepool_i_task_ticket(lanepool_i_link_task(link)) - 1);
        link = load_relaxed(&lanepool_i_link_entry(link)->next);
    }
    names[count] = '\0';
    return names;
}

/* Checks that so many releases make the lane idle, and which tasks they make ready. */
static void expect_rest(struct lane_tasks *all, size_t releases, const char *names)
{
    for (; releases > 0; releases--) {
        expect(!lanepool_i_lane_is_idle(&all->lane));
        release(all);
    }
    expect(lanepool_i_lane_is_idle(&all->lane));
    expect_ready(all, names);
}

Test(lane_frozen, there_is_nothing_to_freeze_if_no_entry_waits)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(!lanepool_i_lane_freeze(&all.lane));
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    expect(!lanepool_i_lane_freeze(&all.lane));
    expect(!lanepool_i_lane_is_frozen(&all.lane));
    release(&all);
    expect_idle(&all);
}

Test(lane_frozen, waiting_entries_are_seen_in_order)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_EXCLUSIVE, "BcdE");
    expect(lanepool_i_lane_freeze(&all.lane));
    expect(lanepool_i_lane_is_frozen(&all.lane));
    expect(strcmp(waiting_names(&all), "bcde") == 0);
    thaw(&all);
    expect_ready(&all, "");
    expect_rest(&all, 5, "bcde");
}

Test(lane_frozen, a_release_grants_nothing_before_the_thaw)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_EXCLUSIVE, "bcD");
    expect(lanepool_i_lane_freeze(&all.lane));
    release(&all);
    expect_ready(&all, "");
    expect(strcmp(waiting_names(&all), "bcd") == 0);
    thaw(&all);
    expect_ready(&all, "bc");
    expect_rest(&all, 3, "d");
}

Test(lane_frozen, an_advance_that_was_due_is_made_once)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_EXCLUSIVE, "BC");
    expect(lanepool_i_lane_freeze(&all.lane));
    release(&all);
    thaw(&all);
    expect_ready(&all, "b");
    append_waiting(&all, "d", LANEPOOL_EXCLUSIVE);
    expect_ready(&all, "");
    expect_rest(&all, 3, "cd");
}

Test(lane_frozen, the_thaw_grants_only_after_the_last_release)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_SHARED));
    expect(append(&all, 'b', LANEPOOL_SHARED));
    append_waiting(&all, "c", LANEPOOL_EXCLUSIVE);
    expect(lanepool_i_lane_freeze(&all.lane));
    release(&all);
    thaw(&all);
    expect_ready(&all, "");
    expect(lanepool_i_lane_freeze(&all.lane));
    release(&all);
    thaw(&all);
    expect_ready(&all, "c");
    expect_rest(&all, 1, "");
}

Test(lane_frozen, any_entry_may_leave_the_list)
{
    static const struct {
        const char *leave;
        const char *stay;
    } cases[] = { { "b", "cd" }, { "c", "bd" }, { "d", "bc" }, { "bc", "d" }, { "dc", "b" } };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lane_tasks all;

        lane_init(&all, LANEPOOL_EXCLUSIVE, "BCD");
        expect(lanepool_i_lane_freeze(&all.lane));
        for (const char *name = cases[i].leave; *name != '\0'; name++) {
            take_out(&all, *name);
        }
        expect(strcmp(waiting_names(&all), cases[i].stay) == 0);
        thaw(&all);
        append_waiting(&all, "e", LANEPOOL_EXCLUSIVE); /* behind the entry that is last now */
        for (const char *name = cases[i].stay; *name != '\0'; name++) {
            release(&all);
            expect_ready(&all, ((char[]){ *name, '\0' }));
        }
        release(&all);
        expect_ready(&all, "e");
        expect_rest(&all, 1, "");
    }
}

Test(lane_frozen, no_entry_waits_after_all_have_left)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_SHARED, "Bc");
    expect(lanepool_i_lane_freeze(&all.lane));
    take_out(&all, 'b');
    take_out(&all, 'c');
    thaw(&all);
    expect(append(&all, 'd', LANEPOOL_SHARED)); /* only 'a' is before it */
    append_waiting(&all, "e", LANEPOOL_EXCLUSIVE);
    expect_rest(&all, 3, "e");
}

Test(lane_frozen, shared_entries_at_the_head_join_granted_ones)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_SHARED, "BcdEf");
    expect(lanepool_i_lane_freeze(&all.lane));
    take_out(&all, 'b');
    lanepool_i_lane_grant_overlapping(&all.lane, &all.grants);
    expect_ready(&all, "cd");
    expect(strcmp(waiting_names(&all), "ef") == 0);
    thaw(&all);
    expect_ready(&all, "");
    expect_rest(&all, 5, "ef");
}

/* Takes an entry out of the frozen lane. Lets SHARED entries behind it join, and thaws the lane. */
static void join_without(struct lane_tasks *all, char name)
{
    expect(lanepool_i_lane_freeze(&all->lane));
    take_out(all, name);
    lanepool_i_lane_grant_overlapping(&all->lane, &all->grants);
    thaw(all);
}

Test(lane_frozen, all_waiting_entries_may_join)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_SHARED, "Bcd");
    join_without(&all, 'b');
    expect_ready(&all, "cd");
    expect(append(&all, 'e', LANEPOOL_SHARED));
    expect_rest(&all, 4, "");
}

Test(lane_frozen, an_exclusive_entry_does_not_join)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_SHARED, "BCd");
    join_without(&all, 'b');
    expect_ready(&all, "");
    expect_rest(&all, 3, "cd");
}

Test(lane_frozen, no_entry_joins_a_granted_exclusive_one)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_EXCLUSIVE, "Bc");
    join_without(&all, 'b');
    expect_ready(&all, "");
    expect_rest(&all, 2, "c");
}

Test(lane_frozen, the_thaw_grants_what_cannot_join_any_more)
{
    struct lane_tasks all;

    lane_init(&all, LANEPOOL_SHARED, "Bcd");
    expect(lanepool_i_lane_freeze(&all.lane));
    take_out(&all, 'b');
    release(&all);
    lanepool_i_lane_grant_overlapping(&all.lane, &all.grants);
    expect_ready(&all, "");
    thaw(&all);
    expect_ready(&all, "cd");
    expect_rest(&all, 2, "");
}
