/*
 * A claim's mode: what follows from it and how it is stored. Which modes overlap is public, see
 * lanepool_modes_overlap(): those that have a bit in common. No mode has two bits. So modes that
 * overlap are equal, and the granted entries of a lane have one mode.
 *
 * Whatever stores a mode has MODE_BITS bits for it: a plain task's word and a wide entry's owner
 * (task.h), a link and the lane word (lane.h), the stamp of a lane (lane_table.c).
 */
#ifndef LANEPOOL_SRC_LANE_MODE_H
#define LANEPOOL_SRC_LANE_MODE_H

#include "lanepool/inspect.h"
#include "task/task.h"

#define LANEPOOL_I_MODES     3
#define LANEPOOL_I_MODE_BITS 2
#define LANEPOOL_I_MODE_MASK (((uint64_t)1 << LANEPOOL_I_MODE_BITS) - 1)

/* --- what follows from it --- */

/* Returns true if a program may name this mode. */
static inline bool lanepool_i_mode_is_valid(uint64_t mode)
{
    return mode < LANEPOOL_I_MODES;
}

/* Returns true if a claim in this mode conflicts with every other claim of its key. */
static inline bool lanepool_i_mode_is_alone(lanepool_mode mode)
{
    return !lanepool_modes_overlap(mode, mode);
}

/* Returns the mode of one task's claims of one key: it overlaps with what all of them overlap
 * with. */
static inline lanepool_mode lanepool_i_mode_merge(lanepool_mode a, lanepool_mode b)
{
    return (lanepool_mode)(a & b);
}

/* Returns true if a claim in mode `held` also permits what one in mode `wanted` permits. */
static inline bool lanepool_i_mode_covers(lanepool_mode held, uint64_t wanted)
{
    return lanepool_i_mode_merge(held, (lanepool_mode)wanted) == held;
}

/* Returns the flags that an event has for an entry in this mode. */
static inline uint32_t lanepool_i_mode_event_flags(lanepool_mode mode)
{
    if (mode == LANEPOOL_COMMUTING)
        return LANEPOOL_EVENT_COMMUTING;
    return mode == LANEPOOL_SHARED ? LANEPOOL_EVENT_SHARED : 0;
}

/* --- storing --- */

static inline lanepool_mode lanepool_i_mode_at(uint64_t bits, unsigned shift)
{
    return (lanepool_mode)(bits >> shift & LANEPOOL_I_MODE_MASK);
}

static inline uint64_t lanepool_i_mode_put(uint64_t mode, unsigned shift)
{
    return mode << shift;
}

/* Returns a stamp: a number, and a mode in the lowest bits. */
static inline uint64_t lanepool_i_mode_stamp(uint64_t number, lanepool_mode mode)
{
    return number << LANEPOOL_I_MODE_BITS | lanepool_i_mode_put(mode, 0);
}

static inline uint64_t lanepool_i_mode_stamp_number(uint64_t stamp)
{
    return stamp >> LANEPOOL_I_MODE_BITS;
}

/* Returns where a plain task's word has the mode of entry `i`. */
static inline unsigned lanepool_i_mode_shift(size_t i)
{
    return LANEPOOL_I_MODE_SHIFT + LANEPOOL_I_MODE_BITS * (unsigned)i;
}

/* Returns the owner word of a routed task's entry. */
static inline uintptr_t lanepool_i_mode_owner(const lanepool_i_task *task, uint64_t mode)
{
    return (uintptr_t)task | lanepool_i_mode_put(mode, LANEPOOL_I_OWNER_MODE_SHIFT);
}

static inline lanepool_mode lanepool_i_mode_of_owner(uintptr_t owner)
{
    return lanepool_i_mode_at(owner, LANEPOOL_I_OWNER_MODE_SHIFT);
}

#endif
