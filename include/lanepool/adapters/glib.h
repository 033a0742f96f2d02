/**
 * @file
 * GLib's threads and main loops as executors. In a library of its own: link `lanepool::glib`.
 */
#ifndef LANEPOOL_ADAPTERS_GLIB_H
#define LANEPOOL_ADAPTERS_GLIB_H

#include <glib.h>

#include "lanepool/sequence.h"

LANEPOOL_C_BEGIN

/**
 * @defgroup adapters Adapters
 * Executors on the threads and loops of GLib and libuv. Each adapter is a library of its own. @{
 */

/**
 * The function of a GThreadPool that runs sequences: the first argument of g_thread_pool_new().
 * @param work      The pushed work.
 * @param user_data Not used.
 * @threads The pool's threads. @complexity O(tasks run).
 */
LANEPOOL_API void lanepool_glib_run(gpointer work, gpointer user_data);

/**
 * Creates an executor on a GThreadPool with the function lanepool_glib_run(). The library's clock
 * measures delays.
 * @param pool     The caller's. In use until g_thread_pool_free() has returned, which must wait for
 *                 the pushed work.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_NOMEM As for lanepool_executor_create().
 * @also INVALID.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_glib_pool_executor(GThreadPool *pool, lanepool_executor **executor);

/**
 * Creates an executor on a main loop: tasks run on the thread that runs the context, each batch as
 * a source with the priority of events. Delays are timeouts of the context, to the millisecond.
 * @param context  NULL for the default one. Referenced until it is no longer needed. Work that is
 *                 attached when its loop ends does not run.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_NOMEM As for lanepool_executor_create().
 * @also INVALID. @threads Any thread, the loop's too; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_glib_loop_executor(GMainContext *context, lanepool_executor **executor);

/** @} */

LANEPOOL_C_END

#endif
