/*
 * A census: a record of all tasks and lanes of a pool at one moment, made by the role's holder.
 *
 *   1. The rule adds the tasks that wait. With lanes it freezes them first.
 *   2. Ready tasks are added from the ready rings, the overflow list, callers and pumps; running
 *      tasks from the lists in the thread records.
 *   3. The rule adds each task's entries.
 *   4. The caller copies what it needs. Then the rule thaws its lanes.
 *
 * A running task may end at any time. Its block can be read all the same: while a census is taken,
 * the blocks of finished tasks are retained (retention.h).
 */
#ifndef LANEPOOL_SRC_ROUTE_CENSUS_H
#define LANEPOOL_SRC_ROUTE_CENSUS_H

#include "base/vector.h"
#include "lane/lane.h"
#include "lanepool/inspect.h"
#include "sched/thread_record.h"

/* A task as a census has found it. */
typedef struct lanepool_i_census_row {
    lanepool_i_task *task;
    uint64_t ticket;
    lanepool_snapshot_state state;
    size_t worker;
    unsigned attempts; /* see lanepool_snapshot_task */
    uint64_t retry_ns; /* see lanepool_snapshot_task */
    bool innermost;    /* the task runs, and its thread runs no other task inside it */
    bool detached;     /* the task counts as running, and its function has returned */
    size_t missing;    /* poisoned lanes that the task has left */
    size_t in_queue;   /* of a ready task: how many its queue has before it */
} lanepool_i_census_row;

typedef struct lanepool_i_census {
    lanepool_pool *pool;
    lanepool_i_thread_record *record;
    lanepool_i_vector rows;    /* lanepool_i_census_row; in the end one for each task, by ticket */
    lanepool_i_vector entries; /* lanepool_snapshot_entry */
    lanepool_i_vector
        entry_lanes;     /* const void *: each entry's lane, or NULL if it is in no lane */
    size_t queue_begin;  /* the number of the first row of the queue being read */
    bool out_of_memory;  /* the census is incomplete */
    bool has_fixed_room; /* a lock is held: rows must not be allocated */
    bool is_full;        /* a row was missing, because of that */
} lanepool_i_census;

/* Adds a row for a task in the given state. Returns NULL, with a flag of the census set, if there
 * is no room. */
lanepool_i_census_row *lanepool_i_census_add_row(lanepool_i_census *census, lanepool_i_task *task,
                                                 lanepool_snapshot_state state, size_t worker);
/* Adds a task that waits. Called by the rule. A tombstone gets no row: it only waits to leave its
 * lanes. */
void lanepool_i_census_add_task(lanepool_i_census *census, lanepool_i_task *task);
/* The following three are called by the rule; `task` and `behind` are indices of rows. */
/* Adds an entry of the task in a lane. `level` is the one that it has there alone, or 0. */
void lanepool_i_census_add_entry(lanepool_i_census *census, size_t task, const void *lane,
                                 lanepool_mode mode, bool granted, uint8_t level);
/* Counts a poisoned lane that the task has left. */
void lanepool_i_census_add_missing(lanepool_i_census *census, size_t task);
/* Adds another task that the task waits for, in no lane. */
void lanepool_i_census_add_behind(lanepool_i_census *census, size_t task, size_t behind);

static inline const lanepool_i_census_row *lanepool_i_census_row_at(const lanepool_i_census *census,
                                                                    size_t task)
{
    return (const lanepool_i_census_row *)census->rows.items + task;
}

#endif
