/*
 * The pool's end; the protocol is in lifecycle.h.
 */
#ifndef LANEPOOL_SRC_POOL_POOL_SHUTDOWN_H
#define LANEPOOL_SRC_POOL_POOL_SHUTDOWN_H

#include "route/lifecycle.h"

/* Role's holder, while attention is wanted: checks the pool's counters, and ends each barrier,
 * quiesce, drain or stop that is due. */
void lanepool_i_pool_check_counters(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
