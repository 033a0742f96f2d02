/* Periodic tasks of sequences. Each test runs on every executor of its program's table. */
#include <stdint.h>
#include <stdio.h>

#include "support/executors.h"
#include "support/gate.h"
#include "support/test.h"

enum { RUNS = 3, SHORT_NS = 200000 };

/* A periodic task that ends itself in its last run. */
struct ticking {
    lanepool_sequence *sequence;
    lanepool_timer *timer;
    lanepool_status cancelled_with;
    bool was_asked;
    uint64_t tickets[RUNS];
    _Atomic uint32_t inside, most_inside, runs, cancels, releases;
    struct gate over;
};

static int tick(lanepool_run *run, void *context)
{
    struct ticking *self = context;

    if (++self->inside > 1) {
        self->most_inside++;
    }
    self->tickets[self->runs] = lanepool_run_ticket(run);
    if (++self->runs == RUNS) {
        self->cancelled_with = lanepool_timer_cancel(self->timer);
        self->was_asked = lanepool_run_is_cancelled(run);
    }
    self->inside--;
    return self->runs == 1; /* a failed run is not the last one */
}

static void note_cancelled(void *context, lanepool_status why)
{
    struct ticking *self = context;

    (void)why;
    self->cancels++;
}

static void note_release(void *context)
{
    struct ticking *self = context;

    self->releases++;
    gate_arrive(&self->over);
}

static lanepool_status start(struct ticking *self, lanepool_executor *executor, int64_t delay_ns,
                             lanepool_period period)
{
    lanepool_task task = LANEPOOL_TASK_INIT;

    *self = (struct ticking){ .timer = NULL };
    gate_init(&self->over);
    expect_ok(lanepool_sequence_create(executor, &self->sequence));
    task.function = tick;
    task.cancelled = note_cancelled;
    task.context = self;
    task.release = note_release;
    return lanepool_sequence_submit_every(self->sequence, &task, delay_ns, SHORT_NS, period,
                                          &self->timer);
}

static void expect_over(struct ticking *self, uint32_t runs)
{
    expect(gate_await(&self->over, 1));
    expect_eq(self->runs, runs);
    expect_eq(self->cancels, 1);
    expect_eq(self->releases, 1);
    expect_status(lanepool_timer_cancel(self->timer), LANEPOOL_DONE);
    lanepool_timer_release(self->timer);
    gate_fini(&self->over);
}

static void run_until_it_ends_itself(lanepool_executor *executor, int64_t delay_ns,
                                     lanepool_period period)
{
    struct ticking self;

    expect_ok(start(&self, executor, delay_ns, period));
    expect(self.timer != NULL);
    expect_over(&self, RUNS);
    expect_ok(lanepool_sequence_destroy(self.sequence));
    expect_eq(self.most_inside, 0);
    expect_status(self.cancelled_with, LANEPOOL_RUNNING);
    expect(self.was_asked);
    for (int i = 1; i < RUNS; i++) {
        expect(self.tickets[i] > self.tickets[i - 1]);
    }
}

Test(sequence_periodic, task_runs_until_it_ends_its_series)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();

        run_until_it_ends_itself(executor, 0, LANEPOOL_FIXED_RATE);
        run_until_it_ends_itself(executor, INT64_MIN, LANEPOOL_FIXED_DELAY);
        run_until_it_ends_itself(executor, SHORT_NS, LANEPOOL_FIXED_RATE);
        run_until_it_ends_itself(executor, SHORT_NS, LANEPOOL_FIXED_DELAY);
        under->end(executor);
    }
}

Test(sequence_periodic, series_that_waits_is_cancelled_at_once)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        struct ticking self;

        expect_ok(start(&self, executor, INT64_MAX, LANEPOOL_FIXED_RATE));
        expect_ok(lanepool_timer_cancel(self.timer));
        expect_over(&self, 0);
        expect_ok(lanepool_sequence_destroy(self.sequence));
        under->end(executor);
    }
}

Test(sequence_periodic, series_ends_with_its_sequence)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        struct ticking cancelled;
        struct ticking destroyed;

        expect_ok(start(&cancelled, executor, INT64_MAX, LANEPOOL_FIXED_DELAY));
        expect_ok(lanepool_sequence_cancel(cancelled.sequence));
        expect_eq(cancelled.releases, 1);
        expect_ok(lanepool_sequence_destroy(cancelled.sequence));
        expect_ok(start(&destroyed, executor, INT64_MAX, LANEPOOL_FIXED_RATE));
        expect_ok(lanepool_sequence_destroy(destroyed.sequence));
        under->end(executor);
        expect_over(&cancelled, 0);
        expect_over(&destroyed, 0);
    }
}

Test(sequence_periodic, wrong_arguments_are_refused)
{
    FOR_EACH_EXECUTOR(under)
    {
        lanepool_executor *executor = under->make();
        lanepool_sequence *sequence = NULL;
        lanepool_task task = LANEPOOL_TASK_INIT;
        lanepool_future *future;
        lanepool_timer *timer;
        struct ticking unused;

        expect_ok(lanepool_sequence_create(executor, &sequence));
        task.function = tick;
        task.cancelled = note_cancelled;
        task.context = &unused;
        expect_status(
            lanepool_sequence_submit_every(NULL, &task, 0, 1, LANEPOOL_FIXED_RATE, &timer),
            LANEPOOL_INVALID);
        expect_status(
            lanepool_sequence_submit_every(sequence, NULL, 0, 1, LANEPOOL_FIXED_RATE, &timer),
            LANEPOOL_INVALID);
        expect_status(
            lanepool_sequence_submit_every(sequence, &task, 0, 0, LANEPOOL_FIXED_RATE, &timer),
            LANEPOOL_INVALID);
        expect_status(
            lanepool_sequence_submit_every(sequence, &task, 0, 1, (lanepool_period)2, &timer),
            LANEPOOL_INVALID);
        expect_status(
            lanepool_sequence_submit_every(sequence, &task, 0, 1, LANEPOOL_FIXED_RATE, NULL),
            LANEPOOL_INVALID);
        task.future = &future;
        expect_status(
            lanepool_sequence_submit_every(sequence, &task, 0, 1, LANEPOOL_FIXED_RATE, &timer),
            LANEPOOL_UNSUPPORTED);
        task.future = NULL;
        expect_ok(lanepool_sequence_cancel(sequence));
        expect_status(
            lanepool_sequence_submit_every(sequence, &task, 0, 1, LANEPOOL_FIXED_RATE, &timer),
            LANEPOOL_CANCELLED);
        expect(timer == NULL);
        expect_ok(lanepool_sequence_destroy(sequence));
        under->end(executor);
    }
}
