/*
 * A survey: how the pool's tasks and lanes stand, seen by the role's holder.
 *
 * The rule stops its lanes and names the tasks that wait in them; ready ones are
 * found in queues, running ones with their threads. Then the rule adds each
 * task's entries, and in the end lets the lanes go on. All is copied meanwhile.
 *
 * A running task may end at any time. So that its block can be read all the same,
 * the pool is *watched* from the beginning of a survey to its end: blocks of tasks
 * that finish are kept, in a list that is open only then and that the surveyor alone empties. Who
 * finishes a task takes it from its thread's list of running ones and then looks whether the pool
 * is watched; the surveyor says that it is and then looks at the lists. It is the surveyor that
 * pays for this order: it has all other threads pass a barrier in between. Where there is no such
 * barrier, both sides use the total order of `seq` operations.
 */
#ifndef LANEPOOL_SRC_ROUTE_CENSUS_H
#define LANEPOOL_SRC_ROUTE_CENSUS_H

#include "base/vector.h"
#include "lane/lane.h"
#include "lanepool/snapshot.h"
#include "sched/thread_record.h"

/* A task as a survey has met it. */
typedef struct lanepool_i_census_row {
    lanepool_i_task *task;
    uint64_t ticket;
    lanepool_snapshot_state state;
    size_t worker;
    unsigned attempts; /* see lanepool_snapshot_task */
    uint64_t retry_ns; /* likewise */
    bool innermost;    /* it runs, and does not wait for another on the same thread */
    bool detached;     /* it runs, and its function has returned */
    size_t missing;    /* lanes that it goes without */
} lanepool_i_census_row;

typedef struct lanepool_i_census {
    lanepool_pool *pool;
    lanepool_i_thread_record *record;
    lanepool_i_vector rows;    /* lanepool_i_census_row; in the end one for each task, by ticket */
    lanepool_i_vector entries; /* lanepool_snapshot_entry */
    lanepool_i_vector
        places;         /* const void *: of each entry its lane, or the task that it is behind */
    bool out_of_memory; /* memory is */
    bool counts;        /* it only counts those that wait, marks among them, and needs no memory */
    size_t waiting;     /* how many */
    lanepool_i_tasks counted; /* of stopped lanes: each once, MARKED */
} lanepool_i_census;

/* What a rule adds: a task that waits; and of a task by its index an entry in a lane, or a task
 * that it stands behind. */
void lanepool_i_census_add_row(lanepool_i_census *census, lanepool_i_task *task,
                               lanepool_snapshot_state state, size_t worker);
void lanepool_i_census_add_task(lanepool_i_census *census, lanepool_i_task *task);
void lanepool_i_census_add_entry(lanepool_i_census *census, size_t task, const void *lane,
                                 lanepool_mode mode, bool granted);
/* It goes without one of its lanes. */
void lanepool_i_census_add_missing(lanepool_i_census *census, size_t task);
void lanepool_i_census_add_behind(lanepool_i_census *census, size_t task, size_t behind);

static inline const lanepool_i_census_row *lanepool_i_census_row_at(const lanepool_i_census *census,
                                                                    size_t task)
{
    return (const lanepool_i_census_row *)census->rows.items + task;
}

#endif
