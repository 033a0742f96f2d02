/*
 * Little memory and few descriptors (RLIMIT_AS, RLIMIT_NOFILE): each call succeeds or answers NOMEM
 * or NO_RESOURCE, and each accepted task runs once or is handed back. A child process has the
 * limits. The limit on memory rises from trial to trial.
 */
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

enum { TASKS = 4000, TRIALS = 120, WORKERS = 2 };
enum { MORE_BYTES = 2 << 10, STACK = PTHREAD_STACK_MIN + (48 << 10) };

struct outcome {
    unsigned refused_pools, refused_tasks, whole_trials;
    unsigned wrong_statuses, lost; /* tasks that did not end once, or ended without an accept */
};

struct trial {
    lanepool_pool *pool;
    struct step steps[TASKS];
    lanepool_future *futures[TASKS];
    bool accepted[TASKS];
    unsigned handed_back[TASKS];
};

static struct trial trial;

/* --- limits --- */

/* Returns the bytes of address space in use; 0 if the system does not report them. */
static rlim_t address_space(void)
{
    char text[64] = "";
    int file = open("/proc/self/statm", O_RDONLY);
    ssize_t size = file >= 0 ? read(file, text, sizeof text - 1) : -1;

    if (file >= 0) {
        close(file);
    }
    return size > 0 ? strtoul(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) : 0;
}

static void limit(int resource, rlim_t value)
{
    struct rlimit limits;

    getrlimit(resource, &limits);
    limits.rlim_cur = value;
    setrlimit(resource, &limits);
}

/* --- one trial --- */

static bool is_allowed(lanepool_status status)
{
    return status == LANEPOOL_OK || status == LANEPOOL_NOMEM || status == LANEPOOL_NO_RESOURCE;
}

static void take_back(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct step *step = task->context;

    (void)context;
    (void)ticket;
    trial.handed_back[step - trial.steps]++;
}

/* Each seventh task has a future, and each eleventh one is delayed. */
static lanepool_status submit(uint32_t number)
{
    lanepool_claim claims[] = { lanepool_exclusive(number), lanepool_shared(TASKS + number % 5) };
    lanepool_task task = step_task(&trial.steps[number], claims, number % 3);

    task.future = number % 7 == 0 ? &trial.futures[number] : NULL;
    return number % 11 == 0 ? lanepool_pool_submit_after(trial.pool, &task, 1000)
                            : lanepool_pool_submit(trial.pool, &task);
}

static void submit_all(struct outcome *outcome)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        lanepool_status status = submit(i);

        trial.accepted[i] = status == LANEPOOL_OK;
        outcome->refused_tasks += !trial.accepted[i];
        outcome->wrong_statuses += !is_allowed(status);
    }
}

static void expect_each_end(struct outcome *outcome)
{
    for (uint32_t i = 0; i < TASKS; i++) {
        const struct step *step = &trial.steps[i];

        outcome->lost += step->runs + step->cancels + trial.handed_back[i] != trial.accepted[i];
        outcome->lost += trial.futures[i] != NULL && !trial.accepted[i];
        lanepool_future_release(trial.futures[i]);
    }
}

/* With little memory, as long as the limit holds. Some pools are shut down at once. */
static void use_with(struct outcome *outcome, rlim_t bytes, bool stops)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    unsigned refused_before = outcome->refused_tasks;

    memset(&trial, 0, sizeof trial);
    options.workers = WORKERS;
    options.worker_stack_size = STACK;
    options.drain_waits_for_delayed = true;
    limit(RLIMIT_AS, address_space() + bytes);
    lanepool_status status = lanepool_pool_create(&options, &trial.pool);
    outcome->wrong_statuses += !is_allowed(status);
    outcome->refused_pools += status != LANEPOOL_OK;
    if (status == LANEPOOL_OK) {
        submit_all(outcome);
        status = stops ? lanepool_pool_shutdown_now(trial.pool, take_back, NULL)
                       : lanepool_pool_quiesce(trial.pool, LANEPOOL_FOREVER);
        outcome->wrong_statuses += !is_allowed(status);
        status = lanepool_pool_destroy(trial.pool);
        outcome->wrong_statuses += !is_allowed(status);
        limit(RLIMIT_AS, RLIM_INFINITY);
        if (status != LANEPOOL_OK) {
            outcome->wrong_statuses += lanepool_pool_destroy(trial.pool) != LANEPOOL_OK;
        }
        expect_each_end(outcome);
        outcome->whole_trials += outcome->refused_tasks == refused_before;
    }
    limit(RLIMIT_AS, RLIM_INFINITY);
}

static void use_with_ever_more_memory(void *context)
{
    struct outcome *outcome = context;

    for (rlim_t i = 0; address_space() > 0 && i < TRIALS; i++) {
        use_with(outcome, i * i * MORE_BYTES, i % 3 == 2);
    }
    /* Enough for everything. */
    use_with(outcome, (rlim_t)1 << 30, false);
}

Test(resource_limits, with_little_memory_no_accepted_task_is_lost)
{
    struct outcome *outcome;
    int status;

    if (PROCESS_IS_SANITIZED) {
        printf("sanitizers need more address space than a limit can allow\n");
        return;
    }
    outcome = process_shared_memory(sizeof *outcome);
    status = process_run_apart(use_with_ever_more_memory, outcome);
    expect(WIFEXITED(status));
    expect_eq(WEXITSTATUS(status), 0);
    printf("%u pools and %u tasks refused, %u whole trials\n", outcome->refused_pools,
           outcome->refused_tasks, outcome->whole_trials);
    expect_eq(outcome->wrong_statuses, 0);
    expect_eq(outcome->lost, 0);
    expect(outcome->refused_pools > 0);
    expect(outcome->refused_tasks > 0);
    expect(outcome->whole_trials > 0);
    process_shared_memory_free(outcome, sizeof *outcome);
}

/* --- descriptors --- */

struct descriptors {
    lanepool_status create, group, refused, again, next;
    bool set_on_failure; /* a refused call has stored a descriptor */
    bool is_readable;
    unsigned runs;
};

/* A pool needs none. A group needs one for an event loop, and is usable without it. */
static void use_without_descriptors(void *context)
{
    struct descriptors *seen = context;
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    lanepool_completion completion;
    lanepool_group *group;
    lanepool_pool *pool;
    struct pollfd pollfd = { .fd = -1, .events = POLLIN };
    struct step steps[2] = { { .id = 0 }, { .id = 1 } };
    int free_one = dup(STDIN_FILENO);

    close(free_one);
    limit(RLIMIT_NOFILE, (rlim_t)free_one);
    options.keeps_completions = true;
    seen->create = lanepool_pool_create(NULL, &pool);
    seen->group = lanepool_group_create(&options, &group);
    seen->refused = lanepool_group_fd(group, &pollfd.fd);
    seen->set_on_failure = pollfd.fd >= 0;
    for (int i = 0; i < 2; i++) {
        lanepool_task task = member_task(group, &steps[i], NULL);

        seen->next = lanepool_pool_submit(pool, &task);
        seen->next = seen->next == LANEPOOL_OK
                         ? lanepool_group_next(group, LANEPOOL_FOREVER, &completion)
                         : seen->next;
        limit(RLIMIT_NOFILE, (rlim_t)free_one + 1);
    }
    seen->again = lanepool_group_fd(group, &pollfd.fd);
    lanepool_status closed = lanepool_group_close(group);
    seen->is_readable = closed == LANEPOOL_OK && poll(&pollfd, 1, 0) == 1;
    seen->runs = steps[0].runs + steps[1].runs;
    lanepool_group_destroy(group);
    (void)lanepool_pool_destroy(pool);
}

Test(resource_limits, group_is_usable_without_a_descriptor)
{
    struct descriptors *seen = process_shared_memory(sizeof *seen);
    int status = process_run_apart(use_without_descriptors, seen);

    expect(WIFEXITED(status));
    expect_eq(WEXITSTATUS(status), 0);
    expect_ok(seen->create);
    expect_ok(seen->group);
    expect_status(seen->refused, LANEPOOL_NO_RESOURCE);
    expect(!seen->set_on_failure);
    expect_ok(seen->next);
    expect_ok(seen->again);
    expect(seen->is_readable);
    expect_eq(seen->runs, 2);
    process_shared_memory_free(seen, sizeof *seen);
}
