/*
 * Making a task that does not come through the inbox.
 */
#ifndef LANEPOOL_SRC_SUBMIT_H
#define LANEPOOL_SRC_SUBMIT_H

#include "local.h"

/* A task without claims, admitted, with room for so many entries. INVALID, NOMEM or NO_THREAD:
 * nothing has changed. */
lanepool_status lanepool_i_submit_prepare(lanepool_pool *pool, lanepool_i_local *local,
                                          const lanepool_task *task, size_t entry_count,
                                          lanepool_i_task **prepared);
/* As if it had never been made. */
void lanepool_i_submit_take_back(lanepool_pool *pool, lanepool_i_local *local,
                                 const lanepool_task *task, lanepool_i_task *prepared);

#endif
