/* The memory of lanes: reservations, their settlement, and returned lanes. */
#include "lane/lane_memory.h"
#include "support/memory.h"
#include "support/test.h"
#include "unit/counted_memory.h"

/* A region's header takes the room of one lane. */
enum { REGION_LANES = LANEPOOL_I_LANE_REGION / sizeof(lanepool_i_lane) - 1 };

struct fixture {
    struct counted_memory memory;
    lanepool_i_lane_memory store;
    lanepool_i_lane *lanes[2 * REGION_LANES];
};

static struct fixture *fixture_make(bool has_room_beside)
{
    struct fixture *all = memory_get(1, sizeof *all);

    counted_memory_init(&all->memory);
    expect(lanepool_i_lane_memory_init(&all->store, &all->memory.allocator, has_room_beside));
    return all;
}

static void fixture_end(struct fixture *all)
{
    lanepool_i_lane_memory_fini(&all->store);
    expect_eq(all->memory.live, 0);
    expect_eq(all->memory.bytes, 0);
    free(all);
}

static bool reserve(struct fixture *all, uint64_t count)
{
    return lanepool_i_lane_memory_reserve(&all->store, count);
}

static void take_lanes(struct fixture *all, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        all->lanes[i] = lanepool_i_lane_memory_take(&all->store);
        expect(all->lanes[i] != NULL);
    }
}

static void give_lanes(struct fixture *all, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        lanepool_i_lane_memory_return(&all->store, all->lanes[i]);
    }
}

Test(lane_memory, lanes_are_aligned_and_do_not_overlap)
{
    struct fixture *all = fixture_make(false);

    expect(reserve(all, 2 * REGION_LANES));
    take_lanes(all, 0, 2 * REGION_LANES);
    for (size_t i = 0; i < 2 * REGION_LANES; i++) {
        expect_eq((uintptr_t)all->lanes[i] % sizeof(lanepool_i_lane), 0);
        lanepool_i_lane_init(all->lanes[i]);
        all->lanes[i]->use.stamp = i;
    }
    for (size_t i = 0; i < 2 * REGION_LANES; i++) {
        expect_eq(all->lanes[i]->use.stamp, i);
    }
    fixture_end(all);
}

Test(lane_memory, a_region_is_used_up_before_the_next_is_asked_for)
{
    struct fixture *all = fixture_make(false);

    expect(reserve(all, 0));
    expect_eq(all->memory.given, 0);
    expect(reserve(all, REGION_LANES - 1));
    expect(reserve(all, 1));
    expect_eq(all->memory.given, 1);
    expect(reserve(all, 1));
    expect_eq(all->memory.given, 2);
    expect(reserve(all, 3 * REGION_LANES - 1)); /* several at once */
    expect_eq(all->memory.given, 4);
    fixture_end(all);
}

Test(lane_memory, a_refused_reservation_reserves_nothing)
{
    struct fixture *all = fixture_make(false);

    all->memory.refuses = true;
    expect(!reserve(all, 1));
    all->memory.refuses = false;
    expect(reserve(all, 1));
    all->memory.refuses = true;
    expect(!reserve(all, REGION_LANES));
    expect(reserve(all, REGION_LANES - 1));
    expect(!reserve(all, 1));
    fixture_end(all);
}

Test(lane_memory, reservations_that_are_given_back_serve_others)
{
    struct fixture *all = fixture_make(false);

    expect(reserve(all, REGION_LANES));
    all->memory.refuses = true;
    lanepool_i_lane_memory_unreserve(&all->store, 10);
    expect(reserve(all, 10));
    expect(!reserve(all, 1));
    fixture_end(all);
}

Test(lane_memory, settled_reservations_serve_others_once_that_is_published)
{
    struct fixture *all = fixture_make(false);

    expect(reserve(all, REGION_LANES));
    all->memory.refuses = true;
    lanepool_i_lane_memory_settle(&all->store, 5);
    expect(!reserve(all, 1));
    lanepool_i_lane_memory_publish(&all->store);
    expect(reserve(all, 5));
    expect(!reserve(all, 1));
    fixture_end(all);
}

Test(lane_memory, a_lane_that_is_given_back_settles_its_reservation)
{
    struct fixture *all = fixture_make(false);

    expect(reserve(all, REGION_LANES));
    all->memory.refuses = true;
    take_lanes(all, 0, 3);
    give_lanes(all, 1, 2);
    lanepool_i_lane_memory_publish(&all->store);
    expect(reserve(all, 1));
    expect(!reserve(all, 1));
    expect(lanepool_i_lane_memory_take(&all->store) ==
           all->lanes[1]); /* which is the next to be taken */
    fixture_end(all);
}

Test(lane_memory, lanes_of_full_regions_are_taken_again)
{
    struct fixture *all = fixture_make(false);
    const lanepool_i_lane *given[2];

    expect(reserve(all, 2 * REGION_LANES));
    take_lanes(all, 0, 2 * REGION_LANES);
    given[0] = all->lanes[5];
    given[1] = all->lanes[REGION_LANES + 5];
    give_lanes(all, 5, 6);
    give_lanes(all, REGION_LANES + 5, REGION_LANES + 6);
    lanepool_i_lane_memory_publish(&all->store);
    expect(reserve(all, 2));
    take_lanes(all, 0, 2);
    expect(all->lanes[0] == given[0] || all->lanes[1] == given[0]);
    expect(all->lanes[0] == given[1] || all->lanes[1] == given[1]);
    expect_eq(all->memory.given, 2);
    fixture_end(all);
}

static void trim(lanepool_i_lane_memory *store)
{
    while (lanepool_i_lane_memory_trim_one(store)) {
        continue;
    }
}

Test(lane_memory, trim_gives_unused_regions_back)
{
    for (size_t used = 0; used < 2 * REGION_LANES; used += 2 * REGION_LANES - 1) {
        struct fixture *all = fixture_make(false);

        expect(reserve(all, 2 * REGION_LANES));
        take_lanes(all, 0, 2 * REGION_LANES);
        give_lanes(all, 0, used);
        give_lanes(all, used + 1, 2 * REGION_LANES);
        lanepool_i_lane_memory_publish(&all->store);
        trim(&all->store);
        expect_eq(all->memory.live, 1);
        lanepool_i_lane_init(all->lanes[used]); /* its region is still there */
        give_lanes(all, used, used + 1);
        trim(&all->store);
        expect_eq(all->memory.live, 0);
        lanepool_i_lane_memory_publish(&all->store);
        expect(reserve(all, 1));
        take_lanes(all, 0, 1);
        expect_eq(all->memory.live, 1);
        fixture_end(all);
    }
}

Test(lane_memory, trim_gives_one_region_back_at_a_time)
{
    struct fixture *all = fixture_make(false);

    expect(reserve(all, 2 * REGION_LANES));
    take_lanes(all, 0, 2 * REGION_LANES);
    give_lanes(all, 0, 2 * REGION_LANES);
    expect(lanepool_i_lane_memory_trim_one(&all->store));
    expect_eq(all->memory.live, 1);
    expect(lanepool_i_lane_memory_trim_one(&all->store));
    expect_eq(all->memory.live, 0);
    expect(!lanepool_i_lane_memory_trim_one(&all->store));
    fixture_end(all);
}

/* Lanes are taken from a region in use, so that an unused one can go back. */
Test(lane_memory, unused_regions_are_taken_from_last)
{
    struct fixture *all = fixture_make(false);

    expect(reserve(all, 2 * REGION_LANES));
    take_lanes(all, 0, 2 * REGION_LANES);
    give_lanes(all, 0, REGION_LANES);
    give_lanes(all, REGION_LANES, REGION_LANES + 1);
    lanepool_i_lane_memory_publish(&all->store);
    expect(reserve(all, 1));
    take_lanes(all, 0, 1);
    expect(lanepool_i_lane_memory_trim_one(&all->store));
    expect_eq(all->memory.live, 1);
    fixture_end(all);
}

Test(lane_memory, trim_leaves_what_open_reservations_need)
{
    struct fixture *all = fixture_make(false);

    expect(reserve(all, REGION_LANES + 1));
    expect_eq(all->memory.live, 2);
    trim(&all->store);
    expect_eq(all->memory.live, 2);
    lanepool_i_lane_memory_settle(&all->store, 1);
    lanepool_i_lane_memory_publish(&all->store);
    trim(&all->store);
    expect_eq(all->memory.live, 1);
    all->memory.refuses = true;
    expect(!reserve(all, 1));
    take_lanes(all, 0, REGION_LANES);
    fixture_end(all);
}

Test(lane_memory, room_beside_a_lane_is_its_own_and_zero_at_first)
{
    struct fixture *all = fixture_make(true);

    expect(reserve(all, REGION_LANES));
    expect_eq(all->memory.bytes, 2 * LANEPOOL_I_LANE_REGION);
    take_lanes(all, 0, REGION_LANES);
    for (size_t i = 0; i < REGION_LANES; i++) {
        unsigned char *beside = lanepool_i_lane_memory_beside(all->lanes[i]);

        for (size_t at = 0; at < sizeof(lanepool_i_lane); at++) {
            expect_eq(beside[at], 0);
        }
        memset(beside, 1, sizeof(lanepool_i_lane));
        memset(all->lanes[i], 2, sizeof(lanepool_i_lane));
    }
    fixture_end(all);
}

Test(lane_memory, works_on_the_systems_pages)
{
    lanepool_i_lane_memory store;

    expect(lanepool_i_lane_memory_init(&store, NULL, true));
    for (int round = 0; round < 2; round++) {
        lanepool_i_lane *lane;

        expect(lanepool_i_lane_memory_reserve(&store, 1));
        lane = lanepool_i_lane_memory_take(&store);
        expect_eq(*(uint64_t *)lanepool_i_lane_memory_beside(lane), 0);
        lanepool_i_lane_memory_return(&store, lane);
        lanepool_i_lane_memory_publish(&store);
        trim(&store);
    }
    lanepool_i_lane_memory_fini(&store);
}
