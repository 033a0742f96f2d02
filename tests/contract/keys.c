/* Equality of keys: keys of all types, handles, and claims named more than once. */
#include <string.h>

#include "support/memory.h"
#include "support/step.h"
#include "support/test.h"

/*
 * Submits two tasks. If they may overlap, both must arrive at the gate at the same time. If they
 * conflict, a third task, submitted after them, must start before the second one.
 */
static void check_claims(lanepool_pool *pool, const lanepool_claim *first, size_t first_count,
                         const lanepool_claim *second, size_t second_count, bool may_overlap)
{
    struct gate gate;
    struct gate done;
    struct step steps[2] = { { .gate = &gate }, { .gate = &gate } };
    struct step witness = { .gate = &done };
    lanepool_task tasks[2] = { step_task(&steps[0], first, first_count),
                               step_task(&steps[1], second, second_count) };

    gate_init(&gate);
    gate_init(&done);
    expect_ok(lanepool_pool_submit(pool, &tasks[0]));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_submit(pool, &tasks[1]));
    if (may_overlap) {
        expect(gate_await(&gate, 1));
    } else {
        expect_ok(step_submit(pool, &witness));
        expect(gate_await(&done, 1));
        expect(!step_was_called(&steps[1]));
        gate_open(&done, 1);
    }
    gate_open(&gate, 2);
    pool_settle(pool);
    expect_eq(steps[0].runs, 1);
    expect_eq(steps[1].runs, 1);
    gate_fini(&gate);
    gate_fini(&done);
}

static void check_keys(lanepool_pool *pool, const lanepool_claim *first,
                       const lanepool_claim *second, bool may_overlap)
{
    check_claims(pool, first, 1, second, 1, may_overlap);
}

Test(keys, modes_overlap_as_claims_do)
{
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            lanepool_claim first = lanepool_claim_of(lanepool_key_id(1), (lanepool_mode)i);
            lanepool_claim second = lanepool_claim_of(lanepool_key_id(1), (lanepool_mode)j);

            expect_eq(lanepool_modes_overlap(first.mode, second.mode),
                      i == j && i != LANEPOOL_EXCLUSIVE);
            check_keys(pool, &first, &second, lanepool_modes_overlap(first.mode, second.mode));
        }
    }
    pool_end(pool);
}

Test(keys, equal_bits_of_different_types_do_not_conflict)
{
    uint64_t bits = 0x1122334455667788u;
    lanepool_claim claims[3] = {
        lanepool_exclusive(bits),
        lanepool_claim_of(lanepool_key_pointer((const void *)(uintptr_t)bits), LANEPOOL_EXCLUSIVE),
        lanepool_claim_of(lanepool_key_bytes(&bits, sizeof bits), LANEPOOL_EXCLUSIVE)
    };
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            check_keys(pool, &claims[i], &claims[j], i != j);
        }
    }
    pool_end(pool);
}

Test(keys, bytes_are_compared_with_their_zeros_and_their_size)
{
    static const struct {
        const char *data;
        size_t size;
    } keys[] = { { "", 0 },
                 { "\0", 1 },
                 { "\0\0", 2 },
                 { "a", 1 },
                 { "a\0", 2 },
                 { "a\0b", 3 },
                 { "a\0c", 3 },
                 { "a\0b\0\0\0\0\0", 8 },
                 { "a\0b\0\0\0\0\0\0", 9 } };
    enum { KEYS = sizeof keys / sizeof keys[0] };
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    for (int i = 0; i < KEYS; i++) {
        for (int j = i; j < KEYS; j++) {
            lanepool_claim a = lanepool_claim_of(lanepool_key_bytes(keys[i].data, keys[i].size),
                                                 LANEPOOL_EXCLUSIVE);
            lanepool_claim b = lanepool_claim_of(lanepool_key_bytes(keys[j].data, keys[j].size),
                                                 LANEPOOL_EXCLUSIVE);

            check_keys(pool, &a, &b, i != j);
        }
    }
    pool_end(pool);
}

Test(keys, empty_bytes_may_be_null)
{
    lanepool_claim null = lanepool_claim_of(lanepool_key_bytes(NULL, 0), LANEPOOL_EXCLUSIVE);
    lanepool_claim empty = lanepool_claim_of(lanepool_key_string(""), LANEPOOL_EXCLUSIVE);
    lanepool_claim null_pointer = lanepool_claim_of(lanepool_key_pointer(NULL), LANEPOOL_EXCLUSIVE);
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    check_keys(pool, &null, &empty, false);
    check_keys(pool, &null, &null_pointer, true);
    check_keys(pool, &null_pointer, &null_pointer, false);
    pool_end(pool);
}

Test(keys, longest_bytes_are_compared_to_the_end)
{
    char *left = memory_get(LANEPOOL_KEY_BYTES_MAX, 1);
    char *right = memory_get(LANEPOOL_KEY_BYTES_MAX, 1);
    lanepool_claim a =
        lanepool_claim_of(lanepool_key_bytes(left, LANEPOOL_KEY_BYTES_MAX), LANEPOOL_EXCLUSIVE);
    lanepool_claim b =
        lanepool_claim_of(lanepool_key_bytes(right, LANEPOOL_KEY_BYTES_MAX), LANEPOOL_EXCLUSIVE);
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    check_keys(pool, &a, &b, false);
    right[LANEPOOL_KEY_BYTES_MAX - 1] = 1;
    check_keys(pool, &a, &b, true);
    free(left);
    free(right);
    pool_end(pool);
}

Test(keys, held_lane_stands_for_its_key)
{
    static const char name[] = "held";
    lanepool_claim keys[3] = { lanepool_exclusive(8),
                               lanepool_claim_of(lanepool_key_pointer(name), LANEPOOL_EXCLUSIVE),
                               lanepool_claim_of(lanepool_key_string(name), LANEPOOL_EXCLUSIVE) };
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    for (int i = 0; i < 3; i++) {
        lanepool_lane *lanes[2];
        lanepool_claim by_lane[2];
        lanepool_claim shared;

        for (int h = 0; h < 2; h++) {
            expect_ok(lanepool_lane_acquire(pool, keys[i].key, &lanes[h]));
            by_lane[h] = lanepool_claim_of(lanepool_key_lane(lanes[h]), LANEPOOL_EXCLUSIVE);
        }
        shared = lanepool_claim_of(lanepool_key_lane(lanes[0]), LANEPOOL_SHARED);
        check_keys(pool, &by_lane[0], &keys[i], false);
        check_keys(pool, &keys[i], &by_lane[0], false);
        check_keys(pool, &by_lane[0], &by_lane[1], false);
        check_keys(pool, &shared, &shared, true);
        check_keys(pool, &by_lane[0], &keys[(i + 1) % 3], true);
        lanepool_lane_release(lanes[0]);
        lanepool_lane_release(lanes[1]);
    }
    pool_end(pool);
}

Test(keys, lane_may_be_given_back_while_its_tasks_wait)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[3] = { { 0 } };
    lanepool_key key = lanepool_key_id(8);
    lanepool_claim by_lane;
    lanepool_lane *lane;
    lanepool_stats stats;
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 8));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_lane_acquire(pool, key, &lane));
    by_lane = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    for (int i = 0; i < 3; i++) {
        lanepool_task task = step_task(&steps[i], &by_lane, 1);

        expect_ok(lanepool_pool_submit(pool, &task));
    }
    lanepool_lane_release(lane);
    gate_open(&gate, 1);
    pool_settle(pool);
    expect_ok(lanepool_pool_trim(pool));
    expect_eq(steps[2].runs, 1);
    expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
    expect_eq(stats.live_lanes, 0);
    pool_end(pool);
    gate_fini(&gate);
}

Test(keys, held_lane_stays_when_it_drains)
{
    struct step step = { 0 };
    lanepool_key key = lanepool_key_string("stays");
    lanepool_claim by_lane;
    lanepool_lane *lane;
    lanepool_task task;
    lanepool_stats stats;
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    expect_ok(lanepool_lane_acquire(pool, key, &lane));
    by_lane = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    task = step_task(&step, &by_lane, 1);
    for (uint32_t i = 1; i <= 5; i++) {
        expect_ok(lanepool_pool_submit(pool, &task));
        pool_settle(pool);
        expect_eq(step.runs, i);
        expect_ok(lanepool_pool_stats(pool, &stats, NULL, 0));
        expect_eq(stats.live_lanes, 1);
    }
    lanepool_lane_release(lane);
    pool_end(pool);
}

/* A task that names the same key twice must not wait for itself. */
Test(keys, duplicates_in_different_modes_count_as_exclusive)
{
    static const lanepool_mode modes[6][3] = {
        { LANEPOOL_EXCLUSIVE, LANEPOOL_EXCLUSIVE, LANEPOOL_EXCLUSIVE },
        { LANEPOOL_SHARED, LANEPOOL_SHARED, LANEPOOL_SHARED },
        { LANEPOOL_SHARED, LANEPOOL_EXCLUSIVE, LANEPOOL_SHARED },
        { LANEPOOL_EXCLUSIVE, LANEPOOL_SHARED, LANEPOOL_SHARED },
        { LANEPOOL_SHARED, LANEPOOL_SHARED, LANEPOOL_COMMUTING },
        { LANEPOOL_COMMUTING, LANEPOOL_EXCLUSIVE, LANEPOOL_COMMUTING }
    };
    lanepool_claim reader = lanepool_shared(1);
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    for (int i = 0; i < 6; i++) {
        lanepool_claim claims[3];
        bool all_shared = i == 1;

        for (int c = 0; c < 3; c++) {
            claims[c] = lanepool_claim_of(lanepool_key_id(1), modes[i][c]);
        }
        check_claims(pool, claims, 3, &reader, 1, all_shared);
        check_claims(pool, &reader, 1, claims, 3, all_shared);
    }
    pool_end(pool);
}

Test(keys, duplicates_by_key_and_by_lane_are_merged)
{
    lanepool_claim key = lanepool_claim_of(lanepool_key_string("both"), LANEPOOL_SHARED);
    lanepool_claim claims[2] = { key, key };
    lanepool_lane *lane;
    lanepool_pool *pool = pool_make(3, LANEPOOL_PER_KEY);

    expect_ok(lanepool_lane_acquire(pool, key.key, &lane));
    claims[1] = lanepool_claim_of(lanepool_key_lane(lane), LANEPOOL_EXCLUSIVE);
    check_claims(pool, claims, 2, &key, 1, false);
    check_claims(pool, &key, 1, claims, 2, false);
    lanepool_lane_release(lane);
    pool_end(pool);
}

/* Readers are queued behind a writer, which is behind other readers. None overtakes, and the last
 * ones run together. */
Test(keys, readers_do_not_overtake_a_writer_and_run_together_behind_it)
{
    struct gate front;
    struct gate middle;
    struct gate back;
    struct gate done;
    struct step readers[4];
    struct step writer = { .gate = &middle };
    struct step witness = { .gate = &done };
    lanepool_claim shared = lanepool_shared(1);
    lanepool_pool *pool = pool_make(4, LANEPOOL_PER_KEY);

    gate_init(&front);
    gate_init(&middle);
    gate_init(&back);
    gate_init(&done);
    gate_open(&done, 1);
    for (int i = 0; i < 4; i++) {
        lanepool_task task = step_task(&readers[i], &shared, 1);

        if (i == 2) {
            expect_ok(step_submit_on(pool, &writer, 1));
        }
        readers[i] = (struct step){ .gate = i < 2 ? &front : &back };
        expect_ok(lanepool_pool_submit(pool, &task));
    }
    expect(gate_await(&front, 2)); /* two readers together */
    expect_ok(step_submit_on(pool, &witness, 2));
    expect(gate_await(&done, 1));
    expect(!step_was_called(&writer));
    expect(!step_was_called(&readers[2]));
    gate_open(&front, 1);
    gate_open(&front, 1);
    expect(gate_await(&middle, 1));
    expect(!step_was_called(&readers[2]));
    expect(!step_was_called(&readers[3]));
    gate_open(&middle, 1);
    expect(gate_await(&back, 2)); /* again two together */
    gate_open(&back, 2);
    pool_end(pool);
    gate_fini(&front);
    gate_fini(&middle);
    gate_fini(&back);
    gate_fini(&done);
}

/* Keys longer than any block of the pool must be freed with the pool, used or not. */
Test(keys, long_keys_go_with_the_pool)
{
    static const char key[4096] = "long";
    lanepool_claim claim =
        lanepool_claim_of(lanepool_key_bytes(key, sizeof key), LANEPOOL_EXCLUSIVE);
    lanepool_lane *unused;
    struct step step = { 0 };
    lanepool_task task = step_task(&step, &claim, 1);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    expect_eq(step.runs, 1);

    pool = pool_make(1, LANEPOOL_PER_KEY);
    expect_ok(lanepool_lane_acquire(pool, claim.key, &unused));
    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    lanepool_lane_release(unused);
    pool_end(pool);
}
