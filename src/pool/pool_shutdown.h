/*
 * The pool's end; see lifecycle.h.
 */
#ifndef LANEPOOL_SRC_POOL_POOL_SHUTDOWN_H
#define LANEPOOL_SRC_POOL_POOL_SHUTDOWN_H

#include "route/lifecycle.h"

/* Role's holder, while attention is wanted: looks whether a barrier, a quiesce, a drain or a stop
 * has come to its end. */
void lanepool_i_pool_look(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
