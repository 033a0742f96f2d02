/*
 * libuv's executors. Nothing of a loop but uv_async_send() may be called from
 * other threads: what they hand over stands in a list, and the loop's thread
 * takes it from there, to run it or to queue it for libuv's threads.
 *
 * The end is handed over as well. The send stands under the lock then, so that
 * the loop's thread cannot close the handle before it is over.
 */
#define _POSIX_C_SOURCE 200809L /* as uv.h needs */
#include "lanepool/adapters/uv.h"

#include <stdlib.h>

#define NS_PER_MS 1000000u

/* A piece of work on its way. */
struct piece {
    struct piece *next;
    lanepool_work *work;
    uv_work_t request; /* libuv's threads only */
};

/* Guards: I immutable, L the lock, T the loop's thread. */
struct loop {
    uv_loop_t *loop;  /* I */
    bool by_threads;  /* I: libuv's threads run the works, not the loop's own */
    uv_async_t async; /* T, but for the sends */
    uv_timer_t timer; /* T */
    unsigned open;    /* T: handles that are not closed */
    uv_mutex_t lock;
    struct piece *first;  /* L: oldest first */
    struct piece **last;  /* L: where the next one goes */
    lanepool_work *alarm; /* L: NULL: none is asked for */
    uint64_t alarm_ns;    /* L: by uv_hrtime() */
    bool ends;            /* L */
};

/* --- from any thread --- */

static lanepool_status execute(void *context, lanepool_work *work)
{
    struct loop *loop = context;
    struct piece *piece = malloc(sizeof *piece);
    if (piece == NULL)
        return LANEPOOL_NOMEM;
    piece->next = NULL;
    piece->work = work;
    uv_mutex_lock(&loop->lock);
    *loop->last = piece;
    loop->last = &piece->next;
    uv_mutex_unlock(&loop->lock);
    (void)uv_async_send(&loop->async);
    return LANEPOOL_OK;
}

static lanepool_status execute_after(void *context, uint64_t delay_ns, lanepool_work *work)
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

/* The loop's timer finds nothing then. */
static bool take_back(void *context, lanepool_work *work)
{
    struct loop *loop = context;
    uv_mutex_lock(&loop->lock);
    bool waits = loop->alarm == work;
    loop->alarm = NULL;
    uv_mutex_unlock(&loop->lock);
    return waits;
}

static void release(void *context)
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
    const struct piece *piece = request->data;
    lanepool_work_run(piece->work);
}

static void free_piece(uv_work_t *request, int status)
{
    (void)status;
    free(request->data);
}

static void run_piece(const struct loop *loop, struct piece *piece)
{
    if (loop->by_threads) {
        piece->request.data = piece;
        (void)uv_queue_work(loop->loop, &piece->request, run_by_thread, free_piece);
        return;
    }
    lanepool_work_run(piece->work);
    free(piece);
}

static struct piece *take_pieces(struct loop *loop)
{
    uv_mutex_lock(&loop->lock);
    struct piece *pieces = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    uv_mutex_unlock(&loop->lock);
    return pieces;
}

/* What is due now; else NULL, with the milliseconds until something is, rounded up. */
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

/* libuv's timers go by the time at which the loop's round began: it is brought up to date. */
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
    struct piece *piece = take_pieces(loop);
    while (piece != NULL) {
        struct piece *next = piece->next;
        run_piece(loop, piece);
        piece = next;
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

/* --- making --- */

static lanepool_status make(struct loop *loop, lanepool_executor **executor)
{
    lanepool_executor_functions functions = LANEPOOL_EXECUTOR_FUNCTIONS_INIT;
    functions.execute = execute;
    functions.execute_after = execute_after;
    functions.take_back = take_back;
    functions.release = release;
    lanepool_status status = lanepool_executor_create(&functions, loop, executor);
    if (status != LANEPOOL_OK)
        release(loop);
    return status;
}

static lanepool_status create(uv_loop_t *uv, bool by_threads, lanepool_executor **executor)
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
        return LANEPOOL_NO_THREAD;
    }
    (void)uv_timer_init(uv, &loop->timer);
    return make(loop, executor);
}

lanepool_status lanepool_uv_loop_executor(uv_loop_t *loop, lanepool_executor **executor)
{
    return create(loop, false, executor);
}

lanepool_status lanepool_uv_pool_executor(uv_loop_t *loop, lanepool_executor **executor)
{
    return create(loop, true, executor);
}
