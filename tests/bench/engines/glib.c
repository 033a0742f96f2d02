/* GLib's thread pool, which knows no keys: tasks run in any order. */
#include <glib.h>

#include "engine.h"

static GThreadPool *pool;

static void run(gpointer task, gpointer unused)
{
    (void)unused;
    bench_task_run(task);
}

/* The pool has threads of its own, and starts all of them at once. */
static void start(const struct bench_setup *setup)
{
    pool = g_thread_pool_new(run, NULL, (gint)setup->workers, TRUE, NULL);
    bench_require(pool != NULL, "a pool");
}

static void submit(const struct bench_task *task)
{
    gpointer data = (gpointer)(uintptr_t)task; /* only read */
    bench_require(g_thread_pool_push(pool, data, NULL), "a submit");
}

static void stop(void)
{
    g_thread_pool_free(pool, FALSE, TRUE);
}

const struct bench_hooks bench_engine = {
    .name = "glib",
    .features = BENCH_GATES | BENCH_SEVERAL_SUBMITTERS | BENCH_UNORDERED,
    .start = start,
    .submit = submit,
    .stop = stop,
};
