/* Threads that the program cancels (pthread_cancel): a call that waits returns first. */
#include <pthread.h>
#include <string.h>

#include "support/step.h"
#include "support/test.h"

#define A_MOMENT UINT64_C(1000000)

/* A thread that is cancelled before it waits: each call is a cancellation point if it can be one.
 */
struct waiter {
    lanepool_pool *pool;
    lanepool_future *future;
    lanepool_group *group;
    lanepool_status answers[8];
};

/* Not inline: cancelling leaves no frame with variables, which AddressSanitizer would take for
 * variables out of scope. */
__attribute__((noinline)) static void wait_in_every_call(struct waiter *waiter)
{
    struct step refused = { 0 };
    lanepool_task task = step_task(&refused, NULL, 0);
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_status *answers = waiter->answers;
    size_t index;

    answers[0] = lanepool_future_wait(waiter->future, A_MOMENT, NULL);
    answers[1] = lanepool_pool_submit_within(waiter->pool, &task, A_MOMENT);
    answers[2] = lanepool_pool_quiesce(waiter->pool, A_MOMENT);
    answers[3] = lanepool_group_wait(waiter->group, A_MOMENT);
    answers[4] = lanepool_future_wait_any(&waiter->future, 1, A_MOMENT, &index);
    answers[5] = lanepool_future_wait_all(&waiter->future, 1, A_MOMENT);
    answers[6] = lanepool_pool_wait_claims(waiter->pool, &claim, 1, A_MOMENT);
    answers[7] = lanepool_future_wait(waiter->future, A_MOMENT, NULL);
}

static void *wait_while_cancelled(void *argument)
{
    pthread_cancel(pthread_self());
    wait_in_every_call(argument);
    pthread_testcancel();
    return NULL;
}

Test(cancelled_threads, a_call_that_waits_returns_first)
{
    struct gate gate;
    struct step holder = { .gate = &gate };
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    struct waiter waiter;
    pthread_t thread;
    void *end;

    memset(&waiter, 0, sizeof waiter);
    gate_init(&gate);
    options.workers = 2;
    options.pending_max = 1; /* the holder fills the pool */
    waiter.pool = pool_make_with(&options);
    expect_ok(lanepool_group_create(NULL, &waiter.group));
    lanepool_task task = step_task(&holder, &claim, 1);
    task.future = &waiter.future;
    task.group = waiter.group;
    expect_ok(lanepool_pool_submit(waiter.pool, &task));
    expect(gate_await(&gate, 1));
    expect(pthread_create(&thread, NULL, wait_while_cancelled, &waiter) == 0);
    expect(pthread_join(thread, &end) == 0);
    expect(end == PTHREAD_CANCELED);
    for (size_t i = 0; i < sizeof waiter.answers / sizeof *waiter.answers; i++) {
        expect_status(waiter.answers[i], LANEPOOL_TIMED_OUT);
    }
    gate_open(&gate, 1);
    future_finish(waiter.future);
    lanepool_group_destroy(waiter.group);
    pool_end(waiter.pool);
    expect_eq(holder.runs, 1);
    gate_fini(&gate);
}
