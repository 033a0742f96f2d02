/* Modes of claims: what follows from them, and what each place that stores one reads back. */
#include "support/test.h"
#include "unit/blocks.h"

static const lanepool_mode modes[] = { LANEPOOL_EXCLUSIVE, LANEPOOL_SHARED, LANEPOOL_COMMUTING };

enum { MODES = LANEPOOL_I_MODES };

Test(mode, only_known_modes_are_valid)
{
    expect(lanepool_i_mode_is_valid(LANEPOOL_EXCLUSIVE));
    expect(lanepool_i_mode_is_valid(LANEPOOL_SHARED));
    expect(lanepool_i_mode_is_valid(LANEPOOL_COMMUTING));
    expect(!lanepool_i_mode_is_valid(3));
    expect(!lanepool_i_mode_is_valid((uint64_t)1 << 32));
}

Test(mode, merged_claims_overlap_with_what_both_overlap_with)
{
    for (size_t i = 0; i < MODES; i++) {
        for (size_t j = 0; j < MODES; j++) {
            lanepool_mode merged = lanepool_i_mode_merge(modes[i], modes[j]);

            for (size_t k = 0; k < MODES; k++) {
                expect_eq(lanepool_modes_overlap(merged, modes[k]),
                          lanepool_modes_overlap(modes[i], modes[k]) &&
                              lanepool_modes_overlap(modes[j], modes[k]));
            }
        }
    }
}

Test(mode, a_claim_is_alone_if_it_overlaps_with_none)
{
    for (size_t i = 0; i < MODES; i++) {
        bool overlaps = false;

        for (size_t j = 0; j < MODES; j++) {
            overlaps |= lanepool_modes_overlap(modes[i], modes[j]);
        }
        expect_eq(lanepool_i_mode_is_alone(modes[i]), !overlaps);
    }
}

Test(mode, entries_and_links_keep_their_modes)
{
    for (size_t i = 0; i < MODES; i++) {
        struct plain_block plain;
        struct wide_block wide;
        uintptr_t links[2];

        plain_init(&plain, 1, 2);
        wide_init(&wide, 2, 1);
        links[0] = plain_link(&plain, 1, modes[i]);
        links[1] = wide_link(&wide, 0, modes[i]);
        expect_eq(lanepool_i_link_mode(links[0]), modes[i]);
        expect_eq(lanepool_i_link_mode(links[1]), modes[i]);
        expect(lanepool_i_link_task(links[0]) == &plain.task);
        expect(lanepool_i_link_task(links[1]) == &wide.task);
        expect_eq(lanepool_i_mode_of_owner(wide.entries[0].owner), modes[i]);
    }
}

Test(mode, a_word_keeps_two_modes_apart)
{
    for (size_t i = 0; i < MODES; i++) {
        for (size_t j = 0; j < MODES; j++) {
            uint64_t word = lanepool_i_mode_put(modes[i], lanepool_i_mode_shift(0)) |
                            lanepool_i_mode_put(modes[j], lanepool_i_mode_shift(1));

            expect_eq(lanepool_i_mode_at(word, lanepool_i_mode_shift(0)), modes[i]);
            expect_eq(lanepool_i_mode_at(word, lanepool_i_mode_shift(1)), modes[j]);
            expect_eq(word & (LANEPOOL_I_WIDE | LANEPOOL_I_COUNT_MASK | LANEPOOL_I_MESSAGE), 0);
        }
    }
}

Test(mode, a_stamp_has_a_number_and_a_mode)
{
    for (size_t i = 0; i < MODES; i++) {
        uint64_t stamp = lanepool_i_mode_stamp(1234567, modes[i]);

        expect_eq(lanepool_i_mode_stamp_number(stamp), 1234567);
        expect_eq(lanepool_i_mode_at(stamp, 0), modes[i]);
    }
}
