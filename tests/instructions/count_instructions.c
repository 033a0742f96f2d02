/* Runs one workload of the benchmark under callgrind, which counts its instructions for guard.py:
 *
 *     valgrind --tool=callgrind --separate-threads=yes --collect-atstart=no
 *         count_instructions WORKLOAD
 *
 * This thread's instructions are those of submitting. Those of the pool's only worker are routing,
 * running and releasing. Prints how many tasks were counted.
 *
 * The two threads take turns, so that the counts are the same in each run. Tasks are submitted in
 * waves. The last task of a wave waits at a gate inside its body while this thread submits the next
 * wave. The worker never searches, sleeps, or competes with this thread for the router role. */
#include <lanepool/lanepool.h>
#include <valgrind/callgrind.h>

#include <errno.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/check.h"
#include "bench/engine.h"
#include "bench/workload.h"

/* One wave fits into the worker's ring, and lanes and memory are warm when counting begins. In W7
 * all tasks are pending before any runs, and the growth of lanes and memory is counted, too. */
static const struct plan {
    const char *name, *workload;
    size_t warm_up, counted, wave;
    bool parks;  /* with a failure policy of the pool that parks */
    bool limits; /* with a limit on each lane, which no lane reaches */
} plans[] = {
    { "W1", "W1", 8192, 16384, 256, false, false },
    { "W4", "W4", 8192, 16384, 256, false, false },
    { "W8", "W8", 16384, 16384, 256, false, false },
    { "W7", "W7", 0, 131072, 131072, false, false },
    { "W4_parks", "W4", 8192, 16384, 256, true, false },
    { "W4_limits", "W4", 8192, 16384, 256, false, true },
};

/* Longer than a run, so that a quantum ends only by the number of tasks. */
#define QUANTUM_NS 3600000000000u

/* The tasks' keys, as bench/workload.c makes them. */
const uint32_t *bench_keys;
const uint32_t *bench_sequences;

/* Written by the thread whose turn it is; the semaphores pass the turn. */
static struct {
    lanepool_pool *pool;
    sem_t reached, opened;
    bool is_counting;
    size_t left; /* tasks of the wave that have not run yet */
    size_t ran;
} run;

void bench_require(bool happened, const char *what)
{
    if (happened)
        return;
    fprintf(stderr, "count_instructions: failed: %s\n", what);
    exit(1);
}

/* Replaces the library's lanepool_i_seed(), which differs in each run, so that other keys would
 * share a bucket. */
uint64_t __wrap_lanepool_i_seed(void);
uint64_t __wrap_lanepool_i_seed(void)
{
    return 0x9E3779B97F4A7C15u;
}

static void wait_for(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        bench_require(errno == EINTR, "a wait");
}

/* Toggles counting for the calling thread: each thread has its own switch. */
static void switch_counting(void)
{
    if (run.is_counting)
        CALLGRIND_TOGGLE_COLLECT;
}

static int stand_at_gate_last(lanepool_run *call_run, void *context)
{
    (void)call_run;
    (void)context;
    run.ran++;
    if (--run.left > 0)
        return 0;
    switch_counting();
    sem_post(&run.reached);
    wait_for(&run.opened);
    switch_counting();
    return 0;
}

static void submit(const struct bench_task *task)
{
    lanepool_claim claims[BENCH_KEYS_MAX];
    lanepool_task description = LANEPOOL_TASK_INIT;
    description.function = stand_at_gate_last;
    description.claims = claims;
    description.claim_count = bench_task_lanes(task);
    for (uint32_t i = 0; i < description.claim_count; i++)
        claims[i] = lanepool_exclusive(bench_task_key(task, i));
    bench_require(lanepool_pool_submit(run.pool, &description) == LANEPOOL_OK, "a submit");
}

/* Submits `count` tasks in waves. Returns when all have run, with the worker at its gate. */
static void run_in_waves(const struct bench_task *tasks, size_t count, size_t wave)
{
    for (size_t done = 0; done < count; done += wave) {
        run.left = wave;
        switch_counting();
        for (size_t i = 0; i < wave; i++)
            submit(&tasks[done + i]);
        switch_counting();
        sem_post(&run.opened);
        wait_for(&run.reached);
    }
}

/* Brings the worker to the gate, by a task without a key. */
static void start(const struct plan *plan)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task first = LANEPOOL_TASK_INIT;
    options.workers = 1;
    options.pending_max = LANEPOOL_UNLIMITED;
    options.quantum_ns = QUANTUM_NS;
    policy.at_end = LANEPOOL_FAILURE_POISON;
    if (plan->parks)
        options.on_failure = &policy;
    if (plan->limits)
        options.lane_pending_max = 1 + plan->wave;
    first.function = stand_at_gate_last;
    run.left = 1;
    bench_require(sem_init(&run.reached, 0, 0) == 0 && sem_init(&run.opened, 0, 0) == 0,
                  "semaphores");
    bench_require(lanepool_pool_create(&options, &run.pool) == LANEPOOL_OK &&
                      lanepool_pool_submit(run.pool, &first) == LANEPOOL_OK,
                  "a pool with a task");
    wait_for(&run.reached);
}

/* Lets the worker leave the gate for the last time; nothing of this is counted. */
static void stop(size_t expected)
{
    sem_post(&run.opened);
    bench_require(lanepool_pool_destroy(run.pool) == LANEPOOL_OK, "the end of the pool");
    bench_require(run.ran == expected, "every task ran once");
}

static const struct plan *find_plan(const char *name)
{
    for (size_t i = 0; i < sizeof plans / sizeof plans[0]; i++)
        if (strcmp(plans[i].name, name) == 0)
            return &plans[i];
    return NULL;
}

int main(int argument_count, char **arguments)
{
    const struct plan *plan = argument_count == 2 ? find_plan(arguments[1]) : NULL;
    struct bench_tasks tasks;
    if (plan == NULL) {
        fprintf(stderr, "usage: count_instructions W1|W4|W7|W8|W4_parks|W4_limits\n");
        return 2;
    }
    bench_tasks_make(&tasks, bench_workload_find(plan->workload), plan->warm_up + plan->counted);
    start(plan);
    run_in_waves(tasks.of[0], plan->warm_up, plan->wave);
    /* The worker is at its gate; when it continues, it finds that counting has begun. */
    run.is_counting = true;
    run_in_waves(tasks.of[0] + plan->warm_up, plan->counted, plan->wave);
    run.is_counting = false;
    stop(1 + tasks.total);
    printf("%zu\n", plan->counted);
    return 0;
}
