/*
 * GLib's executors. A main loop has one timer source at a time. The source's callback and
 * glib_loop_take_back() both clear `alarm` under the lock; the one that finds the source there owns
 * it. A source has a reference on the loop's memory.
 */
#include "lanepool/adapters/glib.h"

#define NS_PER_MS 1000000u

/* --- threads --- */

void lanepool_glib_run(gpointer work, gpointer user_data)
{
    (void)user_data;
    lanepool_work_run(work);
}

/* The work is queued even if no thread can be started for it now. */
static lanepool_status glib_pool_execute(void *context, lanepool_work *work)
{
    (void)g_thread_pool_push(context, work, NULL);
    return LANEPOOL_OK;
}

lanepool_status lanepool_glib_pool_executor(GThreadPool *pool, lanepool_executor **executor)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    if (executor != NULL)
        *executor = NULL;
    if (pool == NULL)
        return LANEPOOL_INVALID;
    functions.execute = glib_pool_execute;
    return lanepool_executor_create(&functions, pool, executor);
}

/* --- a main loop --- */

/* Guards: I immutable, L the lock. */
struct loop {
    GMainContext *context; /* I */
    GMutex lock;
    GSource *alarm;      /* L: one reference, or NULL */
    lanepool_work *work; /* L: run by the alarm */
};

static void clear_loop(gpointer data)
{
    struct loop *loop = data;
    g_main_context_unref(loop->context);
    g_mutex_clear(&loop->lock);
}

static void glib_loop_release(gpointer loop)
{
    g_atomic_rc_box_release_full(loop, clear_loop);
}

static gboolean run_once(gpointer work)
{
    lanepool_work_run(work);
    return G_SOURCE_REMOVE;
}

static lanepool_status glib_loop_execute(void *context, lanepool_work *work)
{
    const struct loop *loop = context;
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, run_once, work, NULL);
    g_source_attach(source, loop->context);
    g_source_unref(source);
    return LANEPOOL_OK;
}

static gboolean run_loop_alarm(gpointer data)
{
    struct loop *loop = data;
    GSource *source = g_main_current_source();
    g_mutex_lock(&loop->lock);
    gboolean mine = loop->alarm == source;
    lanepool_work *work = loop->work;
    if (mine)
        loop->alarm = NULL;
    g_mutex_unlock(&loop->lock);
    if (mine) {
        lanepool_work_run(work);
        g_source_unref(source);
    }
    return G_SOURCE_REMOVE;
}

/* Fires early only if the delay is longer than a timeout can be; then the library requests another
 * alarm. */
static lanepool_status glib_loop_execute_after(void *context, uint64_t delay_ns,
                                               lanepool_work *work)
{
    struct loop *loop = context;
    uint64_t delay_ms = delay_ns / NS_PER_MS + (delay_ns % NS_PER_MS != 0);
    GSource *source = g_timeout_source_new(delay_ms < G_MAXUINT ? (guint)delay_ms : G_MAXUINT);
    g_source_set_callback(source, run_loop_alarm, g_atomic_rc_box_acquire(loop), glib_loop_release);
    g_mutex_lock(&loop->lock);
    loop->alarm = source;
    loop->work = work;
    g_source_attach(source, loop->context);
    g_mutex_unlock(&loop->lock);
    return LANEPOOL_OK;
}

static bool glib_loop_take_back(void *context, lanepool_work *work)
{
    struct loop *loop = context;
    (void)work;
    g_mutex_lock(&loop->lock);
    GSource *source = loop->alarm;
    loop->alarm = NULL;
    g_mutex_unlock(&loop->lock);
    if (source == NULL)
        return false;
    g_source_destroy(source);
    g_source_unref(source);
    return true;
}

lanepool_status lanepool_glib_loop_executor(GMainContext *context, lanepool_executor **executor)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    struct loop *loop = g_atomic_rc_box_new0(struct loop);
    loop->context = g_main_context_ref(context != NULL ? context : g_main_context_default());
    g_mutex_init(&loop->lock);
    functions.execute = glib_loop_execute;
    functions.execute_after = glib_loop_execute_after;
    functions.take_back = glib_loop_take_back;
    functions.release = glib_loop_release;
    lanepool_status status = lanepool_executor_create(&functions, loop, executor);
    if (status != LANEPOOL_OK)
        glib_loop_release(loop);
    return status;
}
