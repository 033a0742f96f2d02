/* Runs a task on a libuv loop, which ends with the executor. */
#include <lanepool/adapters/uv.h>
#include <lanepool/lanepool.h>

struct parts {
    lanepool_executor *executor;
    lanepool_sequence *sequence;
};

/* Called on the loop's thread. Ends the sequence when its task has run. */
static void end(uv_idle_t *idle)
{
    struct parts *parts = idle->data;

    if (lanepool_sequence_wait(parts->sequence, 0) == LANEPOOL_OK) {
        lanepool_sequence_destroy(parts->sequence);
        lanepool_executor_destroy(parts->executor);
        uv_idle_stop(idle);
    }
}

static int count(lanepool_run *run, void *context)
{
    int *runs = context;

    (void)run;
    *runs += 1;
    return 0;
}

int main(void)
{
    uv_idle_t idle;
    struct parts parts;
    lanepool_task task = LANEPOOL_TASK_INIT;
    int runs = 0;

    task.function = count;
    task.context = &runs;
    uv_idle_init(uv_default_loop(), &idle);
    idle.data = &parts;
    if (lanepool_uv_loop_executor(uv_default_loop(), &parts.executor) ||
        lanepool_sequence_create(parts.executor, &parts.sequence) ||
        lanepool_sequence_submit(parts.sequence, &task) || uv_idle_start(&idle, end)) {
        return 1;
    }
    uv_run(uv_default_loop(), UV_RUN_DEFAULT);
    return runs != 1;
}
