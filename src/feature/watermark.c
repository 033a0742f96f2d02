/* Owns the window of settled tickets; see watermark.h. */
#include "feature/watermark.h"

#include "base/misuse.h"
#include "platform/platform.h"
#include "task/task.h"

#include <string.h>

#define FIRST_SIZE ((uint64_t)4096)
#define WORD_BITS  64u

void lanepool_i_watermark_init(lanepool_i_watermark *watermark, uint64_t first)
{
    *watermark = (lanepool_i_watermark){ .first = first, .unsettled = first, .end = first };
}

void lanepool_i_watermark_fini(lanepool_i_watermark *watermark)
{
    lanepool_i_memory_free(watermark->bits);
}

uint64_t lanepool_i_watermark_whole(const lanepool_i_watermark *watermark, uint64_t ticket)
{
    int64_t distance = (int64_t)((ticket - watermark->unsettled) << LANEPOOL_I_TICKET_SHIFT);
    return watermark->unsettled + (uint64_t)(distance >> LANEPOOL_I_TICKET_SHIFT);
}

static uint64_t *word_of(const lanepool_i_watermark *watermark, uint64_t ticket)
{
    return &watermark->bits[(ticket & (watermark->size - 1)) / WORD_BITS];
}

static bool is_settled(const lanepool_i_watermark *watermark, uint64_t ticket)
{
    return watermark->size != 0 && (*word_of(watermark, ticket) >> ticket % WORD_BITS & 1) != 0;
}

static void set_bit(lanepool_i_watermark *watermark, uint64_t ticket)
{
    *word_of(watermark, ticket) |= (uint64_t)1 << ticket % WORD_BITS;
}

static void clear_bit(lanepool_i_watermark *watermark, uint64_t ticket)
{
    *word_of(watermark, ticket) &= ~((uint64_t)1 << ticket % WORD_BITS);
}

/* Returns false if the window cannot reach the ticket. */
static bool grow_to(lanepool_i_watermark *watermark, uint64_t ticket)
{
    lanepool_i_watermark grown = *watermark;
    grown.size = watermark->size != 0 ? watermark->size : FIRST_SIZE;
    while (grown.size <= ticket - watermark->unsettled)
        grown.size *= 2;
    grown.bits = lanepool_i_memory_alloc(grown.size / 8);
    if (grown.bits == NULL)
        return false;
    memset(grown.bits, 0, grown.size / 8);
    for (uint64_t old = watermark->unsettled; old < watermark->unsettled + watermark->size; old++)
        if (is_settled(watermark, old))
            set_bit(&grown, old);
    lanepool_i_memory_free(watermark->bits);
    *watermark = grown;
    return true;
}

/* Every ticket up to `end` is settled, also those that were only counted. */
static void settle_all(lanepool_i_watermark *watermark)
{
    for (; watermark->unsettled < watermark->end; watermark->unsettled++)
        if (is_settled(watermark, watermark->unsettled))
            clear_bit(watermark, watermark->unsettled);
}

static bool window_reaches(const lanepool_i_watermark *watermark, uint64_t ticket)
{
    return ticket - watermark->unsettled < watermark->size;
}

/* Passes all settled tickets at the front, a word of bits at a time. */
static void pass_settled(lanepool_i_watermark *watermark)
{
    unsigned from, count;
    if (watermark->size == 0)
        return;
    do {
        uint64_t *word = word_of(watermark, watermark->unsettled);
        from = (unsigned)(watermark->unsettled % WORD_BITS);
        uint64_t open = ~(*word >> from);
        count = open != 0 ? (unsigned)__builtin_ctzll(open) : WORD_BITS;
        *word &= count < WORD_BITS ? ~((((uint64_t)1 << count) - 1) << from) : 0;
        watermark->unsettled += count;
    } while (from + count == WORD_BITS);
}

void lanepool_i_watermark_settle(lanepool_i_watermark *watermark, uint64_t ticket)
{
    LANEPOOL_I_ASSERT(ticket >= watermark->unsettled);
    watermark->settled++;
    if (ticket >= watermark->end)
        watermark->end = ticket + 1;
    if (ticket == watermark->unsettled) {
        watermark->unsettled++;
        pass_settled(watermark);
    } else if (window_reaches(watermark, ticket) || grow_to(watermark, ticket)) {
        set_bit(watermark, ticket);
    }
    if (watermark->settled == watermark->end - watermark->first)
        settle_all(watermark);
}
