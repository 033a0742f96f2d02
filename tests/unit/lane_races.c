/*
 * Appends and releases that have read the lane word before another thread changed it, step by step:
 * the test reads the word, makes the other thread's step, and then continues with the old word.
 */
#include "unit/lane_tasks.h"

static uint64_t read_word(const struct lane_tasks *all)
{
    return load_acquire(&all->lane.word);
}

static bool append_with(struct lane_tasks *all, uint64_t word, char name, lanepool_mode mode)
{
    uintptr_t link = plain_link(block_of(all, name), 0, mode);

    store_relaxed(&entry_of(all, name)->next, 0);
    return lanepool_i_lane_append_slowly(&all->lane, link, word, &all->grants);
}

static void release_with(struct lane_tasks *all, uint64_t word)
{
    lanepool_i_lane_release_slowly(&all->lane, word, &all->grants);
}

/* 'a' is granted and 'b' waits behind it. */
static void lane_init(struct lane_tasks *all, lanepool_mode a, lanepool_mode b)
{
    lane_tasks_init(all);
    expect(append(all, 'a', a));
    expect(!append(all, 'b', b));
}

Test(lane_races, an_append_is_granted_if_the_waiting_entry_has_left)
{
    struct lane_tasks all;
    uint64_t word;

    lane_init(&all, LANEPOOL_EXCLUSIVE, LANEPOOL_EXCLUSIVE);
    word = read_word(&all);
    release(&all);
    release(&all);
    expect_ready(&all, "b");
    expect(append_with(&all, word, 'c', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "d", LANEPOOL_EXCLUSIVE);
    release(&all);
    expect_ready(&all, "d");
    release(&all);
    expect_idle(&all);
}

Test(lane_races, an_append_waits_if_the_waiting_entry_was_granted)
{
    struct lane_tasks all;
    uint64_t word;

    lane_init(&all, LANEPOOL_EXCLUSIVE, LANEPOOL_EXCLUSIVE);
    word = read_word(&all);
    release(&all);
    expect_ready(&all, "b");
    expect(!append_with(&all, word, 'c', LANEPOOL_EXCLUSIVE));
    release(&all);
    expect_ready(&all, "c");
    release(&all);
    expect_idle(&all);
}

Test(lane_races, a_shared_append_joins_if_the_waiting_entry_was_granted)
{
    struct lane_tasks all;
    uint64_t word;

    lane_init(&all, LANEPOOL_EXCLUSIVE, LANEPOOL_SHARED);
    word = read_word(&all);
    release(&all);
    expect_ready(&all, "b");
    expect(append_with(&all, word, 'c', LANEPOOL_SHARED));
    release(&all);
    expect(!lanepool_i_lane_is_idle(&all.lane));
    release(&all);
    expect_idle(&all);
}

Test(lane_races, an_append_is_granted_if_the_last_task_has_left)
{
    static const lanepool_mode modes[] = { LANEPOOL_EXCLUSIVE, LANEPOOL_SHARED };

    for (size_t i = 0; i < 4; i++) {
        struct lane_tasks all;
        uint64_t word;

        lane_tasks_init(&all);
        expect(append(&all, 'a', modes[i / 2]));
        word = read_word(&all);
        release(&all);
        expect(append_with(&all, word, 'b', modes[i % 2]));
        expect(!lanepool_i_lane_is_idle(&all.lane));
        release(&all);
        expect_idle(&all);
    }
}

Test(lane_races, a_release_grants_an_entry_appended_since)
{
    struct lane_tasks all;
    uint64_t word;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    word = read_word(&all);
    append_waiting(&all, "b", LANEPOOL_EXCLUSIVE);
    release_with(&all, word);
    expect_ready(&all, "b");
    release(&all);
    expect_idle(&all);
}

Test(lane_races, a_release_grants_a_run_that_has_grown_since)
{
    struct lane_tasks all;
    uint64_t word;

    lane_init(&all, LANEPOOL_EXCLUSIVE, LANEPOOL_SHARED);
    word = read_word(&all);
    append_waiting(&all, "c", LANEPOOL_SHARED);
    append_waiting(&all, "d", LANEPOOL_EXCLUSIVE);
    release_with(&all, word);
    expect_ready(&all, "bc");
    release(&all);
    release(&all);
    expect_ready(&all, "d");
    release(&all);
    expect_idle(&all);
}

Test(lane_races, a_release_that_has_become_the_last_one_grants)
{
    struct lane_tasks all;
    uint64_t word;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_SHARED));
    expect(append(&all, 'b', LANEPOOL_SHARED));
    append_waiting(&all, "c", LANEPOOL_EXCLUSIVE);
    word = read_word(&all);
    release(&all);
    release_with(&all, word);
    expect_ready(&all, "c");
    release(&all);
    expect_idle(&all);
}

/* The release has found the lane even. It must neither advance nor harm the list. */
Test(lane_races, a_release_leaves_a_lane_frozen_since_to_the_thaw)
{
    struct lane_tasks all;
    uint64_t word;

    lane_init(&all, LANEPOOL_EXCLUSIVE, LANEPOOL_EXCLUSIVE);
    append_waiting(&all, "cd", LANEPOOL_EXCLUSIVE);
    word = read_word(&all);
    expect(lanepool_i_lane_freeze(&all.lane));
    release_with(&all, word);
    expect_ready(&all, "");
    lanepool_i_lane_thaw(&all.lane, &all.grants);
    for (const char *next = "bcd"; *next != '\0'; next++) {
        expect_ready(&all, ((char[]){ *next, '\0' }));
        release(&all);
    }
    expect_idle(&all);
}

Test(lane_races, a_release_grants_nothing_past_a_gate_closed_since)
{
    struct lane_tasks all;
    struct {
        _Alignas(64) lanepool_i_gate gate;
    } gate;
    uint64_t word;

    lane_init(&all, LANEPOOL_EXCLUSIVE, LANEPOOL_EXCLUSIVE);
    word = read_word(&all);
    lanepool_i_lane_close_gate(&all.lane, &gate.gate, 3, &all.grants);
    release_with(&all, word);
    expect_ready(&all, "");
    lanepool_i_lane_open_gate(&gate.gate, &all.grants);
    expect_ready(&all, "b");
    release(&all);
    expect_idle(&all);
}
