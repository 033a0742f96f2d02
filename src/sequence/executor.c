/* Owns executors, their work and their alarm; see executor.h. */
#include "sequence/executor.h"

#include "base/versioned.h"
#include "feature/delay.h"

#include <string.h>

void lanepool_work_run(lanepool_work *work)
{
    work->run(work);
}

/* --- references --- */

static lanepool_executor *allocate_executor(void)
{
    lanepool_executor *executor = lanepool_i_memory_alloc(sizeof *executor);
    if (executor == NULL)
        return NULL;
    memset(executor, 0, sizeof *executor);
    lanepool_i_list_init(&executor->idle_work);
#if defined(LANEPOOL_CHECKED)
    executor->quarantine = lanepool_i_quarantine_open();
    if (executor->quarantine == NULL) {
        lanepool_i_memory_free(executor);
        return NULL;
    }
#endif
    return executor;
}

static void free_executor(lanepool_executor *executor)
{
#if defined(LANEPOOL_CHECKED)
    lanepool_i_quarantine_close(executor->quarantine);
#endif
    lanepool_i_memory_free(executor);
}

/* Release: this thread's last use happens before the free. Acquire: so do all other threads'. */
void lanepool_i_executor_release(lanepool_executor *executor)
{
    if (fetch_sub_acq_rel(&executor->references, 1) != 1)
        return;
    LANEPOOL_I_EACH(lanepool_i_sequence_work, work, &executor->idle_work, link) {
        lanepool_i_mutex_fini(&work->lock);
        lanepool_i_memory_free(work);
    }
    void (*release)(void *context) = executor->functions.release;
    void *context = executor->context;
    lanepool_i_timers_fini(&executor->own_timers);
    lanepool_i_mutex_fini(&executor->lock);
    free_executor(executor);
    if (release != NULL)
        release(context);
}

/* --- work --- */

static lanepool_i_sequence_work *take_idle_work(lanepool_executor *executor)
{
    lanepool_i_mutex_lock(&executor->lock);
    lanepool_i_link *link = lanepool_i_list_take(&executor->idle_work);
    executor->sequences += link != NULL;
    lanepool_i_mutex_unlock(&executor->lock);
    return link != NULL ? LANEPOOL_I_ITEM(link, lanepool_i_sequence_work, link) : NULL;
}

static lanepool_i_sequence_work *make_work(lanepool_executor *executor,
                                           const lanepool_work *functions)
{
    lanepool_i_sequence_work *work = lanepool_i_memory_alloc(sizeof *work);
    if (work == NULL)
        return NULL;
    memset(work, 0, sizeof *work);
    work->base = *functions;
    work->executor = executor;
    if (!lanepool_i_mutex_init(&work->lock, LANEPOOL_I_LOCK_WORK)) {
        lanepool_i_memory_free(work);
        return NULL;
    }
    lanepool_i_mutex_lock(&executor->lock);
    executor->sequences++;
    lanepool_i_mutex_unlock(&executor->lock);
    return work;
}

lanepool_i_sequence_work *lanepool_i_sequence_work_take(lanepool_executor *executor,
                                                        const lanepool_work *functions)
{
    lanepool_i_sequence_work *work = take_idle_work(executor);
    return work != NULL ? work : make_work(executor, functions);
}

void lanepool_i_sequence_work_give(lanepool_i_sequence_work *work)
{
    lanepool_executor *executor = work->executor;
    lanepool_i_mutex_lock(&executor->lock);
    lanepool_i_list_add(&executor->idle_work, &work->link);
    executor->sequences--;
    lanepool_i_mutex_unlock(&executor->lock);
}

/* Counts the hand-over first: the call may occur before `execute` returns. If an executor refuses
 * but calls the work anyway, that call releases the reference. */
lanepool_status lanepool_i_sequence_work_hand_over(lanepool_i_sequence_work *work)
{
    lanepool_executor *executor = work->executor;
    lanepool_i_executor_retain(executor);
    lanepool_i_mutex_lock(&work->lock);
    work->calls_due++;
    lanepool_i_mutex_unlock(&work->lock);
    lanepool_status status = executor->functions.execute(executor->context, &work->base);
    if (status == LANEPOOL_OK)
        return LANEPOOL_OK;
    lanepool_i_mutex_lock(&work->lock);
    bool counted = work->calls_due > 0;
    work->calls_due -= counted;
    lanepool_i_mutex_unlock(&work->lock);
    if (counted)
        lanepool_i_executor_release(executor);
    return status;
}

/* --- the alarm --- */

static uint64_t fire_due_timers(lanepool_executor *executor)
{
    uint64_t next_ns;
    lanepool_i_timer *timer;
    while ((timer = lanepool_i_timers_take_due(executor->timers, &next_ns)) != NULL)
        timer->fire(timer);
    return next_ns;
}

/* An alarm was called, taken back or refused. Returns true if a call was due: the caller now owns
 * its reference. */
static bool count_alarm_locked(lanepool_executor *executor)
{
    bool counted = executor->alarms_due > 0;
    executor->alarms_due -= counted;
    executor->alarms_called++;
    executor->armed_ns = UINT64_MAX;
    return counted;
}

static void take_back_alarm(lanepool_executor *executor)
{
    const lanepool_executor_functions *functions = &executor->functions;
    if (functions->take_back == NULL || !functions->take_back(executor->context, &executor->alarm))
        return;
    lanepool_i_mutex_lock(&executor->lock);
    bool counted = count_alarm_locked(executor);
    lanepool_i_mutex_unlock(&executor->lock);
    if (counted)
        lanepool_i_executor_release(executor);
}

static bool hand_over_to_clock(lanepool_executor *executor)
{
    bool started = lanepool_i_timers_start(executor->timers);
    lanepool_i_mutex_lock(&executor->lock);
    executor->by_clock = started;
    lanepool_i_mutex_unlock(&executor->lock);
    return started;
}

static bool request_alarm(lanepool_executor *executor, uint64_t due_ns)
{
    lanepool_i_executor_retain(executor);
    lanepool_i_mutex_lock(&executor->lock);
    uint64_t called = executor->alarms_called;
    executor->alarms_due++;
    lanepool_i_mutex_unlock(&executor->lock);
    uint64_t now_ns = lanepool_i_clock_now();
    lanepool_status status = executor->functions.execute_after(
        executor->context, due_ns > now_ns ? due_ns - now_ns : 0, &executor->alarm);
    lanepool_i_mutex_lock(&executor->lock);
    bool refused = status != LANEPOOL_OK && count_alarm_locked(executor);
    if (status == LANEPOOL_OK && executor->alarms_called == called)
        executor->armed_ns = due_ns;
    lanepool_i_mutex_unlock(&executor->lock);
    if (refused)
        lanepool_i_executor_release(executor);
    return status == LANEPOOL_OK || hand_over_to_clock(executor);
}

/* Called by the thread that serves the timers. An alarm called while another is requested may be
 * either of the two. So the last alarm is taken back even if none seems to be requested. */
static bool arm_alarm(lanepool_executor *executor, uint64_t next_ns)
{
    lanepool_i_mutex_lock(&executor->lock);
    bool early_enough = next_ns >= executor->armed_ns;
    lanepool_i_mutex_unlock(&executor->lock);
    if (early_enough)
        return true;
    take_back_alarm(executor);
    return request_alarm(executor, next_ns);
}

bool lanepool_i_executor_serve_timers(lanepool_executor *executor)
{
    bool armed = true;
    lanepool_i_mutex_lock(&executor->lock);
    executor->serve_again = !executor->by_clock;
    bool serves = !executor->is_serving && executor->serve_again;
    executor->is_serving |= serves;
    while (serves && executor->serve_again) {
        executor->serve_again = false;
        lanepool_i_mutex_unlock(&executor->lock);
        uint64_t next_ns = fire_due_timers(executor);
        armed = arm_alarm(executor, next_ns);
        lanepool_i_mutex_lock(&executor->lock);
        executor->serve_again &= !executor->by_clock;
    }
    if (serves)
        executor->is_serving = false;
    lanepool_i_mutex_unlock(&executor->lock);
    return armed;
}

static void run_alarm(lanepool_work *work)
{
    lanepool_executor *executor = (lanepool_executor *)work;
    lanepool_i_mutex_lock(&executor->lock);
    bool counted = count_alarm_locked(executor);
    lanepool_i_mutex_unlock(&executor->lock);
    (void)lanepool_i_executor_serve_timers(executor);
    if (counted)
        lanepool_i_executor_release(executor);
}

bool lanepool_i_executor_can_delay(lanepool_executor *executor)
{
    lanepool_i_mutex_lock(&executor->lock);
    bool by_clock = executor->by_clock;
    lanepool_i_mutex_unlock(&executor->lock);
    if (executor->timers->driver != NULL)
        return lanepool_i_delays_start_clock(executor->pool) == LANEPOOL_OK;
    return !by_clock || lanepool_i_timers_start(executor->timers);
}

/* --- create and destroy --- */

LANEPOOL_I_ASSERT_NO_TAIL(lanepool_executor_functions, release);

static bool read_functions(lanepool_executor_functions *functions,
                           const lanepool_executor_functions *given)
{
    return given != NULL &&
           LANEPOOL_I_STRUCT_READ(functions, given, lanepool_executor_functions, release) &&
           functions->execute != NULL &&
           (functions->take_back == NULL || functions->execute_after != NULL);
}

lanepool_status lanepool_executor_create(const lanepool_executor_functions *functions,
                                         void *context, lanepool_executor **executor)
{
    if (executor != NULL)
        *executor = NULL;
    lanepool_executor_functions known;
    if (executor == NULL || !read_functions(&known, functions))
        return LANEPOOL_INVALID;
    lanepool_executor *made = allocate_executor();
    if (made == NULL)
        return LANEPOOL_NOMEM;
    made->alarm.run = run_alarm;
    made->functions = known;
    made->creator = lanepool_i_creator_self();
    made->context = context;
    made->armed_ns = UINT64_MAX;
    made->timers = &made->own_timers;
    made->by_clock = known.execute_after == NULL;
    atomic_init(&made->references, 1);
    if (!lanepool_i_mutex_init(&made->lock, LANEPOOL_I_LOCK_EXECUTOR))
        goto free_memory;
    if (!lanepool_i_timers_init(&made->own_timers, NULL, NULL, NULL))
        goto fini_lock;
    *executor = made;
    return LANEPOOL_OK;
fini_lock:
    lanepool_i_mutex_fini(&made->lock);
free_memory:
    free_executor(made);
    return LANEPOOL_NOMEM;
}

/* Joins the clock thread here, because the last reference may be released on the executor's
 * thread. */
lanepool_status lanepool_executor_destroy(lanepool_executor *executor)
{
    if (executor == NULL)
        return LANEPOOL_OK;
    lanepool_i_mutex_lock(&executor->lock);
    bool used = executor->sequences > 0;
    lanepool_i_mutex_unlock(&executor->lock);
    if (used)
        return LANEPOOL_BUSY;
    lanepool_i_timers_end(&executor->own_timers);
    lanepool_i_timers_join(&executor->own_timers);
    take_back_alarm(executor);
    lanepool_i_executor_release(executor);
    return LANEPOOL_OK;
}
