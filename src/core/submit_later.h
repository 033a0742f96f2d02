/*
 * Building tasks that enter the inbox later, or never: delayed and periodic tasks, and receivers of
 * a hand-off.
 */
#ifndef LANEPOOL_SRC_CORE_SUBMIT_LATER_H
#define LANEPOOL_SRC_CORE_SUBMIT_LATER_H

#include "sched/thread_record.h"

/* Makes and admits a task without claims, with room for `entry_count` entries, even if the pool is
 * full. On INVALID, NOMEM or NO_RESOURCE nothing has changed. */
lanepool_status lanepool_i_submit_prepare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          const lanepool_task *task, size_t entry_count,
                                          lanepool_i_task **prepared);
/* Undoes lanepool_i_submit_prepare(). */
void lanepool_i_submit_undo_prepare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_task *task, lanepool_i_task *prepared);

/* Checks a description, admits the task (blocks while the pool is full) and builds it, so that
 * nothing can fail later. On OK the program has its future, and *record is the calling thread's
 * record. */
lanepool_status lanepool_i_submit_for_later(lanepool_pool *pool, const lanepool_task *task,
                                            lanepool_i_thread_record **record,
                                            lanepool_i_task **block);
/* Undoes lanepool_i_submit_for_later(). */
void lanepool_i_submit_undo_for_later(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *block, const lanepool_task *task);

#endif
