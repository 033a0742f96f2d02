/*
 * The rank: what a task of a pool with priorities has besides the usual parts of its block.
 *
 * Its *priority* is the one it was submitted with. Its *level* is the highest of that and of what
 * it inherited from tasks that wait for it. Its level among the ready tasks may be higher still, if
 * it has waited there for long (priority_queue.h).
 *
 * Each entry of the task in a lane has a *rank entry* of the same index, which is linked to the one
 * ahead of it, granted or not. So a later task finds all tasks that it has to wait for
 * (priority.c). A link is a rank entry's address with the bits of a lane's link (lane.h): the
 * task's format, and the mode of its claim.
 *
 * The rank of a plain task is behind its block, in a line of its own with both rank entries. That
 * of a wide task is in the features' room of its block (feature.h), and has more: the task's
 * address, and the rank's in each rank entry.
 *
 * A visitor of a cut (visits.h) is queued like a task, so it has a rank, too: in its room, without
 * rank entries.
 *
 * Guards: I immutable, P the overflow list's lock.
 */
#ifndef LANEPOOL_SRC_FEATURE_PRIORITY_RANK_H
#define LANEPOOL_SRC_FEATURE_PRIORITY_RANK_H

#include "lane/lane.h"
#include "lane/visits.h"

#define LANEPOOL_I_LEVELS (LANEPOOL_PRIORITY_MAX + 1)

/* A task's entry in a lane, as the tasks behind it see it. */
typedef struct lanepool_i_rank_entry {
    uintptr_t ahead; /* P: the link to the next one towards the lane's head, or 0 */
    uintptr_t *at;   /* P: the link that leads here, or NULL */
} lanepool_i_rank_entry;

/* No entry of a task has this index. */
#define LANEPOOL_I_RANK_NO_ENTRY LANEPOOL_I_WIDE_COUNT_MASK

typedef struct lanepool_i_rank lanepool_i_rank;
struct lanepool_i_rank {
    lanepool_i_rank *next;   /* P: the next ready one of its level; or, while it is not ready, the
                                next one whose level was just raised */
    lanepool_i_rank *before; /* P: the previous ready one of its level */
    uint64_t since_ns;       /* P: when it became ready, or was last raised while ready */
    uint32_t count : LANEPOOL_I_WIDE_COUNT_BITS;   /* P: rank entries in use, from the front */
    uint32_t priority : 3;                         /* P: does not change */
    uint32_t level : 3;                            /* P */
    uint32_t is_ready : 1;                         /* P: it is in the priority queue */
    uint32_t is_wide : 1;                          /* P: does not change */
    uint32_t through : LANEPOOL_I_WIDE_COUNT_BITS; /* P: the rank entry through which its level was
                                                      raised */
    uint32_t standing : 3;                         /* P: its level among the ready tasks */
    uint32_t by_lane : 1;                          /* P: a cut, whose entries inherit alone */
};

_Static_assert(LANEPOOL_PRIORITY_MAX < 1 << 3, "a level has three bits");

typedef struct lanepool_i_plain_rank {
    lanepool_i_rank rank;
    lanepool_i_rank_entry entries[2];
} lanepool_i_plain_rank;

_Static_assert(sizeof(lanepool_i_plain_rank) == sizeof(lanepool_i_task),
               "a rank is found from the address of an entry");

typedef struct lanepool_i_wide_rank_entry {
    lanepool_i_rank_entry entry;
    lanepool_i_rank *rank; /* I */
} lanepool_i_wide_rank_entry;

typedef struct lanepool_i_wide_rank {
    lanepool_i_task *task; /* I */
    lanepool_i_rank rank;
    lanepool_i_wide_rank_entry entries[]; /* P */
} lanepool_i_wide_rank;

static inline lanepool_i_wide_rank *lanepool_i_rank_wide(lanepool_i_rank *rank)
{
    return LANEPOOL_I_ITEM(rank, lanepool_i_wide_rank, rank);
}

/* Returns the rank of a plain task. */
static inline lanepool_i_rank *lanepool_i_rank_behind(lanepool_i_task *task)
{
    return (lanepool_i_rank *)(task + 1);
}

static inline lanepool_i_wide_rank *lanepool_i_rank_of_visitor(lanepool_i_visitor *visitor)
{
    return lanepool_i_visitor_room(visitor);
}

static inline lanepool_i_task *lanepool_i_rank_task(lanepool_i_rank *rank)
{
    return rank->is_wide ? lanepool_i_rank_wide(rank)->task : (lanepool_i_task *)rank - 1;
}

static inline lanepool_i_rank_entry *lanepool_i_rank_entry_at(lanepool_i_rank *rank, uint32_t i)
{
    return rank->is_wide ? &lanepool_i_rank_wide(rank)->entries[i].entry
                         : &((lanepool_i_plain_rank *)rank)->entries[i];
}

/* --- links --- */

static inline uintptr_t lanepool_i_rank_link_to(const lanepool_i_rank *rank,
                                                const lanepool_i_rank_entry *rank_entry,
                                                lanepool_mode mode)
{
    uintptr_t format = rank->is_wide ? LANEPOOL_I_LINK_WIDE : 0;
    return (uintptr_t)rank_entry | format | lanepool_i_mode_put(mode, LANEPOOL_I_LINK_MODE_SHIFT);
}

static inline lanepool_i_rank_entry *lanepool_i_rank_link_entry(uintptr_t link)
{
    return (lanepool_i_rank_entry *)(link & LANEPOOL_I_LINK_ENTRY);
}

static inline lanepool_i_rank *lanepool_i_rank_link_rank(uintptr_t link)
{
    if ((link & LANEPOOL_I_LINK_WIDE) != 0)
        return ((lanepool_i_wide_rank_entry *)(link & LANEPOOL_I_LINK_ENTRY))->rank;
    return (lanepool_i_rank *)(link & ~(uintptr_t)(sizeof(lanepool_i_task) - 1));
}

/* Returns the index of the rank entry that a link leads to. */
static inline uint32_t lanepool_i_rank_link_index(uintptr_t link)
{
    uintptr_t at = link & LANEPOOL_I_LINK_ENTRY;
    lanepool_i_rank *rank = lanepool_i_rank_link_rank(link);
    size_t size =
        rank->is_wide ? sizeof(lanepool_i_wide_rank_entry) : sizeof(lanepool_i_rank_entry);
    uintptr_t first = (uintptr_t)lanepool_i_rank_entry_at(rank, 0);
    return (uint32_t)((at - first) / size) & LANEPOOL_I_WIDE_COUNT_MASK;
}

/* --- initializing --- */

/* Initializes a task's rank. Submitter only. */
static inline void lanepool_i_rank_init(lanepool_i_rank *rank, uint32_t priority, bool is_wide)
{
    *rank = (lanepool_i_rank){ .priority = priority & LANEPOOL_PRIORITY_MAX,
                               .level = priority & LANEPOOL_PRIORITY_MAX,
                               .is_wide = is_wide };
}

#endif
