/* A process that forks while its pool works: the parent is not affected, and the child runs on. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { ROUNDS = 5, STEPS = 400, EXIT_CODE = 5 };

static void leave(void *context)
{
    (void)context;
    _exit(EXIT_CODE);
}

static void leave_by_exit(void *context)
{
    (void)context;
    exit(EXIT_CODE);
}

static void become_another_program(void *context)
{
    char *const arguments[] = { (char *)"sh", (char *)"-c", (char *)"exit 5", NULL };

    (void)context;
    execv("/bin/sh", arguments);
}

/* Forks while tasks are submitted, wait and run. All tasks run once, in the parent. */
static void fork_beside_work(void (*child)(void *context), void *context)
{
    static struct step steps[STEPS];
    static struct journal journal;
    struct gate gate;
    struct step holder = { .gate = &gate };
    lanepool_pool *pool = pool_make(2, LANEPOOL_PER_KEY);

    gate_init(&gate);
    for (int round = 0; round < ROUNDS; round++) {
        int status;

        /* Key 0 has to wait for the end of the child. */
        expect_ok(step_submit_on(pool, &holder, 0));
        expect(gate_await(&gate, 1));
        atomic_store(&journal.count, 0);
        for (uint32_t i = 0; i < STEPS; i++) {
            steps[i] = (struct step){ .id = i, .journal = i % 4 ? NULL : &journal };
            expect_ok(step_submit_on(pool, &steps[i], i % 4));
        }
        status = process_run_apart(child, context);
        expect(WIFEXITED(status));
        expect_eq(WEXITSTATUS(status), EXIT_CODE);
        gate_open(&gate, 1);
        pool_settle(pool);
        for (uint32_t i = 0; i < STEPS; i++) {
            expect_eq(steps[i].runs, 1);
        }
        for (uint32_t i = 0; i < STEPS; i += 4) {
            expect_eq(journal_place(&journal, i), i / 4);
        }
    }
    pool_end(pool);
    gate_fini(&gate);
}

Test(forks, child_may_leave)
{
    fork_beside_work(leave, NULL);
}

Test(forks, child_may_exit_with_its_handlers)
{
    fork_beside_work(leave_by_exit, NULL);
}

Test(forks, child_may_become_another_program)
{
    fork_beside_work(become_another_program, NULL);
}

/* The child cannot use the parent's pool, but it can create its own. */
static void work_with_a_pool_of_its_own(void *context)
{
    static struct step steps[STEPS];
    lanepool_pool *pool;
    int code = EXIT_CODE;

    (void)context;
    if (lanepool_pool_create(NULL, &pool) != LANEPOOL_OK) {
        _exit(1);
    }
    for (uint32_t i = 0; i < STEPS; i++) {
        if (step_submit_rollup(pool, &steps[i], i % 5, 10 + i % 3) != LANEPOOL_OK) {
            code = 2;
        }
    }
    if (lanepool_pool_destroy(pool) != LANEPOOL_OK) {
        code = 3;
    }
    for (uint32_t i = 0; i < STEPS; i++) {
        if (steps[i].runs != 1) {
            code = 4;
        }
    }
    _exit(code);
}

Test(forks, child_may_make_a_pool_of_its_own)
{
    if (PROCESS_IS_SANITIZED) {
        return; /* sanitizers do not allow threads in a child of a process with threads */
    }
    fork_beside_work(work_with_a_pool_of_its_own, NULL);
}
