/* A lane: which entries are granted at once, and which by the release of others. */
#include "support/random.h"
#include "unit/lane_tasks.h"

Test(lane, an_idle_lane_grants_at_once)
{
    static const lanepool_mode modes[] = { LANEPOOL_EXCLUSIVE, LANEPOOL_SHARED };
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect_idle(&all);
    for (size_t i = 0; i < 4; i++) { /* after either mode */
        expect(append(&all, 'a', modes[i / 2]));
        expect(!lanepool_i_lane_is_idle(&all.lane));
        release(&all);
        expect(append(&all, 'b', modes[i % 2]));
        release(&all);
        expect_idle(&all);
    }
}

Test(lane, exclusive_entries_are_granted_one_by_one_in_order)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bcde", LANEPOOL_EXCLUSIVE);
    expect_ready(&all, "");
    for (const char *next = "bcde"; *next != '\0'; next++) {
        release(&all);
        expect_ready(&all, ((char[]){ *next, '\0' }));
        expect(!lanepool_i_lane_is_idle(&all.lane));
    }
    release(&all);
    expect_idle(&all);
}

Test(lane, shared_entries_overlap)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    for (char name = 'a'; name <= 'd'; name++) {
        expect(append(&all, name, LANEPOOL_SHARED));
    }
    for (int i = 0; i < 4; i++) {
        expect(!lanepool_i_lane_is_idle(&all.lane));
        release(&all);
    }
    expect_idle(&all);
}

Test(lane, a_shared_entry_waits_for_an_exclusive_one)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "b", LANEPOOL_SHARED);
    release(&all);
    expect_ready(&all, "b");
    expect(append(&all, 'c', LANEPOOL_SHARED)); /* joins it */
    release(&all);
    release(&all);
    expect_idle(&all);
}

Test(lane, an_exclusive_entry_waits_for_all_shared_ones)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_SHARED));
    expect(append(&all, 'b', LANEPOOL_SHARED));
    append_waiting(&all, "c", LANEPOOL_EXCLUSIVE);
    release(&all);
    expect_ready(&all, "");
    release(&all);
    expect_ready(&all, "c");
    release(&all);
    expect_idle(&all);
}

Test(lane, a_shared_entry_does_not_overtake_a_waiting_exclusive_one)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_SHARED));
    append_waiting(&all, "b", LANEPOOL_EXCLUSIVE);
    append_waiting(&all, "c", LANEPOOL_SHARED);
    release(&all);
    expect_ready(&all, "b");
    release(&all);
    expect_ready(&all, "c");
    release(&all);
    expect_idle(&all);
}

Test(lane, a_run_of_shared_entries_is_granted_together)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bcd", LANEPOOL_SHARED);
    append_waiting(&all, "e", LANEPOOL_EXCLUSIVE);
    append_waiting(&all, "fg", LANEPOOL_SHARED);
    release(&all);
    expect_ready(&all, "bcd");
    release(&all);
    release(&all);
    expect_ready(&all, "");
    release(&all);
    expect_ready(&all, "e");
    release(&all);
    expect_ready(&all, "fg");
    release(&all);
    release(&all);
    expect_idle(&all);
}

Test(lane, ready_tasks_are_added_behind_those_of_other_lanes)
{
    struct lane_tasks all;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "b", LANEPOOL_EXCLUSIVE);
    lanepool_i_grants_add(&all.grants, &block_of(&all, 'z')->task);
    release(&all);
    expect_ready(&all, "zb");
}

/* --- against a plain list --- */

struct listed {
    char name;
    lanepool_mode mode;
};

/* All entries of the lane, oldest first; the first `granted` are granted. */
struct listed_lane {
    struct listed entries[LANE_TASKS];
    size_t count;
    size_t granted;
};

/* Grants what can be granted now, and writes the names. */
static void grant_listed(struct listed_lane *list, char *names)
{
    while (list->granted < list->count &&
           (list->granted == 0 || (list->entries[0].mode == LANEPOOL_SHARED &&
                                   list->entries[list->granted].mode == LANEPOOL_SHARED))) {
        *names++ = list->entries[list->granted++].name;
    }
    *names = '\0';
}

static char find_free_name(const struct listed_lane *list)
{
    char name = 'a';

    for (size_t i = 0; i < list->count; i++) {
        if (list->entries[i].name == name) {
            name++;
            i = (size_t)-1; /* start over */
        }
    }
    return name;
}

static void append_both(struct lane_tasks *all, struct listed_lane *list, lanepool_mode mode)
{
    char name = find_free_name(list);
    char granted[LANE_TASKS + 1];

    plain_init(block_of(all, name), (uint64_t)(name - 'a') + 1, 1);
    list->entries[list->count++] = (struct listed){ name, mode };
    grant_listed(list, granted);
    expect_eq(append(all, name, mode), granted[0] == name);
    expect_ready(all, "");
}

static void release_both(struct lane_tasks *all, struct listed_lane *list)
{
    char granted[LANE_TASKS + 1];

    list->count--;
    list->granted--;
    memmove(&list->entries[0], &list->entries[1], list->count * sizeof list->entries[0]);
    grant_listed(list, granted);
    release(all);
    expect_ready(all, granted);
}

Test(lane, appends_and_releases_agree_with_a_plain_list)
{
    enum { STEPS = 20000, PENDING_MAX = 12 };
    struct lane_tasks all;
    struct listed_lane list = { .count = 0 };
    uint64_t random = 1;

    lane_tasks_init(&all);
    for (int step = 0; step < STEPS; step++) {
        bool appends =
            list.count == 0 || (list.count < PENDING_MAX && random_below(&random, 2) == 0);

        if (appends) {
            append_both(&all, &list,
                        random_below(&random, 3) == 0 ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED);
        } else {
            release_both(&all, &list);
        }
        expect_eq(lanepool_i_lane_is_idle(&all.lane), list.count == 0);
    }
}
