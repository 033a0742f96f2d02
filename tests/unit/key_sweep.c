/* Sweeping the index of keys: which keys are removed, and how many buckets stay. */
#include "unit/keyed_items.h"

Test(key_sweep, shrink_gives_back_the_memory_of_swept_keys)
{
    struct fixture *all = fixture_make();

    for (size_t i = 0; i < KEYS; i++) {
        add(all, i);
    }
    expect(all->memory.live > 1);
    expect_eq(sweep(all, all->index.bucket_count, true), KEYS);
    expect_keys(all, 0, 0);
    expect(!lanepool_i_key_index_shrink(&all->index, SIZE_MAX));
    expect_eq(all->index.bucket_count, LANEPOOL_I_FIRST_BUCKETS);
    expect_eq(all->memory.live, 1);
    add(all, 5);
    expect_keys(all, 5, 6);
    fixture_end(all);
}

Test(key_sweep, shrink_leaves_buckets_for_the_keys_that_stay)
{
    enum { STAY = 1000 };
    struct fixture *all = fixture_make();

    for (size_t i = 0; i < KEYS; i++) {
        add(all, i);
        all->items[i].busy = i < STAY;
    }
    expect_eq(sweep(all, all->index.bucket_count, true), KEYS - STAY);
    expect(!lanepool_i_key_index_shrink(&all->index, SIZE_MAX));
    expect_eq(all->index.bucket_count, STAY);
    expect_keys(all, 0, STAY);
    fixture_end(all);
}

Test(key_sweep, a_sweep_spares_what_was_found_since_the_last_one)
{
    struct fixture *all = fixture_make();

    add(all, 0);
    add(all, 1);
    expect(is_there(all, 0));
    expect_eq(sweep(all, LANEPOOL_I_FIRST_BUCKETS, false), 1);
    expect_eq(sweep(all, LANEPOOL_I_FIRST_BUCKETS, false), 1);
    expect_keys(all, 0, 0);
    add(all, 0);
    expect(is_there(all, 0));
    expect_eq(sweep(all, LANEPOOL_I_FIRST_BUCKETS, true), 1);
    fixture_end(all);
}

Test(key_sweep, a_sweep_of_all_spares_handles_and_busy_lanes)
{
    struct fixture *all = fixture_make();

    for (size_t i = 0; i < 3; i++) {
        add(all, i);
    }
    all->items[0].key.handle_count = 1;
    all->items[1].busy = true;
    expect_eq(sweep(all, LANEPOOL_I_FIRST_BUCKETS, true), 1);
    expect_keys(all, 0, 2);
    all->items[0].key.handle_count = 0;
    all->items[1].busy = false;
    expect_eq(sweep(all, LANEPOOL_I_FIRST_BUCKETS, true), 2);
    fixture_end(all);
}

/* In the chain of a full bucket, too. */
Test(key_sweep, each_key_of_a_full_bucket_gets_its_second_chance)
{
    enum { CROWD = LANEPOOL_I_BUCKET_SLOTS + 3 };

    for (unsigned used = 0; used < 1u << CROWD; used++) {
        struct fixture *all = fixture_make();
        size_t count = 0;

        for (size_t i = 0; i < CROWD; i++) {
            all->items[i].key = key_of(i, LANEPOOL_I_TYPE_ID);
            lanepool_i_key_set_hash(&all->items[i].key, 7);
            lanepool_i_key_index_add(&all->index, &all->items[i].key);
        }
        for (size_t i = 0; i < CROWD; i++) {
            if ((used >> i & 1) != 0) {
                expect(lanepool_i_key_index_find(&all->index, &all->items[i].key) != NULL);
                count++;
            }
        }
        expect_eq(sweep(all, LANEPOOL_I_FIRST_BUCKETS, false), CROWD - count);
        for (size_t i = 0; i < CROWD; i++) { /* to find a key is to use it */
            expect_eq(lanepool_i_key_index_find(&all->index, &all->items[i].key) != NULL,
                      (used >> i & 1) != 0);
        }
        expect_eq(sweep(all, LANEPOOL_I_FIRST_BUCKETS, false), 0);
        expect_eq(sweep(all, LANEPOOL_I_FIRST_BUCKETS, false), count);
        fixture_end(all);
    }
}

Test(key_sweep, a_sweep_passes_the_given_number_of_buckets_and_wraps_around)
{
    enum { FIRST = LANEPOOL_I_FIRST_BUCKETS, PART = 25 };
    struct fixture *all = fixture_make();

    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < FIRST; i++) { /* one key in each bucket */
            all->items[i].key = (lanepool_i_key){ .value.id = i };
            lanepool_i_key_set_hash(&all->items[i].key, (uint32_t)i);
            lanepool_i_key_index_add(&all->index, &all->items[i].key);
        }
        expect_eq(sweep(all, PART, false), PART);
        expect_eq(sweep(all, PART, false), PART);
        expect_eq(sweep(all, PART, false), FIRST - 2 * PART); /* the hand wraps around here */
        expect_eq(all->index.key_count, 0);
    }
    fixture_end(all);
}
