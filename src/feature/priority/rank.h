/*
 * The rank: what a task of a pool with priorities has besides the usual parts of its block.
 *
 * Its *priority* is the one it was submitted with. Its *level* is the highest of that and of what
 * it inherited from tasks that wait for it. Its level among the ready tasks may be higher still, if
 * it has waited there for long (priority_queue.h).
 *
 * Each entry of the task in a lane has a *rank entry*, which is linked to the one ahead of it,
 * granted or not. So a later task finds all tasks that it has to wait for (priority.c).
 *
 * The rank is in the features' room of the task's block; see feature.h.
 *
 * Guards: I immutable, P the overflow list's lock.
 */
#ifndef LANEPOOL_SRC_FEATURE_PRIORITY_RANK_H
#define LANEPOOL_SRC_FEATURE_PRIORITY_RANK_H

#include "task/task.h"

#define LANEPOOL_I_LEVELS (LANEPOOL_PRIORITY_MAX + 1)

typedef struct lanepool_i_rank lanepool_i_rank;
typedef struct lanepool_i_rank_entry lanepool_i_rank_entry;

/* A task's entry in a lane, as the tasks behind it see it. */
struct lanepool_i_rank_entry {
    lanepool_i_rank_entry *ahead; /* P: the next one towards the lane's head */
    lanepool_i_rank_entry **at;   /* P: the link that leads here, or NULL */
    lanepool_i_rank *rank;        /* I */
    lanepool_mode mode;           /* P */
};

struct lanepool_i_rank {
    lanepool_i_task *task;        /* I */
    lanepool_i_rank *next;        /* P: the next ready one of its level */
    lanepool_i_rank *before;      /* P: the previous ready one of its level */
    uint64_t since_ns;            /* P: when it became ready, or was last raised while ready */
    lanepool_i_rank *raised_next; /* P: in the list of tasks whose level was just raised */
    const lanepool_i_rank_entry *through; /* P: the rank entry through which it was raised */
    uint8_t priority;                     /* I */
    uint8_t level;                        /* P */
    uint8_t standing;                     /* P: its level among the ready tasks */
    bool ready;                           /* P: it is in the priority queue */
    uint32_t rank_entry_count;            /* P: in use, from the front */
    lanepool_i_rank_entry rank_entries[]; /* P */
};

/* Initialises a task's rank. Submitter only. */
static inline void lanepool_i_rank_init(lanepool_i_rank *rank, lanepool_i_task *task,
                                        uint32_t priority)
{
    *rank = (lanepool_i_rank){ .task = task,
                               .priority = (uint8_t)priority,
                               .level = (uint8_t)priority };
}

#endif
