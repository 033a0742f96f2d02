/* A task's countdown: which arrival makes the task ready, and what stays unchanged. */
#include "support/test.h"
#include "unit/blocks.h"

enum { TICKET = 77 };

/* A plain and a wide task with the same count. */
struct fixture {
    struct plain_block plain;
    struct wide_block wide;
    lanepool_i_task *both[2];
};

static void fixture_init(struct fixture *pair, uint32_t count)
{
    plain_init(&pair->plain, TICKET, 2);
    wide_init(&pair->wide, TICKET, WIDE_ENTRIES_MAX);
    pair->both[0] = &pair->plain.task;
    pair->both[1] = &pair->wide.task;
    for (int i = 0; i < 2; i++) {
        lanepool_i_countdown_set(pair->both[i], count);
    }
}

static void expect_unharmed(const struct fixture *pair)
{
    for (int i = 0; i < 2; i++) {
        expect_eq(lanepool_i_task_ticket(pair->both[i]), TICKET);
        expect_eq(lanepool_i_task_is_wide(pair->both[i]), i == 1);
    }
    expect_eq(lanepool_i_task_count(pair->both[0]), 2);
    expect_eq(lanepool_i_task_count(pair->both[1]), WIDE_ENTRIES_MAX);
}

Test(countdown, starts_with_one_more_than_the_claims_unless_there_is_only_one)
{
    expect_eq(lanepool_i_countdown_start(0), 1);
    expect_eq(lanepool_i_countdown_start(1), 1);
    expect_eq(lanepool_i_countdown_start(2), 3);
}

Test(countdown, the_last_arrival_makes_the_task_ready)
{
    for (uint32_t count = 1; count <= 7; count++) { /* as many as a plain task can count */
        struct fixture pair;

        fixture_init(&pair, count);
        for (int i = 0; i < 2; i++) {
            for (uint32_t arrived = 1; arrived <= count; arrived++) {
                expect_eq(lanepool_i_countdown_arrive(pair.both[i], 1), arrived == count);
            }
        }
        expect_unharmed(&pair);
    }
}

Test(countdown, several_arrivals_count_at_once)
{
    struct fixture pair;

    fixture_init(&pair, 6);
    for (int i = 0; i < 2; i++) {
        expect(!lanepool_i_countdown_arrive(pair.both[i], 3));
        expect(!lanepool_i_countdown_arrive(pair.both[i], 1));
        expect(lanepool_i_countdown_arrive(pair.both[i], 2));
    }
    expect_unharmed(&pair);
}

Test(countdown, a_task_that_is_held_waits_for_one_thing_more)
{
    struct fixture pair;

    fixture_init(&pair, 2);
    for (int i = 0; i < 2; i++) {
        expect(!lanepool_i_countdown_arrive(pair.both[i], 1));
        lanepool_i_countdown_hold(pair.both[i]);
        expect(!lanepool_i_countdown_arrive(pair.both[i], 1));
        expect(lanepool_i_countdown_arrive(pair.both[i], 1));
    }
    expect_unharmed(&pair);
}

Test(countdown, setting_it_replaces_the_count_alone)
{
    struct fixture pair;

    fixture_init(&pair, 7);
    for (int i = 0; i < 2; i++) {
        lanepool_i_countdown_set(pair.both[i], 2);
        expect(!lanepool_i_countdown_arrive(pair.both[i], 1));
        expect(lanepool_i_countdown_arrive(pair.both[i], 1));
    }
    expect_unharmed(&pair);
}

Test(countdown, a_started_task_is_known_by_its_count)
{
    struct wide_block block;

    wide_init(&block, TICKET, 2);
    expect(!lanepool_i_countdown_has_started(&block.task));
    expect(!lanepool_i_countdown_arrive(&block.task, 2));
    expect(lanepool_i_countdown_arrive(&block.task, 1));
    expect(!lanepool_i_countdown_has_started(&block.task));
    lanepool_i_countdown_set_started(&block.task);
    expect(lanepool_i_countdown_has_started(&block.task));
    expect_eq(lanepool_i_task_ticket(&block.task), TICKET);
}
