/**
 * @file
 * When and where tasks run: delayed and periodic tasks (see docs/delays.md), and pumps.
 */
#ifndef LANEPOOL_SCHEDULE_H
#define LANEPOOL_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "lanepool/pool.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup delays Delayed and periodic tasks
 * A delayed task is accepted at once and counts against the limit. It gets its position in the
 * order, and its ticket, when it is due; before, it blocks no task. The first such call starts the
 * pool's clock thread. @{
 */

/** A handle of a periodic task. */
typedef struct lanepool_timer lanepool_timer;

/** The start of the period until the next run. */
typedef enum lanepool_period {
    LANEPOOL_FIXED_RATE = 0, /**< when the last run was due; late runs follow at once */
    LANEPOOL_FIXED_DELAY = 1 /**< the end of the last run */
} lanepool_period;

/**
 * Submits a task that is due after a delay; blocks while the pool is full.
 * @param task     As for lanepool_pool_submit(); with a positive delay no group and no pump. Its
 *                 lane handles must stay valid until it is due.
 * @param delay_ns Nanoseconds from now; 0 or less: as lanepool_pool_submit(). Beyond the clock's
 *                 range it never becomes due.
 * @retval LANEPOOL_OK        Accepted: the task ends once, as docs/endings.md says.
 * @retval LANEPOOL_INVALID   As for lanepool_pool_submit().
 * @retval LANEPOOL_SHUT_DOWN Not accepted. Also inside tasks of a pool that drains, unless it waits
 *                            for delayed tasks.
 * @also UNSUPPORTED, NOMEM, NO_RESOURCE, FORKED. @threads As for lanepool_pool_submit().
 *     @complexity O(claims + log(delayed tasks)).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pool_submit_after(lanepool_pool *pool, const lanepool_task *task, int64_t delay_ns);

/**
 * Submits a task that runs periodically, never twice at once. Each run gets its position and its
 * ticket when it is due. When the series ends, `cancelled` is called, then `release`; or
 * lanepool_pool_shutdown_now() hands the task back. A cut is repeated as a whole: see docs/cuts.md.
 * @param task      As for lanepool_pool_submit(), without future, policy, group and pump. Its lane
 *                  handles must stay valid until the series has ended.
 * @param delay_ns  Nanoseconds until the first run; 0 or less: at once.
 * @param period_ns Nanoseconds, at least 1.
 * @param period    The start of each period.
 * @param timer     Receives the handle, before the first run starts; the caller releases it. NULL
 *                  on failure.
 * @retval LANEPOOL_OK        Accepted. The runs need no further memory.
 * @retval LANEPOOL_INVALID   As for lanepool_pool_submit(); or timer is NULL, or a period is wrong.
 * @retval LANEPOOL_SHUT_DOWN Not accepted, inside tasks too: the pool is shut down.
 * @also UNSUPPORTED, NOMEM, NO_RESOURCE, FORKED. @threads As for lanepool_pool_submit().
 *     @complexity O(claims + log(delayed tasks)), for each run, too.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pool_submit_every(
    lanepool_pool *pool, const lanepool_task *task, int64_t delay_ns, uint64_t period_ns,
    lanepool_period period, lanepool_timer **timer);

/**
 * Ends a periodic task: no further run starts. The clock thread calls `cancelled`, maybe after this
 * returns. (For a sequence see lanepool_sequence_submit_every().)
 * @param timer The handle. Its pool or sequence may be gone, or be destroyed by another thread
 *              during the call.
 * @retval LANEPOOL_OK      No run is running.
 * @retval LANEPOOL_RUNNING The last run is running; it was asked to end.
 * @retval LANEPOOL_DONE    The series had ended before, and no run is running.
 * @also INVALID, FORKED. @complexity O(log(delayed tasks)).
 */
LANEPOOL_API lanepool_status lanepool_timer_cancel(lanepool_timer *timer);

/** Releases a handle. The periodic task continues. */
LANEPOOL_API void lanepool_timer_release(lanepool_timer *timer);

/** @} */

/**
 * @defgroup pumps Pumps
 * A task with a pump gets its position and its lanes like any other. It runs only inside
 * lanepool_pump_run(), on that call's thread. The pool waits for tasks of pumps; see
 * docs/shutdown.md. @{
 */

/**
 * Creates a pump.
 * @param pool The pool of its tasks. Must outlive the pump.
 * @param pump Receives the pump, which the caller destroys; NULL on failure.
 * @also INVALID, NOMEM, FORKED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_pump_create(lanepool_pool *pool, lanepool_pump **pump);

/**
 * Destroys a pump without pending tasks, and closes its descriptor. No other thread may use the
 * pump, or submit with it, during or after the call.
 * @retval LANEPOOL_BUSY Tasks of the pump are pending; nothing has changed.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pump_destroy(lanepool_pump *pump);

/**
 * Runs ready tasks of the pump, in the order in which they became ready; waits for the first one.
 * If several threads call at once, each task runs on one of them.
 * @param task_count_max The most tasks to run, at least 1.
 * @param wait_max_ns    Nanoseconds to wait for the first task; 0 runs only ready tasks.
 * @param task_count     Receives how many were run, 0 unless LANEPOOL_OK; may be NULL.
 * @retval LANEPOOL_OK        At least one task was run.
 * @retval LANEPOOL_TIMED_OUT None became ready in time.
 * @retval LANEPOOL_SHUT_DOWN The pool has drained or was stopped: no more tasks will come.
 * @retval LANEPOOL_DEADLOCK  Called inside a task or callback of the pool.
 * @retval LANEPOOL_INVALID   pump is NULL, or task_count_max is 0.
 * @also NOMEM, NO_RESOURCE, FORKED. @threads Any thread outside the pool's tasks; may block.
 *     @complexity O(tasks run).
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pump_run(
    lanepool_pump *pump, size_t task_count_max, uint64_t wait_max_ns, size_t *task_count);

/**
 * Returns a descriptor for an event loop: readable while tasks of the pump are ready.
 * @param fd Receives the descriptor, which the pump owns: poll it, do not read or close it. Valid
 *           until the pump is destroyed.
 * @also INVALID, NO_RESOURCE, FORKED.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status lanepool_pump_fd(lanepool_pump *pump, int *fd);

/** @} */

LANEPOOL_C_END

#endif
