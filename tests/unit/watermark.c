/* The watermark of a journal, against a plain list of settled tickets. */
#include "feature/watermark.h"

#include "support/test.h"

#include <string.h>

#define TICKETS 20000u

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Settles the tickets from `first` on, each at most `reach` behind its place, and compares the
 * watermark after each one. */
static void settle_in_disorder(uint64_t first, uint32_t reach, uint64_t seed)
{
    static bool settled[TICKETS];
    static uint32_t order[TICKETS];
    lanepool_i_watermark watermark;
    uint32_t expected = 0;

    memset(settled, 0, sizeof settled);
    for (uint32_t i = 0; i < TICKETS; i++)
        order[i] = i;
    for (uint32_t i = 0; i + 1 < TICKETS; i++) {
        uint32_t left = TICKETS - i;
        uint32_t other = i + draw(&seed) % (reach < left ? reach : left);
        uint32_t kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    lanepool_i_watermark_init(&watermark, first);
    for (uint32_t i = 0; i < TICKETS; i++) {
        lanepool_i_watermark_settle(&watermark, first + order[i]);
        settled[order[i]] = true;
        while (expected < TICKETS && settled[expected])
            expected++;
        expect_eq(watermark.unsettled, first + expected);
    }
    lanepool_i_watermark_fini(&watermark);
}

Test(watermark, is_the_first_ticket_that_is_not_settled)
{
    for (uint64_t seed = 1; seed <= 3; seed++) {
        settle_in_disorder(0, 1, seed);
        settle_in_disorder(61, 2, seed);
        settle_in_disorder(100, 64, seed);
        settle_in_disorder(1000003, 300, seed);
        settle_in_disorder(((uint64_t)1 << 40) - 70, TICKETS, seed);
    }
}

Test(watermark, stops_at_a_ticket_until_it_is_settled)
{
    lanepool_i_watermark watermark;

    lanepool_i_watermark_init(&watermark, 5);
    for (uint64_t ticket = 6; ticket < 5 + TICKETS; ticket++)
        lanepool_i_watermark_settle(&watermark, ticket);
    expect_eq(watermark.unsettled, 5);
    lanepool_i_watermark_settle(&watermark, 5);
    expect_eq(watermark.unsettled, 5 + TICKETS);
    lanepool_i_watermark_fini(&watermark);
}
