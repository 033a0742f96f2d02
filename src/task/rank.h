/*
 * What a task of a pool with priorities has besides its block's usual parts.
 *
 * Its *priority* is what the program asked for. Its *level* is the highest of that and of what was
 * lent to it by tasks that wait for it. Where it stands among the ready tasks is its level, or
 * higher if it has waited there for long (priority_queue.h).
 *
 * Each of its places in a lane is a *borrower*: linked to the one ahead of it, granted or not, so
 * that whoever comes behind finds all whom it has to wait for (priority.h).
 *
 * Tasks of such a pool are all wide. With claims the rank stands behind the entries, and the block
 * says where, in the place of a kind, which they cannot have; with a rule of the program's it ends
 * the block's extension.
 *
 * Guards: I immutable, P the spill's lock, S the submitter until the append, W who runs it.
 */
#ifndef LANEPOOL_SRC_TASK_RANK_H
#define LANEPOOL_SRC_TASK_RANK_H

#include "task/task.h"

#define LANEPOOL_I_LEVELS (LANEPOOL_PRIORITY_MAX + 1)

typedef struct lanepool_i_rank lanepool_i_rank;
typedef struct lanepool_i_rank_entry lanepool_i_rank_entry;

/* A task's place in a lane, as those behind it see it. */
struct lanepool_i_rank_entry {
    lanepool_i_rank_entry *ahead; /* P: the next one towards the lane's front */
    lanepool_i_rank_entry *
        *at;               /* P: what points here: the one behind, or the lane's newest; or NULL */
    lanepool_i_rank *rank; /* I */
    bool shared;           /* P */
};

struct lanepool_i_rank {
    lanepool_i_task *task;                /* I */
    lanepool_i_rank *next;                /* P: among the ready ones of its level */
    lanepool_i_rank *before;              /* P: likewise */
    uint64_t since_ns;                    /* P: when it became ready, or rose in the ready order */
    lanepool_i_rank *raised_next;         /* P: among those that have just been lent something */
    const lanepool_i_rank_entry *through; /* P: the place through which they were */
    struct lanepool_i_charge *charge;     /* S, W: with limits per lane: what it counts against */
    uint8_t priority;                     /* I */
    uint8_t level;                        /* P */
    uint8_t standing;                     /* P: its level among the ready ones */
    bool ready;                           /* P: it stands there */
    uint32_t rank_entry_count;            /* P: places in lanes, from the front of: */
    lanepool_i_rank_entry rank_entries[]; /* P */
};

static inline size_t lanepool_i_rank_size(size_t place_count)
{
    return sizeof(lanepool_i_rank) + place_count * sizeof(lanepool_i_rank_entry);
}

/* By the submitter, or with a task that its holder takes back: in memory of lanepool_i_rank_size().
 */
static inline void lanepool_i_rank_init(lanepool_i_rank *rank, lanepool_i_task *task,
                                        uint32_t priority)
{
    *rank = (lanepool_i_rank){ .task = task,
                               .priority = (uint8_t)priority,
                               .level = (uint8_t)priority };
}

#endif
