/*
 * The steps of making a task that does not come through the inbox, or comes later.
 */
#ifndef LANEPOOL_SRC_CORE_POOL_SUBMIT_H
#define LANEPOOL_SRC_CORE_POOL_SUBMIT_H

#include "sched/thread_record.h"

/* A task without claims, admitted, with room for so many entries. INVALID, NOMEM or NO_THREAD:
 * nothing has changed. */
lanepool_status lanepool_i_submit_prepare(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          const lanepool_task *task, size_t entry_count,
                                          lanepool_i_task **prepared);
/* As if it had never been made. */
void lanepool_i_submit_revoke(lanepool_pool *pool, lanepool_i_thread_record *record,
                              const lanepool_task *task, lanepool_i_task *prepared);

/* Checks, admits (and blocks while the pool is full) and builds, so that nothing can fail later;
 * OK: the block is complete, the future handed out, and *local the thread's record. */
lanepool_status lanepool_i_submit_for_later(lanepool_pool *pool, const lanepool_task *task,
                                            lanepool_i_thread_record **record,
                                            lanepool_i_task **block);
/* As if it had never been prepared. */
void lanepool_i_submit_undo(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *block, const lanepool_task *task);
#endif
