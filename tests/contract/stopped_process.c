/* A process that is stopped and continued again and again while its pool works. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/step.h"
#include "support/test.h"

enum { ROUNDS = 30, STEPS = 100, WORKERS = 3 };

#define PERIOD_NS UINT64_C(100000)

static struct step steps[STEPS];

static int count_tick(lanepool_run *run, void *context)
{
    (void)run;
    atomic_fetch_add((_Atomic unsigned *)context, 1);
    return 0;
}

/* Starts and ends threads all the time, blocks in submits, and has a task by the clock. */
static lanepool_pool *create_busy_pool(_Atomic unsigned *ticks, lanepool_timer **timer)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_task tick = LANEPOOL_TASK_INIT;
    lanepool_pool *pool;

    options.workers = WORKERS;
    options.workers_min = 1;
    options.worker_idle_ns = 1;
    options.pending_max = 4;
    tick.function = count_tick;
    tick.context = ticks;
    if (lanepool_pool_create(&options, &pool) != LANEPOOL_OK ||
        lanepool_pool_submit_every(pool, &tick, 0, PERIOD_NS, LANEPOOL_FIXED_DELAY, timer) !=
            LANEPOOL_OK) {
        _exit(EXIT_FAILURE);
    }
    return pool;
}

/* Returns true if each step has run once, after the steps that it conflicts with. */
static bool work_one_round(lanepool_pool *pool)
{
    lanepool_future *future = NULL;
    lanepool_claim claim = lanepool_exclusive(0);
    lanepool_task last = step_task(&steps[0], &claim, 1);
    bool good = true;

    last.future = &future;
    for (uint32_t i = 1; i < STEPS; i++) {
        steps[i] = (struct step){ .id = i };
        good = good && step_submit_rollup(pool, &steps[i], i % 5, 10 + i % 3) == LANEPOOL_OK;
    }
    steps[0] = (struct step){ .id = 0 };
    good = good && lanepool_pool_submit(pool, &last) == LANEPOOL_OK &&
           lanepool_future_wait(future, LANEPOOL_FOREVER, NULL) == LANEPOOL_OK &&
           lanepool_pool_quiesce(pool, LANEPOOL_FOREVER) == LANEPOOL_OK;
    lanepool_future_release(future);
    for (int i = 0; i < STEPS; i++) {
        good = good && steps[i].runs == 1;
    }
    return good;
}

/* Writes a byte before each round. */
__attribute__((noreturn)) static void work_and_report(int to_parent)
{
    static _Atomic unsigned ticks;
    lanepool_timer *timer;
    lanepool_pool *pool = create_busy_pool(&ticks, &timer);
    bool good = true;

    for (int round = 0; round < ROUNDS && good; round++) {
        good = write(to_parent, "x", 1) == 1 && work_one_round(pool);
    }
    lanepool_timer_cancel(timer);
    lanepool_timer_release(timer);
    good = lanepool_pool_destroy(pool) == LANEPOOL_OK && good;
    _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

Test(stopped_process, pool_works_on_when_the_process_continues)
{
    int ends[2], status = 0;
    unsigned stops = 0;
    char byte;

    expect_eq(pipe(ends), 0);
    pid_t child = fork();
    expect(child >= 0);
    if (child == 0) {
        close(ends[0]);
        work_and_report(ends[1]);
    }
    close(ends[1]);
    while (read(ends[0], &byte, 1) == 1) {
        expect_eq(kill(child, SIGSTOP), 0);
        expect_eq(waitpid(child, &status, WUNTRACED), child);
        if (!WIFSTOPPED(status)) {
            break;
        }
        stops++;
        expect_eq(kill(child, SIGCONT), 0);
    }
    close(ends[0]);
    if (!WIFEXITED(status)) {
        expect_eq(waitpid(child, &status, 0), child);
    }
    expect(WIFEXITED(status));
    expect_eq(WEXITSTATUS(status), EXIT_SUCCESS);
    expect(stops > 0);
}
