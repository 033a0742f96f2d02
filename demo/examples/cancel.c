/* A close is cancelled while a lane is paused. A payment ends later than its function returns. */
#include <lanepool/lanepool.h>
#include <stdio.h>

static int nothing(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    return 0;
}

/* The bank's answer, from any thread at any time. If it is cancelled, the payment fails. */
static int answer(lanepool_run *run, void *payment)
{
    (void)run;
    return lanepool_task_complete(payment, 0, "paid");
}

static void no_answer(void *payment, lanepool_status why)
{
    if (lanepool_task_complete(payment, (int)why, "not paid") != LANEPOOL_OK)
        printf("no memory\n");
}

/* Asks the bank and returns: the client's lane stays blocked, but no thread does. */
static int pay(lanepool_run *run, void *context)
{
    lanepool_detached *payment;
    (void)context;
    if (lanepool_run_detach(run, &payment) != LANEPOOL_OK)
        return 1;
    lanepool_status status = lanepool_pool_submit(
        lanepool_run_pool(run),
        LANEPOOL_TASK(.function = answer, .cancelled = no_answer, .context = payment));
    if (status != LANEPOOL_OK)
        no_answer(payment, status);
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_lane *first;
    lanepool_future *futures[3] = { NULL };
    lanepool_result closed = { LANEPOOL_OK, 0, NULL }, paid = closed;
    const lanepool_task *close =
        LANEPOOL_TASK(.function = nothing, .future = &futures[0],
                      LANEPOOL_CLAIMS(lanepool_exclusive(1), lanepool_exclusive(2)));
    const lanepool_task *second = LANEPOOL_TASK(.function = nothing, .future = &futures[1],
                                                LANEPOOL_CLAIMS(lanepool_exclusive(2)));
    const lanepool_task *payment = LANEPOOL_TASK(.function = pay, .future = &futures[2],
                                                 LANEPOOL_CLAIMS(lanepool_exclusive(1)));
    if (lanepool_pool_create(NULL, &pool) != LANEPOOL_OK)
        return 1;
    int failed = lanepool_lane_acquire(pool, lanepool_key_id(1), &first) ||
                 lanepool_lane_pause(first) || lanepool_pool_submit(pool, close) ||
                 lanepool_pool_submit(pool, second) ||
                 lanepool_future_cancel(futures[0]) || /* the second client need not wait now */
                 lanepool_future_wait(futures[1], LANEPOOL_FOREVER, NULL) ||
                 lanepool_future_wait(futures[0], 0, &closed) || lanepool_lane_resume(first) ||
                 lanepool_pool_submit(pool, payment) ||
                 lanepool_future_wait(futures[2], LANEPOOL_FOREVER, &paid);
    if (!failed)
        printf("close: %s\npayment: %s\n", lanepool_status_text(closed.status), (char *)paid.value);
    for (int i = 0; i < 3; i++)
        lanepool_future_release(futures[i]);
    lanepool_lane_release(first);
    lanepool_pool_destroy(pool);
    return failed;
}
