/* A close is cancelled while a lane is paused. A payment ends later than its function returns. */
#include <lanepool/lanepool.h>
#include <stdio.h>

static int nothing(lanepool_run *run, void *context, lanepool_call call)
{
    (void)run, (void)context, (void)call;
    return 0;
}

/* The bank's answer, from any thread at any time. Even if cancelled, it completes the payment. */
static int answer(lanepool_run *run, void *payment, lanepool_call call)
{
    (void)run;
    return lanepool_task_complete(payment, call == LANEPOOL_CALL_RUN ? 0 : 1, "paid");
}

/* Asks the bank and returns: the client's lane stays blocked, but no thread does. */
static int pay(lanepool_run *run, void *context, lanepool_call call)
{
    lanepool_detached *payment;
    lanepool_task task = LANEPOOL_TASK_INIT;
    (void)context;
    if (call == LANEPOOL_CALL_CANCELLED || lanepool_run_detach(run, &payment) != LANEPOOL_OK)
        return 1;
    task.function = answer;
    task.context = payment;
    if (lanepool_pool_submit(lanepool_run_pool(run), &task) != LANEPOOL_OK)
        return answer(run, payment, LANEPOOL_CALL_CANCELLED);
    return 0;
}

static int submit(lanepool_pool *pool, lanepool_task_fn function, lanepool_future **future,
                  size_t count, const lanepool_claim *clients)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = function;
    task.claims = clients;
    task.claim_count = count;
    task.future = future;
    return lanepool_pool_submit(pool, &task);
}

int main(void)
{
    lanepool_claim clients[2] = { lanepool_claim_id(1, LANEPOOL_EXCLUSIVE),
                                  lanepool_claim_id(2, LANEPOOL_EXCLUSIVE) };
    lanepool_pool *pool;
    lanepool_lane *first;
    lanepool_future *futures[3] = { NULL };
    lanepool_result closed = { LANEPOOL_OK, 0, NULL }, paid = closed;
    if (lanepool_pool_create(NULL, &pool) != LANEPOOL_OK)
        return 1;
    int failed = lanepool_lane_acquire(pool, &clients[0], &first) || lanepool_lane_pause(first) ||
                 submit(pool, nothing, &futures[0], 2, clients) || /* the close, over both */
                 submit(pool, nothing, &futures[1], 1, &clients[1]) ||
                 lanepool_future_cancel(futures[0]) || /* the second client need not wait now */
                 lanepool_future_wait(futures[1], LANEPOOL_FOREVER, NULL) ||
                 lanepool_future_wait(futures[0], 0, &closed) || lanepool_lane_resume(first) ||
                 submit(pool, pay, &futures[2], 1, clients) ||
                 lanepool_future_wait(futures[2], LANEPOOL_FOREVER, &paid);
    if (!failed)
        printf("close: %s\npayment: %s\n", lanepool_status_text(closed.status), (char *)paid.value);
    for (int i = 0; i < 3; i++)
        lanepool_future_release(futures[i]);
    lanepool_lane_release(first);
    lanepool_pool_destroy(pool);
    return failed;
}
