/* OpenMP's tasks, ordered by `depend`, with the compiler's own runtime: this file makes two
 * engines, libgomp by GCC and libomp by Clang. One thread of a parallel region submits, and the
 * others are the workers, because dependences hold only among tasks of the same parent. */
#include <stdlib.h>

#include "engine.h"

/* One byte for each key; tasks depend on its address. */
static char *places;
static int team_size;

static void start(const struct bench_setup *setup)
{
    places = calloc(setup->key_count, sizeof *places);
    bench_require(places != NULL, "memory for what is depended on");
    team_size = (int)setup->workers + 1;
    /* Without this, libomp's submitting thread runs tasks itself when a queue of ready tasks is
     * full. libgomp's does so at 64 ready tasks for each thread, which cannot be switched off. */
    bench_require(setenv("KMP_ENABLE_TASK_THROTTLING", "0", 1) == 0, "a setting for libomp");
}

static void enter(void (*measured)(void))
{
#pragma omp parallel num_threads(team_size)
#pragma omp single
    measured();
}

static void submit_pair(const struct bench_task *task)
{
    uint32_t one = bench_task_key(task, 0), other = bench_task_key(task, 1);
#pragma omp task depend(inout : places[one], places[other])
    bench_task_run(task);
}

static void submit_rollup(const struct bench_task *task)
{
    const uint32_t *keys = &bench_keys[task->key];
#pragma omp task depend(iterator(int i = 0 : task->key_count), inout : places[keys[i]])
    bench_task_run(task);
}

static void submit(const struct bench_task *task)
{
    if (task->key_count == 2) {
        submit_pair(task);
    } else if (task->key_count > 2) {
        submit_rollup(task);
    } else if (task->is_shared) {
#pragma omp task depend(in : places[task->key])
        bench_task_run(task);
    } else {
#pragma omp task depend(inout : places[task->key])
        bench_task_run(task);
    }
}

/* The threads have ended with the parallel region, or wait for the next one. */
static void stop(void)
{
    free(places);
}

/* There is no `wait`, because at a taskwait the submitting thread would become one more worker. */
const struct bench_hooks bench_engine = {
#ifdef __clang__
    .name = "libomp",
    .features = BENCH_SEVERAL_KEYS | BENCH_SHARED | BENCH_GATES,
#else
    .name = "libgomp",
    /* No gates: the submitter would run one and block. */
    .features = BENCH_SEVERAL_KEYS | BENCH_SHARED,
#endif
    .start = start,
    .submit = submit,
    .stop = stop,
    .enter = enter,
};
