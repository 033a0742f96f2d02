/* Sequences and executors: arguments, the works that an executor gets, waits, and ends. */
#include <pthread.h>

#include "support/step.h"
#include "support/test.h"

enum { WORKS_MAX = 256, THREADS = 64 };

/* An executor that stores works until the test runs them. */
struct keeper {
    lanepool_executor *executor;
    lanepool_work *works[WORKS_MAX];
    size_t count, taken;
    lanepool_status answer;
    uint32_t releases;
};

static lanepool_status keep(void *context, lanepool_work *work)
{
    struct keeper *keeper = context;

    if (keeper->answer == LANEPOOL_OK) {
        expect(keeper->count < WORKS_MAX);
        keeper->works[keeper->count++] = work;
    }
    return keeper->answer;
}

static void count_release(void *context)
{
    struct keeper *keeper = context;

    keeper->releases++;
}

static void keeper_open(struct keeper *keeper)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;

    *keeper = (struct keeper){ .answer = LANEPOOL_OK };
    functions.execute = keep;
    functions.release = count_release;
    expect_ok(lanepool_executor_create(&functions, keeper, &keeper->executor));
}

static void keeper_run(struct keeper *keeper)
{
    while (keeper->taken < keeper->count) {
        lanepool_work_run(keeper->works[keeper->taken++]);
    }
}

static lanepool_sequence *sequence_make(lanepool_executor *executor)
{
    lanepool_sequence *sequence = NULL;

    expect_ok(lanepool_sequence_create(executor, &sequence));
    return sequence;
}

static lanepool_status submit(lanepool_sequence *sequence, struct step *step,
                              lanepool_future **future)
{
    lanepool_task task = step_task(step, NULL, 0);

    task.release = step_release;
    task.future = future;
    return lanepool_sequence_submit(sequence, &task);
}

/* --- arguments --- */

static bool always(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a, (void)b, (void)user;
    return true;
}

Test(sequence, bad_executors_are_refused)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    struct {
        lanepool_executor_functions functions;
        size_t more;
    } longer = { LANEPOOL_EXECUTOR_FUNCTIONS_INIT, 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_executor *executor = (lanepool_executor *)&options;
    lanepool_pool *pool;

    expect_status(lanepool_executor_create(&functions, NULL, &executor), LANEPOOL_INVALID);
    expect(executor == NULL);
    functions.execute = keep;
    expect_status(lanepool_executor_create(&functions, NULL, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_executor_create(NULL, NULL, &executor), LANEPOOL_INVALID);
    functions.take_back = (bool (*)(void *, lanepool_work *))1;
    expect_status(lanepool_executor_create(&functions, NULL, &executor), LANEPOOL_INVALID);
    longer.functions.struct_size = sizeof longer;
    longer.functions.execute = keep;
    longer.more = 1;
    expect_status(lanepool_executor_create(&longer.functions, NULL, &executor), LANEPOOL_INVALID);
    longer.more = 0;
    expect_ok(lanepool_executor_create(&longer.functions, NULL, &executor));
    expect_ok(lanepool_executor_destroy(executor));
    expect_ok(lanepool_executor_destroy(NULL));
    options.is_compatible = always;
    pool = pool_make_with(&options);
    expect_status(lanepool_pool_executor(pool, &executor), LANEPOOL_UNSUPPORTED);
    expect_status(lanepool_pool_executor(NULL, &executor), LANEPOOL_INVALID);
    expect(executor == NULL);
    pool_end(pool);
}

static lanepool_status submit_with(lanepool_sequence *sequence, lanepool_task task)
{
    struct step step = { 0 };
    lanepool_future *future = (lanepool_future *)&step;

    task.context = &step;
    task.future = &future;
    lanepool_status status = lanepool_sequence_submit(sequence, &task);
    expect(future == NULL);
    expect_status(lanepool_sequence_submit_after(sequence, &task, 10), status);
    expect(future == NULL);
    return status;
}

static int visit_nothing(lanepool_run *run, void *context, size_t index)
{
    return run == NULL && context != NULL && index > 0;
}

Test(sequence, bad_tasks_are_refused)
{
    struct keeper keeper;
    struct step step = { 0 };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_task bad;

    keeper_open(&keeper);
    lanepool_sequence *sequence = (lanepool_sequence *)&keeper;
    expect_status(lanepool_sequence_create(NULL, &sequence), LANEPOOL_INVALID);
    expect(sequence == NULL);
    expect_status(lanepool_sequence_create(keeper.executor, NULL), LANEPOOL_INVALID);
    sequence = sequence_make(keeper.executor);
    expect_status(submit_with(NULL, task), LANEPOOL_INVALID);
    expect_status(lanepool_sequence_submit(sequence, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_sequence_submit_after(sequence, NULL, 1), LANEPOOL_INVALID);
    bad = task, bad.function = NULL;
    expect_status(submit_with(sequence, bad), LANEPOOL_INVALID);
    bad = step_task(&step, &claim, 1);
    expect_status(submit_with(sequence, bad), LANEPOOL_UNSUPPORTED);
    bad = task, bad.kind = 1;
    expect_status(submit_with(sequence, bad), LANEPOOL_UNSUPPORTED);
    bad = task, bad.tag = 1;
    expect_status(submit_with(sequence, bad), LANEPOOL_UNSUPPORTED);
    bad = task, bad.group = (lanepool_group *)&keeper;
    expect_status(submit_with(sequence, bad), LANEPOOL_UNSUPPORTED);
    bad = task, bad.pump = (lanepool_pump *)&keeper;
    expect_status(submit_with(sequence, bad), LANEPOOL_UNSUPPORTED);
    bad = task, bad.at_lane = visit_nothing;
    expect_status(submit_with(sequence, bad), LANEPOOL_UNSUPPORTED);
    bad = task, bad.struct_size = offsetof(lanepool_task, at_lane) - 1;
    expect_status(lanepool_sequence_submit(sequence, &bad), LANEPOOL_INVALID);
    expect_status(lanepool_sequence_cancel(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_sequence_pause(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_sequence_resume(NULL), LANEPOOL_INVALID);
    expect_status(lanepool_sequence_wait(NULL, 0), LANEPOOL_INVALID);
    expect_ok(lanepool_sequence_destroy(NULL));
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_eq(keeper.count, 0);
    expect_ok(lanepool_executor_destroy(keeper.executor));
    expect_eq(keeper.releases, 1);
}

/* --- the works that an executor gets --- */

Test(sequence, s2_3_only_the_first_task_of_an_idle_sequence_hands_work_over)
{
    enum { TASKS = 200 };
    struct keeper keeper;
    struct step steps[TASKS] = { { 0 } };

    keeper_open(&keeper);
    lanepool_sequence *sequence = sequence_make(keeper.executor);
    for (int i = 0; i < TASKS; i++) {
        expect_ok(submit(sequence, &steps[i], NULL));
    }
    expect_eq(keeper.count, 1);
    lanepool_work_run(keeper.works[keeper.taken++]);
    expect_eq(keeper.count, 2); /* after a batch, other works may run */
    expect_eq(steps[0].runs, 1);
    expect_eq(steps[TASKS - 1].runs, 0);
    keeper_run(&keeper);
    expect_eq(steps[TASKS - 1].runs, 1);
    expect_eq(steps[TASKS - 1].ticket, TASKS - 1);
    expect(keeper.count <= 1 + TASKS / 64);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(keeper.executor));
    expect_eq(keeper.releases, 1);
}

/* Tasks that submit one another, and the stack addresses at which they run. */
struct depths {
    lanepool_sequence *sequence;
    uint32_t left;
    uintptr_t least, most;
};

static int note_depth(lanepool_run *run, void *context)
{
    struct depths *depths = context;
    uintptr_t depth = (uintptr_t)__builtin_frame_address(0);
    lanepool_task task = LANEPOOL_TASK_INIT;

    (void)run;
    depths->least = depth < depths->least ? depth : depths->least;
    depths->most = depth > depths->most ? depth : depths->most;
    task.function = note_depth;
    task.context = depths;
    if (depths->left > 0) {
        depths->left--;
        return (int)lanepool_sequence_submit(depths->sequence, &task);
    }
    return 0;
}

static lanepool_status run_inside(void *context, lanepool_work *work)
{
    (void)context;
    lanepool_work_run(work);
    return LANEPOOL_OK;
}

Test(sequence, s2_3_executor_that_runs_inside_of_the_call_does_not_recurse)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    struct depths depths = { .left = 10000, .least = UINTPTR_MAX };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_executor *executor;

    functions.execute = run_inside;
    expect_ok(lanepool_executor_create(&functions, NULL, &executor));
    depths.sequence = sequence_make(executor);
    task.function = note_depth;
    task.context = &depths;
    expect_ok(lanepool_sequence_submit(depths.sequence, &task));
    expect_eq(depths.left, 0);
    expect_eq(depths.most - depths.least, 0);
    expect_ok(lanepool_sequence_destroy(depths.sequence));
    expect_ok(lanepool_executor_destroy(executor));
}

Test(sequence, s2_8_executor_that_runs_nothing_holds_up_nobody)
{
    struct keeper keeper;
    struct step steps[3] = { { 0 } };
    lanepool_future *future;

    keeper_open(&keeper);
    lanepool_sequence *sequence = sequence_make(keeper.executor);
    for (int i = 0; i < 3; i++) {
        expect_ok(submit(sequence, &steps[i], i == 1 ? &future : NULL));
    }
    expect_status(lanepool_sequence_wait(sequence, 1000000), LANEPOOL_TIMED_OUT);
    expect_status(lanepool_future_wait(future, 1000000, NULL), LANEPOOL_TIMED_OUT);
    expect_ok(lanepool_future_cancel(future));
    expect_eq(steps[1].releases, 1);
    lanepool_future_release(future);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_eq(steps[0].cancels, 1);
    expect_eq(steps[2].releases, 1);
    expect_ok(lanepool_executor_destroy(keeper.executor));
    expect_eq(keeper.releases, 0);
    keeper_run(&keeper); /* late: the sequence and the executor are destroyed */
    expect_eq(keeper.releases, 1);
    expect_eq(steps[0].runs, 0);
}

Test(sequence, s2_8_work_that_runs_twice_and_late_does_no_harm)
{
    struct keeper keeper;
    struct step steps[4] = { { 0 } };

    keeper_open(&keeper);
    lanepool_sequence *first = sequence_make(keeper.executor);
    expect_ok(submit(first, &steps[0], NULL));
    keeper_run(&keeper);
    lanepool_work_run(keeper.works[0]);
    expect_eq(steps[0].runs, 1);
    expect_ok(submit(first, &steps[1], NULL));
    expect_ok(lanepool_sequence_destroy(first));
    lanepool_work_run(keeper.works[0]); /* its sequence is destroyed */
    lanepool_sequence *second = sequence_make(keeper.executor);
    expect_ok(submit(second, &steps[2], NULL));
    lanepool_work_run(keeper.works[0]); /* it may belong to the second sequence now */
    keeper_run(&keeper);
    lanepool_work_run(keeper.works[1]);
    expect_eq(steps[1].runs, 0);
    expect_eq(steps[1].cancels, 1);
    expect_eq(steps[2].runs, 1);
    expect_ok(lanepool_sequence_destroy(second));
    expect_ok(lanepool_executor_destroy(keeper.executor));
    expect_eq(keeper.releases, 1);
}

struct crowd {
    lanepool_work *work;
    pthread_barrier_t barrier;
};

static void *run_with_the_crowd(void *argument)
{
    struct crowd *crowd = argument;

    pthread_barrier_wait(&crowd->barrier);
    lanepool_work_run(crowd->work);
    return NULL;
}

Test(sequence, s2_8_one_work_on_many_threads_at_once_runs_each_task_once)
{
    struct keeper keeper;
    struct step steps[40];
    struct journal journal = { .count = 0 };
    struct crowd crowd;
    pthread_t threads[THREADS];

    keeper_open(&keeper);
    lanepool_sequence *sequence = sequence_make(keeper.executor);
    for (uint32_t i = 0; i < 40; i++) {
        steps[i] = (struct step){ .id = i, .journal = &journal };
        expect_ok(submit(sequence, &steps[i], NULL));
    }
    expect_eq(keeper.count, 1);
    crowd.work = keeper.works[0];
    expect_eq(pthread_barrier_init(&crowd.barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        expect_eq(pthread_create(&threads[i], NULL, run_with_the_crowd, &crowd), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_barrier_destroy(&crowd.barrier);
    expect_ok(lanepool_sequence_wait(sequence, 0));
    expect_eq(journal.most_running, 1);
    for (uint32_t i = 0; i < 40; i++) {
        expect_eq(journal.ids[i], i);
    }
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(keeper.executor));
}

Test(sequence, s2_8_refusal_is_answered_and_changes_nothing)
{
    struct keeper keeper;
    struct step steps[2] = { { 0 } };
    lanepool_future *future = NULL;

    keeper_open(&keeper);
    lanepool_sequence *sequence = sequence_make(keeper.executor);
    keeper.answer = LANEPOOL_FULL;
    expect_status(submit(sequence, &steps[0], &future), LANEPOOL_FULL);
    expect(future == NULL);
    expect_ok(lanepool_sequence_wait(sequence, 0));
    keeper.answer = LANEPOOL_OK;
    expect_ok(submit(sequence, &steps[1], NULL));
    keeper_run(&keeper);
    expect_eq(steps[0].runs + steps[0].cancels + steps[0].releases, 0);
    expect_eq(steps[1].runs, 1);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(keeper.executor));
}

/* --- waits, callbacks, failures --- */

struct inside {
    lanepool_sequence *sequence;
    struct step behind;
    lanepool_future *own;
    lanepool_future *behind_future;
    lanepool_status answers[6];
};

static int ask_inside(lanepool_run *run, void *context)
{
    struct inside *inside = context;
    size_t index;

    (void)run;
    inside->answers[0] = submit(inside->sequence, &inside->behind, &inside->behind_future);
    inside->answers[1] = lanepool_future_wait(inside->behind_future, LANEPOOL_FOREVER, NULL);
    inside->answers[2] = lanepool_future_wait(inside->own, LANEPOOL_FOREVER, NULL);
    inside->answers[3] = lanepool_sequence_wait(inside->sequence, LANEPOOL_FOREVER);
    inside->answers[4] = lanepool_sequence_destroy(inside->sequence);
    inside->answers[5] = lanepool_future_wait_any(&inside->own, 1, LANEPOOL_FOREVER, &index);
    return 0;
}

Test(sequence, waits_inside_for_what_stands_behind_are_deadlocks_at_once)
{
    struct keeper keeper;
    struct inside inside = { 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;

    keeper_open(&keeper);
    inside.sequence = sequence_make(keeper.executor);
    task.function = ask_inside;
    task.context = &inside;
    task.future = &inside.own;
    expect_ok(lanepool_sequence_submit(inside.sequence, &task));
    keeper_run(&keeper);
    expect_ok(inside.answers[0]);
    for (int i = 1; i < 6; i++) {
        expect_status(inside.answers[i], LANEPOOL_DEADLOCK);
    }
    expect_eq(inside.behind.runs, 1);
    lanepool_future_release(inside.own);
    lanepool_future_release(inside.behind_future);
    expect_ok(lanepool_sequence_destroy(inside.sequence));
    expect_ok(lanepool_executor_destroy(keeper.executor));
}

/* The records of a continuation. */
struct found {
    lanepool_sequence *sequence;
    struct step next;
    lanepool_result result;
    lanepool_status submitted;
};

static void look_and_submit(void *context, const lanepool_result *result)
{
    struct found *found = context;

    found->result = *result;
    found->submitted = submit(found->sequence, &found->next, NULL);
}

Test(sequence, results_failures_and_continuations_are_those_of_futures)
{
    struct keeper keeper;
    struct step step = { .code = -7, .value = &step };
    struct found found = { .submitted = LANEPOOL_INVALID };
    lanepool_future *future;

    keeper_open(&keeper);
    found.sequence = sequence_make(keeper.executor);
    expect_ok(submit(found.sequence, &step, &future));
    expect_ok(lanepool_future_then(future, look_and_submit, &found));
    keeper_run(&keeper);
    expect_status(found.result.status, LANEPOOL_FAILED);
    expect_eq(found.result.code, -7);
    expect(found.result.value == &step);
    expect_ok(found.submitted);
    expect_eq(found.next.runs, 1); /* a failure does not break the sequence */
    expect_eq(step.worker, SIZE_MAX);
    lanepool_future_release(future);
    expect_ok(lanepool_sequence_destroy(found.sequence));
    expect_ok(lanepool_executor_destroy(keeper.executor));
}

static int end_the_thread(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    pthread_exit(NULL);
}

static void *run_all_kept(void *argument)
{
    keeper_run(argument);
    return argument;
}

Test(sequence, task_that_ends_its_thread_is_abandoned_and_the_sequence_goes_on)
{
    struct keeper keeper;
    struct step next = { 0 };
    lanepool_task task = LANEPOOL_TASK_INIT;
    lanepool_future *future;
    lanepool_result result;
    pthread_t thread;

    keeper_open(&keeper);
    lanepool_sequence *sequence = sequence_make(keeper.executor);
    task.function = end_the_thread;
    task.future = &future;
    expect_ok(lanepool_sequence_submit(sequence, &task));
    expect_ok(submit(sequence, &next, NULL));
    expect_eq(pthread_create(&thread, NULL, run_all_kept, &keeper), 0);
    expect_eq(pthread_join(thread, NULL), 0);
    expect_ok(lanepool_future_wait(future, 0, &result));
    expect_status(result.status, LANEPOOL_ABANDONED);
    keeper_run(&keeper);
    expect_ok(lanepool_sequence_wait(sequence, 0));
    expect_eq(next.runs, 1);
    lanepool_future_release(future);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(keeper.executor));
    expect_eq(keeper.releases, 1);
}

/* --- on a pool --- */

struct taken {
    lanepool_task task;
    size_t count;
};

static void take_task(void *context, const lanepool_task *task, uint64_t ticket)
{
    struct taken *taken = context;

    (void)ticket;
    taken->task = *task;
    taken->count++;
}

/* A stopped pool hands back the work of a sequence; the test submits it to another pool. */
Test(sequence, handed_back_work_of_a_pool_can_go_to_another)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step step = { 0 };
    struct taken taken = { .count = 0 };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_pool *other = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_executor *executor;

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_executor(pool, &executor));
    lanepool_sequence *sequence = sequence_make(executor);
    expect_ok(submit(sequence, &step, NULL));
    expect_ok(lanepool_pool_shutdown_now(pool, take_task, &taken));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(taken.count, 1);
    expect_eq(step.runs + step.cancels, 0);
    expect_ok(lanepool_pool_submit(other, &taken.task));
    expect_ok(lanepool_sequence_wait(sequence, LANEPOOL_FOREVER));
    expect_eq(step.runs, 1);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(executor));
    pool_end(other);
    pool_end(pool);
    gate_fini(&gate);
}

Test(sequence, stopped_pool_cancels_what_waits_in_its_sequences)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step steps[2] = { { 0 } };
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);
    lanepool_executor *executor;

    gate_init(&gate);
    expect_ok(step_submit(pool, &holder));
    expect(gate_await(&gate, 1));
    expect_ok(lanepool_pool_executor(pool, &executor));
    lanepool_sequence *sequence = sequence_make(executor);
    expect_ok(submit(sequence, &steps[0], NULL));
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    expect_eq(steps[0].cancels, 1);
    expect_eq(steps[0].releases, 1);
    expect(lanepool_sequence_is_cancelled(sequence));
    expect_status(submit(sequence, &steps[1], NULL), LANEPOOL_CANCELLED);
    expect_ok(lanepool_sequence_destroy(sequence));
    sequence = sequence_make(executor);
    expect_status(submit(sequence, &steps[1], NULL), LANEPOOL_SHUT_DOWN);
    expect_ok(lanepool_sequence_destroy(sequence));
    expect_ok(lanepool_executor_destroy(executor));
    pool_end(pool);
    gate_fini(&gate);
}
