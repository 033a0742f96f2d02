/* The steps of a submit, which submits of several tasks and of later tasks share. The calling
 * thread must be that of the record. */
#ifndef LANEPOOL_SRC_CORE_POOL_SUBMIT_H
#define LANEPOOL_SRC_CORE_POOL_SUBMIT_H

#include "sched/thread_record.h"

/* How a submit behaves in a full pool. */
typedef struct lanepool_i_terms {
    enum { LANEPOOL_I_WAIT_FOR_ROOM, LANEPOOL_I_RUN_BY_CALLER } full;
    uint64_t wait_max_ns;
    uint64_t deadline_ns; /* 0: wait_max_ns counts from when the submitter has to wait */
} lanepool_i_terms;

/* Returns true if the pool accepts tasks; `inside`: of a thread that is inside a task of the pool.
 */
bool lanepool_i_submit_is_open(const lanepool_pool *pool, bool inside);
/* Admits a task. Returns OK, FULL if the caller is to run the task, or the reason for the refusal.
 */
lanepool_status lanepool_i_submit_admit(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        const lanepool_task *task, lanepool_i_terms terms);
/* Gives back the admission of a task that is not accepted after all. */
LANEPOOL_I_COLD void lanepool_i_submit_take_back_admission(lanepool_pool *pool,
                                                           lanepool_i_thread_record *record);
/* Gives the program the future of a task that is built. */
void lanepool_i_submit_hand_out_future(const lanepool_task *task, const lanepool_i_task *block);
/* Appends `count` tasks, which are linked, to the inbox. They are members of the group, or of none
 * if it is NULL. Returns false if the inbox or the group is closed. */
bool lanepool_i_submit_append(lanepool_group *group, lanepool_pool *pool,
                              lanepool_i_thread_record *record, lanepool_i_task *first,
                              lanepool_i_task *last, uint64_t count);
/* After an append: routes, or wakes a worker. */
void lanepool_i_submit_route(lanepool_pool *pool, lanepool_i_thread_record *record, bool for_pump);

#endif
