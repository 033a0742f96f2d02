/* Runs a task on a GLib main loop; the task ends the loop. */
#include <lanepool/adapters/glib.h>
#include <lanepool/lanepool.h>

static int quit(lanepool_run *run, void *context)
{
    (void)run;
    g_main_loop_quit(context);
    return 0;
}

int main(void)
{
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    lanepool_executor *executor;
    lanepool_sequence *sequence;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = quit;
    task.context = loop;
    if (lanepool_glib_loop_executor(NULL, &executor) ||
        lanepool_sequence_create(executor, &sequence) ||
        lanepool_sequence_submit_after(sequence, &task, 1000000)) {
        return 1;
    }
    g_main_loop_run(loop);
    g_main_loop_unref(loop);
    return lanepool_sequence_destroy(sequence) || lanepool_executor_destroy(executor);
}
