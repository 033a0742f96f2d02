/*
 * Misuse. A call with a status answers INVALID, or what names the mistake, and changes nothing. A
 * call without a status answers something safe, or ends a checked build with a message.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/process.h"
#include "support/step.h"
#include "support/test.h"

/* --- calls without a status --- */

/* Each returns true if the answer is the safe one. */
static bool is_shut_down(void)
{
    return lanepool_pool_is_shut_down(NULL);
}

static bool is_terminated(void)
{
    return lanepool_pool_is_terminated(NULL);
}

static bool is_not_paused(void)
{
    return !lanepool_pool_is_paused(NULL);
}

static bool has_no_worker(void)
{
    return lanepool_pool_worker_count(NULL) == 0;
}

static bool has_no_pool(void)
{
    return lanepool_run_pool(NULL) == NULL;
}

static bool has_no_ticket(void)
{
    return lanepool_run_ticket(NULL) == 0;
}

static bool has_missed_nothing(void)
{
    return lanepool_trace_missed(NULL) == 0;
}

static bool runs_on_no_worker(void)
{
    return lanepool_run_worker(NULL) == SIZE_MAX && lanepool_run_worker_context(NULL) == NULL;
}

static bool is_first_attempt(void)
{
    return lanepool_run_attempt(NULL) == 1;
}

static bool holds_nothing(void)
{
    return !lanepool_run_holds(NULL, lanepool_key_id(1));
}

static bool sets_nothing(void)
{
    lanepool_run_set_result(NULL, NULL);
    return true;
}

static bool is_not_cancelled(void)
{
    return !lanepool_run_is_cancelled(NULL) && !lanepool_detached_is_cancelled(NULL);
}

static bool has_no_member(void)
{
    return lanepool_group_pending(NULL) == 0;
}

static bool sequence_is_cancelled(void)
{
    return lanepool_sequence_is_cancelled(NULL);
}

static bool retains_nothing(void)
{
    return lanepool_future_retain(NULL) == NULL;
}

static bool finds_nothing(void)
{
    return lanepool_snapshot_find(NULL, 1) == LANEPOOL_SNAPSHOT_NONE;
}

static int complete_twice(lanepool_run *run, void *context)
{
    lanepool_status *answers = context;
    lanepool_detached *detached;

    answers[0] = lanepool_run_detach(run, &detached);
    if (answers[0] == LANEPOOL_OK) {
        answers[1] = lanepool_task_complete(detached, 0, NULL);
        answers[2] = lanepool_task_complete(detached, 1, NULL);
    }
    return 0;
}

static bool second_completion_is_refused(void)
{
    lanepool_status answers[3] = { LANEPOOL_FULL, LANEPOOL_FULL, LANEPOOL_FULL };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = complete_twice;
    task.context = answers;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_end(pool);
    return answers[0] == LANEPOOL_OK && answers[1] == LANEPOOL_OK && answers[2] == LANEPOOL_INVALID;
}

static bool (*const calls[])(void) = {
    has_no_worker,    is_shut_down,       is_terminated,
    is_not_paused,    has_no_pool,        runs_on_no_worker,
    is_first_attempt, holds_nothing,      sets_nothing,
    is_not_cancelled, has_no_member,      sequence_is_cancelled,
    retains_nothing,  finds_nothing,      second_completion_is_refused,
    has_no_ticket,    has_missed_nothing,
};

struct call {
    bool (*call)(void);
    bool is_safe;
};

static void make_call(void *context)
{
    struct call *call = context;

    call->is_safe = call->call();
}

/* Returns true if the call has ended the process; fails the test if its answer was not safe. */
static bool ends_the_process(bool (*call)(void))
{
    struct call *shared = process_shared_memory(sizeof *shared);
    int status;
    bool is_safe;

    shared->call = call;
    status = process_run_apart(make_call, shared);
    is_safe = shared->is_safe;
    process_shared_memory_free(shared, sizeof *shared);
    if (WIFSIGNALED(status)) {
        expect_eq(WTERMSIG(status), SIGABRT);
        return true;
    }
    expect_eq(status, 0);
    expect(is_safe);
    return false;
}

/* A checked build finds each mistake, another build none. */
Test(misuse, calls_answer_safely_or_end_a_checked_build)
{
    bool is_checked = ends_the_process(calls[0]);

    for (size_t i = 1; i < sizeof calls / sizeof *calls; i++) {
        expect_eq(ends_the_process(calls[i]), is_checked);
    }
}

/* --- handles that were given back --- */

static int return_success(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    return 0;
}

/* Submits a task with a future. */
static lanepool_future *submit_task(lanepool_pool *pool)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future = NULL;

    task.function = return_success;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

static void release_a_pending_future_twice(void)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future;

    expect_ok(lanepool_pool_pause(pool));
    future = submit_task(pool);
    lanepool_future_release(future);
    lanepool_future_release(future);
}

static lanepool_future *make_released_future(void)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_future *future = submit_task(pool);

    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    lanepool_future_release(future);
    return future;
}

static void release_an_ended_future_twice(void)
{
    lanepool_future_release(make_released_future());
}

static void retain_a_released_future(void)
{
    (void)lanepool_future_retain(make_released_future());
}

/* The quiesce makes the worker release its own reference to the future. */
static void release_a_future_of_a_sequence_twice(void)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future = NULL;
    lanepool_executor *executor;
    lanepool_sequence *sequence;

    expect_ok(lanepool_pool_executor(pool, &executor));
    expect_ok(lanepool_sequence_create(executor, &sequence));
    task.function = return_success;
    task.future = &future;
    expect_ok(lanepool_sequence_submit(sequence, &task));
    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    lanepool_future_release(future);
    lanepool_future_release(future);
}

/* Destroys a group with one pending member. */
static lanepool_group *make_destroyed_group(lanepool_pool *pool)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_group *group;

    expect_ok(lanepool_group_create(NULL, &group));
    expect_ok(lanepool_pool_pause(pool));
    task.function = return_success;
    task.group = group;
    expect_ok(lanepool_pool_submit(pool, &task));
    lanepool_group_destroy(group);
    return group;
}

static void destroy_a_pending_group_twice(void)
{
    lanepool_group_destroy(make_destroyed_group(pool_make(1, LANEPOOL_PER_KEY)));
}

static void destroy_an_ended_group_twice(void)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_group *group = make_destroyed_group(pool);

    expect_ok(lanepool_pool_resume(pool));
    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    lanepool_group_destroy(group);
}

/* After the quiesce the router has carried the first release out. */
static void release_a_lane_twice(void)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_lane *lane;

    expect_ok(lanepool_lane_acquire(pool, lanepool_key_id(1), &lane));
    lanepool_lane_release(lane);
    expect_ok(lanepool_pool_quiesce(pool, LANEPOOL_FOREVER));
    lanepool_lane_release(lane);
}

static int detach_task(lanepool_run *run, void *context)
{
    lanepool_detached **detached = context;

    return lanepool_run_detach(run, detached);
}

static lanepool_future *submit_detached_task(lanepool_pool *pool, lanepool_detached **detached)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future = NULL;

    task.function = detach_task;
    task.context = detached;
    task.future = &future;
    expect_ok(lanepool_pool_submit(pool, &task));
    return future;
}

/* Waits for the task's end before the first completion if the pool ends the task, and otherwise
 * after it. Returns the handle. */
static lanepool_detached *complete_task(lanepool_status expected)
{
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_detached *detached = NULL;
    lanepool_future *future = submit_detached_task(pool, &detached);
    bool pool_ends_task = expected == LANEPOOL_DONE;

    future_finish(submit_task(pool)); /* the only worker has returned from the first task */
    if (pool_ends_task) {
        expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
        expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    }
    expect_status(lanepool_task_complete(detached, 0, NULL), expected);
    expect_ok(lanepool_future_wait(future, LANEPOOL_FOREVER, NULL));
    return detached;
}

static void complete_an_ended_task_twice(void)
{
    expect_status(lanepool_task_complete(complete_task(LANEPOOL_OK), 0, NULL), LANEPOOL_INVALID);
}

static void complete_a_stopped_task_twice(void)
{
    expect_status(lanepool_task_complete(complete_task(LANEPOOL_DONE), 0, NULL), LANEPOOL_INVALID);
}

static void ask_about_a_completed_task(void)
{
    (void)lanepool_detached_is_cancelled(complete_task(LANEPOOL_OK));
}

static const struct mistake {
    void (*make)(void);
    const char *message; /* a part of the message */
} mistakes[] = {
    { release_a_pending_future_twice, "lanepool_future_release(): the future was released before" },
    { release_an_ended_future_twice, "lanepool_future_release(): the future was released before" },
    { release_a_future_of_a_sequence_twice,
      "lanepool_future_release(): the future was released before" },
    { retain_a_released_future, "lanepool_future_retain(): the future was released before" },
    { destroy_a_pending_group_twice, "lanepool_group_destroy(): the group was destroyed before" },
    { destroy_an_ended_group_twice, "lanepool_group_destroy(): the group was destroyed before" },
    { release_a_lane_twice, "lanepool_lane_release(): the lane was released before" },
    { complete_an_ended_task_twice, "lanepool_task_complete(): the task was completed before" },
    { complete_a_stopped_task_twice, "lanepool_task_complete(): the task was completed before" },
    { ask_about_a_completed_task,
      "lanepool_detached_is_cancelled(): the task was completed before" },
};

struct attempt {
    void (*make)(void);
    FILE *messages;
};

static void make_mistake(void *context)
{
    const struct attempt *attempt = context;

    if (dup2(fileno(attempt->messages), STDERR_FILENO) == STDERR_FILENO) {
        attempt->make();
    }
}

/* AddressSanitizer has its own message for a use of freed memory. */
static bool names_mistake(FILE *messages, const char *message)
{
    char text[65536];
    size_t size;

    rewind(messages);
    size = fread(text, 1, sizeof text - 1, messages);
    text[size] = 0;
    return strstr(text, message) != NULL || strstr(text, "heap-use-after-free") != NULL;
}

static void expect_found(const struct mistake *mistake)
{
    struct attempt attempt = { mistake->make, tmpfile() };
    int status;

    expect(attempt.messages != NULL);
    status = process_run_apart(make_mistake, &attempt);
    expect(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : WEXITSTATUS(status) != 0);
    expect(names_mistake(attempt.messages, mistake->message));
    fclose(attempt.messages);
}

/* Another build may do anything after these mistakes. */
Test(misuse, checked_builds_find_handles_that_were_given_back)
{
    if (!ends_the_process(calls[0])) {
        return;
    }
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        expect_found(&mistakes[i]);
    }
}

/* --- calls with a status --- */

struct inside {
    lanepool_pool *pool;
    lanepool_future *own;
    lanepool_status answers[4];
};

static int misuse_inside(lanepool_run *run, void *context)
{
    struct inside *inside = context;

    (void)run;
    inside->answers[0] = lanepool_pool_destroy(inside->pool);
    inside->answers[1] = lanepool_pool_await(inside->pool, LANEPOOL_FOREVER);
    inside->answers[2] = lanepool_pool_quiesce(inside->pool, LANEPOOL_FOREVER);
    inside->answers[3] = lanepool_future_wait(inside->own, LANEPOOL_FOREVER, NULL);
    return 0;
}

Test(misuse, waits_for_oneself_are_deadlocks)
{
    struct inside inside = { .pool = pool_make(1, LANEPOOL_PER_KEY) };
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = misuse_inside;
    task.context = &inside;
    task.future = &inside.own;
    expect_ok(lanepool_pool_pause(inside.pool)); /* the future is there before the task runs */
    expect_ok(lanepool_pool_submit(inside.pool, &task));
    expect_ok(lanepool_pool_resume(inside.pool));
    future_finish(inside.own);
    for (int i = 0; i < 4; i++) {
        expect_status(inside.answers[i], LANEPOOL_DEADLOCK);
    }
    pool_end(inside.pool);
}

Test(misuse, after_a_shutdown_nothing_is_accepted)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_timer *timer;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_ok(lanepool_pool_shutdown(pool));
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_or_run(pool, &task), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_batch(pool, &task, 1, 0, NULL), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_after(pool, &task, 1000), LANEPOOL_SHUT_DOWN);
    expect_status(lanepool_pool_submit_every(pool, &task, 0, 1, LANEPOOL_FIXED_RATE, &timer),
                  LANEPOOL_SHUT_DOWN);
    expect(timer == NULL);
    expect_status(lanepool_pool_pause(pool), LANEPOOL_SHUT_DOWN);
    expect_ok(lanepool_pool_shutdown(pool));
    expect_status(lanepool_pool_shutdown_now(pool, NULL, NULL), LANEPOOL_SHUT_DOWN);
    pool_end(pool);
    expect_eq(step.runs, 0);
    expect_eq(step.releases, 0);
}

/* A wrong value in a policy is INVALID, in a pool that offers no policy as well. */
Test(misuse, wrong_values_in_a_policy)
{
    static const lanepool_layout layouts[] = { LANEPOOL_PER_KEY, LANEPOOL_PER_WORKER };
    struct step step = { 0 };
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    lanepool_task task = step_task(&step, NULL, 0);

    task.on_failure = &policy;
    for (int i = 0; i < 2; i++) {
        lanepool_pool *pool = pool_make(1, layouts[i]);

        policy.at_end = (lanepool_failure_end)3;
        expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
        policy.at_end = LANEPOOL_FAILURE_CONTINUE;
        policy.at_poison = (lanepool_at_poison)3;
        expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
        policy.at_poison = LANEPOOL_AT_POISON_WAIT;
        policy.struct_size = 1;
        expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
        policy.struct_size = sizeof policy;
        expect_status(lanepool_pool_resolve(pool, 0, (lanepool_resolution)3), LANEPOOL_INVALID);
        expect_ok(lanepool_pool_submit(pool, &task));
        pool_end(pool);
    }
    expect_eq(step.runs, 2);
}
