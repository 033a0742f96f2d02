/* GLib's executors; see support/executors.h. */
#include "support/executors.h"

#include "lanepool/adapters/glib.h"
#include "support/test.h"

/* --- threads --- */

static GThreadPool *pool_behind;

static lanepool_executor *pool_make(void)
{
    lanepool_executor *executor = NULL;

    pool_behind = g_thread_pool_new(lanepool_glib_run, NULL, 3, FALSE, NULL);
    expect_ok(lanepool_glib_pool_executor(pool_behind, &executor));
    return executor;
}

static void pool_end_both(lanepool_executor *executor)
{
    expect_ok(lanepool_executor_destroy(executor));
    g_thread_pool_free(pool_behind, FALSE, TRUE);
}

/* --- a main loop on a thread --- */

static GMainLoop *loop_behind;
static GThread *loop_thread;

static gpointer run_loop(gpointer loop)
{
    g_main_context_push_thread_default(g_main_loop_get_context(loop));
    g_main_loop_run(loop);
    g_main_context_pop_thread_default(g_main_loop_get_context(loop));
    return NULL;
}

static lanepool_executor *loop_make(void)
{
    GMainContext *context = g_main_context_new();
    lanepool_executor *executor = NULL;

    loop_behind = g_main_loop_new(context, FALSE);
    loop_thread = g_thread_new("loop", run_loop, loop_behind);
    expect_ok(lanepool_glib_loop_executor(context, &executor));
    g_main_context_unref(context);
    return executor;
}

static gboolean quit(gpointer loop)
{
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

/* Sources attached earlier run before the last one, because idle sources have the lowest
 * priority. */
static void loop_end(lanepool_executor *executor)
{
    GSource *last = g_idle_source_new();

    expect_ok(lanepool_executor_destroy(executor));
    g_source_set_callback(last, quit, loop_behind, NULL);
    g_source_attach(last, g_main_loop_get_context(loop_behind));
    g_source_unref(last);
    g_thread_join(loop_thread);
    g_main_loop_unref(loop_behind);
}

const struct executor_under_test executors_under_test[] = {
    { "GLib's threads", pool_make, pool_end_both, true },
    { "a GLib main loop", loop_make, loop_end, false },
    { NULL, NULL, NULL, false },
};
