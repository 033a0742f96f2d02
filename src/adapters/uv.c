/*
 * libuv's executors. Other threads may call only uv_async_send() on a loop. So they put work into a
 * list; the loop's thread takes it from there, and runs it or queues it for libuv's threads.
 *
 * The executor's end is handed over, too. That send is made under the lock, so that the loop's
 * thread cannot close the handle before it returns.
 */
#define _POSIX_C_SOURCE 200809L /* as uv.h needs */
#include "lanepool/adapters/uv.h"

#include <stdlib.h>

#define NS_PER_MS 1000000u

struct listed_work {
    struct listed_work *next;
    lanepool_work *work;
    uv_work_t request; /* libuv's threads only */
};

/* Guards: I immutable, L the lock, T the loop's thread. */
struct loop {
    uv_loop_t *loop;  /* I */
    bool by_threads;  /* I: libuv's threads run the work, not the loop */
    uv_async_t async; /* T; any thread may send */
    uv_timer_t timer; /* T */
    unsigned open;    /* T: handles not closed yet */
    uv_mutex_t lock;
    struct listed_work *first; /* L: oldest first */
    struct listed_work **last; /* L: the next one's link */
    lanepool_work *alarm;      /* L: run at `alarm_ns`; or NULL */
    uint64_t alarm_ns;         /* L: by uv_hrtime() */
    bool ends;                 /* L: the executor has ended */
};

/* --- from any thread --- */

static lanepool_status uvloop_execute(void *context, lanepool_work *work)
{
    struct loop *loop = context;
    struct listed_work *listed = malloc(sizeof *listed);
    if (listed == NULL)
        return LANEPOOL_NOMEM;
    listed->next = NULL;
    listed->work = work;
    uv_mutex_lock(&loop->lock);
    *loop->last = listed;
    loop->last = &listed->next;
    uv_mutex_unlock(&loop->lock);
    (void)uv_async_send(&loop->async);
    return LANEPOOL_OK;
}

static lanepool_status uvloop_execute_after(void *context, uint64_t delay_ns, lanepool_work *work)
{
    struct loop *loop = context;
    uint64_t now_ns = uv_hrtime();
    uv_mutex_lock(&loop->lock);
    loop->alarm = work;
    loop->alarm_ns = delay_ns < UINT64_MAX - now_ns ? now_ns + delay_ns : UINT64_MAX;
    uv_mutex_unlock(&loop->lock);
    (void)uv_async_send(&loop->async);
    return LANEPOOL_OK;
}

/* The loop's timer may still fire, and finds no alarm. */
static bool uvloop_take_back(void *context, lanepool_work *work)
{
    struct loop *loop = context;
    uv_mutex_lock(&loop->lock);
    bool waits = loop->alarm == work;
    loop->alarm = NULL;
    uv_mutex_unlock(&loop->lock);
    return waits;
}

static void uvloop_release(void *context)
{
    struct loop *loop = context;
    uv_mutex_lock(&loop->lock);
    loop->ends = true;
    (void)uv_async_send(&loop->async);
    uv_mutex_unlock(&loop->lock);
}

/* --- on the loop's thread --- */

static void run_by_thread(uv_work_t *request)
{
    const struct listed_work *listed = request->data;
    lanepool_work_run(listed->work);
}

static void free_listed_work(uv_work_t *request, int status)
{
    (void)status;
    free(request->data);
}

static void dispatch_listed_work(const struct loop *loop, struct listed_work *listed)
{
    if (loop->by_threads) {
        listed->request.data = listed;
        (void)uv_queue_work(loop->loop, &listed->request, run_by_thread, free_listed_work);
        return;
    }
    lanepool_work_run(listed->work);
    free(listed);
}

static struct listed_work *take_listed_work(struct loop *loop)
{
    uv_mutex_lock(&loop->lock);
    struct listed_work *first = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    uv_mutex_unlock(&loop->lock);
    return first;
}

/* Returns the alarm's work if it is due; otherwise NULL, with the milliseconds left, rounded up. */
static lanepool_work *take_alarm(struct loop *loop, uint64_t *left_ms)
{
    lanepool_work *work = NULL;
    uint64_t now_ns = uv_hrtime();
    *left_ms = 0;
    uv_mutex_lock(&loop->lock);
    if (loop->alarm != NULL && loop->alarm_ns <= now_ns) {
        work = loop->alarm;
        loop->alarm = NULL;
    } else if (loop->alarm != NULL) {
        *left_ms = (loop->alarm_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
    }
    uv_mutex_unlock(&loop->lock);
    return work;
}

/* libuv counts a timer from the start of the loop's iteration, so its time is updated first. */
static void on_timer(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    uint64_t left_ms;
    lanepool_work *work = take_alarm(loop, &left_ms);
    if (work != NULL)
        lanepool_work_run(work);
    if (left_ms == 0)
        return;
    uv_update_time(loop->loop);
    (void)uv_timer_start(timer, on_timer, left_ms, 0);
}

static void on_close(uv_handle_t *handle)
{
    struct loop *loop = handle->data;
    if (--loop->open > 0)
        return;
    uv_mutex_destroy(&loop->lock);
    free(loop);
}

static void on_async(uv_async_t *async)
{
    struct loop *loop = async->data;
    struct listed_work *listed = take_listed_work(loop);
    while (listed != NULL) {
        struct listed_work *next = listed->next;
        dispatch_listed_work(loop, listed);
        listed = next;
    }
    on_timer(&loop->timer);
    uv_mutex_lock(&loop->lock);
    bool ends = loop->ends;
    uv_mutex_unlock(&loop->lock);
    if (ends && !uv_is_closing((uv_handle_t *)async)) {
        uv_close((uv_handle_t *)async, on_close);
        uv_close((uv_handle_t *)&loop->timer, on_close);
    }
}

/* --- create --- */

static lanepool_status create_executor(struct loop *loop, lanepool_executor **executor)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    functions.execute = uvloop_execute;
    functions.execute_after = uvloop_execute_after;
    functions.take_back = uvloop_take_back;
    functions.release = uvloop_release;
    lanepool_status status = lanepool_executor_create(&functions, loop, executor);
    if (status != LANEPOOL_OK)
        uvloop_release(loop);
    return status;
}

static lanepool_status create_loop_executor(uv_loop_t *uv, bool by_threads,
                                            lanepool_executor **executor)
{
    if (executor != NULL)
        *executor = NULL;
    if (uv == NULL || executor == NULL)
        return LANEPOOL_INVALID;
    struct loop *loop = calloc(1, sizeof *loop);
    if (loop == NULL)
        return LANEPOOL_NOMEM;
    loop->loop = uv;
    loop->by_threads = by_threads;
    loop->last = &loop->first;
    loop->open = 2;
    loop->async.data = loop;
    loop->timer.data = loop;
    if (uv_mutex_init(&loop->lock) != 0) {
        free(loop);
        return LANEPOOL_NOMEM;
    }
    if (uv_async_init(uv, &loop->async, on_async) != 0) {
        uv_mutex_destroy(&loop->lock);
        free(loop);
        return LANEPOOL_NO_RESOURCE;
    }
    (void)uv_timer_init(uv, &loop->timer);
    return create_executor(loop, executor);
}

lanepool_status lanepool_uv_loop_executor(uv_loop_t *loop, lanepool_executor **executor)
{
    return create_loop_executor(loop, false, executor);
}

lanepool_status lanepool_uv_pool_executor(uv_loop_t *loop, lanepool_executor **executor)
{
    return create_loop_executor(loop, true, executor);
}
