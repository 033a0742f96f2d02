/**
 * @file
 * What follows when a task fails: its function, or lanepool_task_complete(), has answered a code
 * other than zero, or it has ended its thread (ABANDONED).
 *
 * A pool has a policy (lanepool_options.on_failure), and a task may have one of its own
 * (lanepool_task.on_failure). Without one the lanes of a failed task go on.
 */
#ifndef LANEPOOL_FAILURE_H
#define LANEPOOL_FAILURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanepool/export.h"
#include "lanepool/pool.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What follows when a task has failed. Start from LANEPOOL_FAILURE_POLICY_INIT; zero means that the
 * task ends with its first failure, and its lanes go on.
 *
 * A task that is tried again keeps its place and its lanes: nothing that conflicts with it starts
 * in between. It has not ended: it counts as pending, its future is not complete, and a shutdown or
 * a quiesce waits for it, its delay included. Each attempt is a call of its function with
 * LANEPOOL_CALL_RUN; the pool's error callback is told of each that fails.
 *
 * A task is not tried again once it was asked to end (lanepool_future_cancel(), which answers
 * LANEPOOL_RUNNING; lanepool_pool_cancel(), if its delay goes on: that is cut short), has given a
 * lane up (lanepool_run_release()), or the pool was told to stop now. Whoever has handed its lanes
 * over (lanepool_run_hand_over()) ends with its failure, whatever its policy says: they are the
 * heir's. Attempts after the first are made by any worker, or, of a pump's task, by its pump.
 */
typedef struct lanepool_failure_policy {
    size_t struct_size;    /**< sizeof(lanepool_failure_policy) */
    unsigned retries;      /**< how often a task that fails is tried again */
    uint64_t delay_ns;     /**< how long before the first retry, in nanoseconds; before each further
                                one twice as long. 0: at once, always */
    uint64_t delay_max_ns; /**< but never longer than this; 0, or less than delay_ns: always
                                delay_ns */
} lanepool_failure_policy;

/** A policy with everything at its default. */
#define LANEPOOL_FAILURE_POLICY_INIT             \
    {                                            \
        sizeof(lanepool_failure_policy), 0, 0, 0 \
    }

/**
 * Which attempt this call is, from 1. In cancelling calls and in a sequence's task 1.
 *
 * @par Threads
 * The thread of the call; never blocks.
 */
LANEPOOL_API unsigned lanepool_run_attempt(const lanepool_run *run);

#ifdef __cplusplus
}
#endif

#endif
