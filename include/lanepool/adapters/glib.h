/**
 * @file
 * GLib's threads and main loops as executors. In a library of its own: link `lanepool::glib`.
 */
#ifndef LANEPOOL_ADAPTERS_GLIB_H
#define LANEPOOL_ADAPTERS_GLIB_H

#include <glib.h>

#include "lanepool/executor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The function of a GThreadPool that sequences run on: the first argument of g_thread_pool_new().
 *
 * @param work      What was pushed.
 * @param user_data Not used.
 */
LANEPOOL_API void lanepool_glib_run(gpointer work, gpointer user_data);

/**
 * Makes an executor of a GThreadPool whose function is lanepool_glib_run(). Delays are measured by
 * the library's clock.
 *
 * @param pool     The caller's, and in use until g_thread_pool_free() has returned, which is to
 *                 wait for what was pushed.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK      It can be used.
 * @retval LANEPOOL_INVALID An argument is NULL.
 * @retval LANEPOOL_NOMEM   As for lanepool_executor_create().
 * @par Threads
 * Any thread; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_glib_pool_executor(GThreadPool *pool, lanepool_executor **executor);

/**
 * Makes an executor of a main loop: tasks run on the thread that runs the context, each batch as a
 * source with the priority of events. Delays are timeouts of the context, to the millisecond.
 *
 * @param context  NULL: the default one. It is kept until nothing is needed of it any more; what is
 *                 attached when its loop ends does not run.
 * @param executor Receives the executor, which the caller destroys; NULL on failure.
 * @retval LANEPOOL_OK      It can be used.
 * @retval LANEPOOL_INVALID executor is NULL.
 * @retval LANEPOOL_NOMEM   As for lanepool_executor_create().
 * @par Threads
 * Any thread, of the loop or not; never blocks.
 */
LANEPOOL_API LANEPOOL_MUST_CHECK lanepool_status
lanepool_glib_loop_executor(GMainContext *context, lanepool_executor **executor);

#ifdef __cplusplus
}
#endif

#endif
