/*
 * Promises S2.1 to S2.7 of README.md, the executor scheduler: serial lanes over threads of another
 * library. Each test runs on every executor of its program's table.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "support/executors.h"
#include "support/memory.h"
#include "support/step.h"
#include "support/test.h"

static lanepool_sequence *sequence_make(lanepool_executor *executor)
{
    lanepool_sequence *sequence = NULL;

    expect_ok(lanepool_sequence_create(executor, &sequence));
    expect(sequence != NULL);
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

static lanepool_status submit_after(lanepool_sequence *sequence, struct step *step,
                                    lanepool_future **future, int64_t delay_ns)
{
    lanepool_task task = step_task(step, NULL, 0);

    task.release = step_release;
    task.future = future;
    return lanepool_sequence_submit_after(sequence, &task, delay_ns);
}

static void settle(lanepool_sequence *sequence)
{
    expect_ok(lanepool_sequence_wait(sequence, LANEPOOL_FOREVER));
}

static void settle_and_destroy(lanepool_sequence *sequence)
{
    settle(sequence);
    expect_ok(lanepool_sequence_destroy(sequence));
}

/* A sequence whose task waits at a gate. A separate thread submits the task, because an executor
 * may run it inside the submit. */
struct held {
    lanepool_sequence *sequence;
    struct gate gate;
    struct step step;
    lanepool_status status;
    pthread_t thread;
};

static void *submit_held(void *argument)
{
    struct held *held = argument;

    held->status = submit(held->sequence, &held->step, NULL);
    return NULL;
}

static void hold(struct held *held, lanepool_sequence *sequence, struct journal *journal)
{
    *held = (struct held){ .sequence = sequence };
    gate_init(&held->gate);
    held->step.gate = &held->gate;
    held->step.journal = journal;
    expect_eq(pthread_create(&held->thread, NULL, submit_held, held), 0);
    expect(gate_await(&held->gate, 1));
}

static void let_go(struct held *held)
{
    gate_open(&held->gate, 1);
    expect_eq(pthread_join(held->thread, NULL), 0);
    expect_ok(held->status);
    settle(held->sequence);
    gate_fini(&held->gate);
    expect_eq(held->step.runs, 1);
    expect_eq(held->step.releases, 1);
}

/* --- S2.1 --- */

enum { SUBMITTERS = 3, STEPS = 400 };

struct submitter {
    lanepool_sequence *sequence;
    struct step *steps;
    struct journal *journal;
    uint32_t first_id;
    pthread_t thread;
};

static void *submit_many(void *argument)
{
    struct submitter *self = argument;

    for (uint32_t i = 0; i < STEPS; i++) {
        self->steps[i] = (struct step){ .id = self->first_id + i, .journal = self->journal };
        if (submit(self->sequence, &self->steps[i], NULL) != LANEPOOL_OK) {
            return self;
        }
    }
    return NULL;
}

static void expect_in_order(const struct step *steps, const uint32_t *places)
{
    for (uint32_t i = 0; i < STEPS; i++) {
        expect_eq(steps[i].runs, 1);
        expect_eq(steps[i].releases, 1);
        expect(i == 0 || (places[i - 1] < places[i] && steps[i - 1].ticket < steps[i].ticket));
    }
}

static void submit_from_several_threads(lanepool_executor *executor)
{
    struct journal *journal = memory_get(1, sizeof *journal);
    struct step *steps = memory_get((size_t)SUBMITTERS * STEPS, sizeof *steps);
    uint32_t *places = memory_get((size_t)SUBMITTERS * STEPS, sizeof *places);
    lanepool_sequence *sequence = sequence_make(executor);
    struct submitter submitters[SUBMITTERS];

    for (uint32_t i = 0; i < SUBMITTERS; i++) {
        submitters[i] = (struct submitter){ sequence, steps + i * STEPS, journal, i * STEPS,
                                            submitters[i].thread };
        expect_eq(pthread_create(&submitters[i].thread, NULL, submit_many, &submitters[i]), 0);
    }
    for (uint32_t i = 0; i < SUBMITTERS; i++) {
        void *failed = NULL;
        expect_eq(pthread_join(submitters[i].thread, &failed), 0);
        expect(failed == NULL);
    }
    settle_and_destroy(sequence);
    expect_eq(journal->count, SUBMITTERS * STEPS);
    expect_eq(journal->most_running, 1);
    for (uint32_t place = 0; place < SUBMITTERS * STEPS; place++) {
        places[journal->ids[place]] = place;
    }
    for (uint32_t i = 0; i < SUBMITTERS; i++) {
        expect_in_order(steps + i * STEPS, places + i * STEPS);
    }
    free(places);
    free(steps);
    free(journal);
}

Test(seed_s2, s2_1_tasks_run_in_order_and_never_two_at_once_on_any_executor)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();

        submit_from_several_threads(executor);
        under->end(executor);
    }
}

/* --- S2.2 --- */

enum { SEQUENCES = 40 };

Test(seed_s2, s2_2_many_sequences_share_an_executor_that_outlives_them)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        struct step steps[SEQUENCES][3] = { { { 0 } } };
        lanepool_sequence *sequences[SEQUENCES];

        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < SEQUENCES; i++) {
                sequences[i] = sequence_make(executor);
                expect_ok(submit(sequences[i], &steps[i][round], NULL));
            }
            expect_status(lanepool_executor_destroy(executor), LANEPOOL_BUSY);
            for (int i = 0; i < SEQUENCES; i++) {
                settle_and_destroy(sequences[i]);
                expect_eq(steps[i][round].runs, 1);
            }
        }
        under->end(executor);
    }
}

Test(seed_s2, s2_2_sequence_that_is_held_up_does_not_hold_up_another)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        lanepool_sequence *first = sequence_make(executor);
        lanepool_sequence *second = sequence_make(executor);
        struct held held;
        struct step step = { 0 };

        if (under->has_many_threads) {
            hold(&held, first, NULL);
            expect_ok(submit(second, &step, NULL));
            settle(second);
            expect_eq(step.runs, 1);
            let_go(&held);
        }
        expect_ok(lanepool_sequence_destroy(first));
        expect_ok(lanepool_sequence_destroy(second));
        under->end(executor);
    }
}

/* --- S2.3 --- */

enum { DEPTH = 100000 };

struct nested {
    lanepool_sequence *sequence;
    uint32_t left;
    uint32_t inside, most_inside; /* guarded by the sequence */
    _Atomic uint32_t failures;
};

static int submit_the_next(lanepool_run *run, void *context)
{
    struct nested *nested = context;
    lanepool_task task = LANEPOOL_TASK_INIT;

    (void)run;
    task.function = submit_the_next;
    task.context = nested;
    nested->inside++;
    if (nested->inside > nested->most_inside) {
        nested->most_inside = nested->inside;
    }
    if (nested->left > 0) {
        nested->left--;
        nested->failures += lanepool_sequence_submit(nested->sequence, &task) != LANEPOOL_OK;
    }
    nested->inside--;
    return 0;
}

Test(seed_s2, s2_3_submits_inside_of_tasks_do_not_recurse)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        struct nested nested = { .sequence = sequence_make(executor), .left = DEPTH };
        lanepool_task task = LANEPOOL_TASK_INIT;

        task.function = submit_the_next;
        task.context = &nested;
        expect_ok(lanepool_sequence_submit(nested.sequence, &task));
        settle_and_destroy(nested.sequence);
        expect_eq(nested.left, 0);
        expect_eq(nested.failures, 0);
        expect_eq(nested.most_inside, 1);
        under->end(executor);
    }
}

/* --- S2.4 --- */

static uint64_t now_ns(void)
{
    struct timespec now;

    expect_eq(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

enum { DELAYED = 20 };

struct delayed {
    struct gate *gate;
    uint64_t due_from, due_to; /* before and after the submit, each plus the delay */
    uint64_t started_ns;
    uint64_t delay_ns;
};

static int note_start(lanepool_run *run, void *context)
{
    struct delayed *delayed = context;

    (void)run;
    delayed->started_ns = now_ns();
    gate_arrive(delayed->gate);
    return 0;
}

/* Judges the order by the clock's times around the submits, so that slow submits do not matter. */
static void expect_due_order(const struct delayed *delayed)
{
    for (int i = 0; i < DELAYED; i++) {
        expect(delayed[i].started_ns >= delayed[i].due_from);
        for (int j = 0; j < DELAYED; j++) {
            expect(delayed[i].due_to >= delayed[j].due_from ||
                   delayed[i].started_ns <= delayed[j].started_ns);
        }
    }
}

Test(seed_s2, s2_4_delayed_tasks_run_in_the_order_in_which_they_are_due)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        lanepool_sequence *sequence = sequence_make(executor);
        struct delayed delayed[DELAYED];
        struct gate gate;

        gate_init(&gate);
        for (int i = 0; i < DELAYED; i++) {
            lanepool_task task = LANEPOOL_TASK_INIT;
            delayed[i] =
                (struct delayed){ &gate, 0, 0, 0, (uint64_t)(i * 7 % DELAYED + 1) * 500000 };
            task.function = note_start;
            task.context = &delayed[i];
            delayed[i].due_from = now_ns() + delayed[i].delay_ns;
            expect_ok(
                lanepool_sequence_submit_after(sequence, &task, (int64_t)delayed[i].delay_ns));
            delayed[i].due_to = now_ns() + delayed[i].delay_ns;
        }
        expect(gate_await(&gate, DELAYED));
        settle_and_destroy(sequence);
        expect_due_order(delayed);
        under->end(executor);
        gate_fini(&gate);
    }
}

Test(seed_s2, s2_4_no_delay_and_less_mean_now)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        lanepool_sequence *sequence = sequence_make(executor);
        struct journal journal = { .count = 0 };
        struct step steps[4];
        const int64_t delays[4] = { 0, -1, INT64_MIN, 0 };

        for (uint32_t i = 0; i < 4; i++) {
            steps[i] = (struct step){ .id = i, .journal = &journal };
            expect_ok(submit_after(sequence, &steps[i], NULL, delays[i]));
        }
        settle_and_destroy(sequence);
        for (uint32_t i = 0; i < 4; i++) {
            expect_eq(journal.ids[i], i);
        }
        under->end(executor);
    }
}

/* --- S2.5 --- */

static void expect_cancelled(struct step *step, lanepool_future *future)
{
    lanepool_result result;

    expect_eq(step->runs, 0);
    expect_eq(step->cancels, 1);
    expect_eq(step->releases, 1);
    expect_ok(lanepool_future_wait(future, 0, &result));
    expect_status(result.status, LANEPOOL_CANCELLED);
}

Test(seed_s2, s2_5_one_task_is_cancelled_queued_or_delayed_and_lets_go_at_once)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        lanepool_sequence *sequence = sequence_make(executor);
        struct step steps[4] = { { 0 } };
        lanepool_future *futures[4];
        struct held held;

        hold(&held, sequence, NULL);
        expect_ok(submit(sequence, &steps[0], &futures[0]));
        expect_ok(submit(sequence, &steps[1], &futures[1]));
        expect_ok(submit_after(sequence, &steps[2], &futures[2], INT64_MAX));
        expect_ok(submit(sequence, &steps[3], &futures[3]));
        expect_ok(lanepool_future_cancel(futures[1]));
        expect_cancelled(&steps[1], futures[1]);
        expect_ok(lanepool_future_cancel(futures[2]));
        expect_cancelled(&steps[2], futures[2]);
        expect_status(lanepool_future_cancel(futures[1]), LANEPOOL_DONE);
        expect_status(lanepool_future_cancel(futures[2]), LANEPOOL_DONE);
        let_go(&held);
        expect_status(lanepool_future_cancel(futures[0]), LANEPOOL_DONE);
        for (int i = 0; i < 4; i++) {
            expect_eq(steps[i].runs, i % 3 == 0);
            lanepool_future_release(futures[i]);
        }
        settle_and_destroy(sequence);
        under->end(executor);
    }
}

/* The answers that a task gets when it cancels itself. */
struct selfish {
    lanepool_future *future;
    struct gate gate;
    lanepool_status status;
    bool asked;
};

static int cancel_oneself(lanepool_run *run, void *context)
{
    struct selfish *self = context;

    gate_pass(&self->gate);
    self->status = lanepool_future_cancel(self->future);
    self->asked = lanepool_run_is_cancelled(run);
    return 0;
}

static void *submit_selfish(void *argument)
{
    struct held *held = argument;
    struct selfish *self = held->step.value;
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = cancel_oneself;
    task.context = self;
    task.future = &self->future;
    held->status = lanepool_sequence_submit(held->sequence, &task);
    return NULL;
}

Test(seed_s2, s2_5_task_that_runs_is_not_cancelled_but_asked)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        struct selfish self = { .status = LANEPOOL_OK };
        struct held held = { .sequence = sequence_make(executor), .step = { .value = &self } };

        gate_init(&self.gate);
        expect_eq(pthread_create(&held.thread, NULL, submit_selfish, &held), 0);
        gate_open(&self.gate, 1);
        expect_eq(pthread_join(held.thread, NULL), 0);
        expect_ok(held.status);
        settle_and_destroy(held.sequence);
        expect_status(self.status, LANEPOOL_RUNNING);
        expect(self.asked);
        expect_status(lanepool_future_cancel(self.future), LANEPOOL_DONE);
        lanepool_future_release(self.future);
        under->end(executor);
        gate_fini(&self.gate);
    }
}

/* --- S2.6, S2.7 --- */

Test(seed_s2, s2_6_cancelled_sequence_lets_go_of_its_tasks_and_touches_no_other)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        lanepool_sequence *sequence = sequence_make(executor);
        lanepool_sequence *other = sequence_make(executor);
        struct step steps[6] = { { 0 } };
        struct step others[2] = { { 0 } };
        lanepool_future *delayed;
        struct held held;

        expect_ok(lanepool_sequence_pause(other));
        expect_ok(submit(other, &others[0], NULL));
        expect_ok(submit_after(other, &others[1], &delayed, INT64_MAX));
        hold(&held, sequence, NULL);
        for (int i = 0; i < 6; i++) {
            expect_ok(submit_after(sequence, &steps[i], NULL, i < 3 ? 0 : INT64_MAX));
        }
        expect_ok(lanepool_sequence_cancel(sequence));
        for (int i = 0; i < 6; i++) {
            expect_eq(steps[i].cancels, 1);
            expect_eq(steps[i].releases, 1);
        }
        let_go(&held); /* the running task was not disturbed */
        expect_eq(others[0].cancels, 0);
        expect_eq(others[1].cancels, 0);
        expect_status(lanepool_future_wait(delayed, 0, NULL), LANEPOOL_TIMED_OUT);
        expect_ok(lanepool_sequence_resume(other));
        settle(other);
        expect_eq(others[0].runs, 1);
        expect_ok(lanepool_sequence_destroy(sequence));
        expect_ok(lanepool_sequence_destroy(other));
        expect_cancelled(&others[1], delayed);
        lanepool_future_release(delayed);
        under->end(executor);
    }
}

Test(seed_s2, s2_7_cancelled_sequence_refuses_and_says_so)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        lanepool_sequence *sequence = sequence_make(executor);
        struct step step = { 0 };
        lanepool_future *future = NULL;

        expect(!lanepool_sequence_is_cancelled(sequence));
        expect_ok(submit(sequence, &step, NULL));
        settle(sequence);
        expect_ok(lanepool_sequence_cancel(sequence));
        expect_ok(lanepool_sequence_cancel(sequence));
        expect(lanepool_sequence_is_cancelled(sequence));
        expect_status(submit(sequence, &step, &future), LANEPOOL_CANCELLED);
        expect(future == NULL);
        expect_status(submit_after(sequence, &step, &future, 1000), LANEPOOL_CANCELLED);
        expect(future == NULL);
        settle_and_destroy(sequence);
        expect_eq(step.runs, 1);
        expect_eq(step.cancels, 0);
        expect_eq(step.releases, 1);
        under->end(executor);
    }
}

/* --- pauses --- */

Test(seed_s2, paused_sequence_starts_nothing_until_it_is_resumed)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        lanepool_sequence *sequence = sequence_make(executor);
        struct journal journal = { .count = 0 };
        struct step steps[3];
        struct held held;

        hold(&held, sequence, &journal);
        expect_ok(lanepool_sequence_pause(sequence));
        for (uint32_t i = 0; i < 3; i++) {
            steps[i] = (struct step){ .id = i + 1, .journal = &journal };
            expect_ok(submit(sequence, &steps[i], NULL));
        }
        gate_open(&held.gate, 1);
        expect_eq(pthread_join(held.thread, NULL), 0);
        expect_status(lanepool_sequence_wait(sequence, 1000000), LANEPOOL_TIMED_OUT);
        expect_eq(journal.count, 1);
        expect_ok(lanepool_sequence_resume(sequence));
        settle_and_destroy(sequence);
        gate_fini(&held.gate);
        for (uint32_t i = 0; i < 4; i++) {
            expect_eq(journal.ids[i], i);
        }
        under->end(executor);
    }
}
