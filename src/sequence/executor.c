/* Owns executors, their errands and their alarm; see executor.h. */
#include "sequence/executor.h"

#include "base/versioned.h"

#include <string.h>

void lanepool_work_run(lanepool_work *work)
{
    work->run(work);
}

/* --- references --- */

/* Release: this holder's last use happens before the end; acquire: so do all the others'. */
void lanepool_i_executor_release(lanepool_executor *executor)
{
    if (fetch_sub_acq_rel(&executor->references, 1) != 1)
        return;
    while (executor->idle != NULL) {
        lanepool_i_sequence_work *errand = executor->idle;
        executor->idle = errand->next;
        lanepool_i_mutex_fini(&errand->lock);
        lanepool_i_memory_free(errand);
    }
    void (*release)(void *context) = executor->functions.release;
    void *context = executor->context;
    lanepool_i_timers_fini(&executor->timers);
    lanepool_i_mutex_fini(&executor->lock);
    lanepool_i_memory_free(executor);
    if (release != NULL)
        release(context);
}

/* --- errands --- */

static lanepool_i_sequence_work *take_idle(lanepool_executor *executor)
{
    lanepool_i_mutex_lock(&executor->lock);
    lanepool_i_sequence_work *errand = executor->idle;
    if (errand != NULL) {
        executor->idle = errand->next;
        executor->sequences++;
    }
    lanepool_i_mutex_unlock(&executor->lock);
    return errand;
}

static lanepool_i_sequence_work *make_errand(lanepool_executor *executor,
                                             void (*run)(lanepool_work *work))
{
    lanepool_i_sequence_work *errand = lanepool_i_memory_alloc(sizeof *errand);
    if (errand == NULL)
        return NULL;
    memset(errand, 0, sizeof *errand);
    errand->work.run = run;
    errand->executor = executor;
    if (!lanepool_i_mutex_init(&errand->lock)) {
        lanepool_i_memory_free(errand);
        return NULL;
    }
    lanepool_i_mutex_lock(&executor->lock);
    executor->sequences++;
    lanepool_i_mutex_unlock(&executor->lock);
    return errand;
}

lanepool_i_sequence_work *lanepool_i_sequence_work_take(lanepool_executor *executor,
                                                        void (*run)(lanepool_work *work))
{
    lanepool_i_sequence_work *errand = take_idle(executor);
    return errand != NULL ? errand : make_errand(executor, run);
}

void lanepool_i_sequence_work_give(lanepool_i_sequence_work *errand)
{
    lanepool_executor *executor = errand->executor;
    lanepool_i_mutex_lock(&executor->lock);
    errand->next = executor->idle;
    executor->idle = errand;
    executor->sequences--;
    lanepool_i_mutex_unlock(&executor->lock);
}

/* The call may come before `execute` returns: it is counted before. Who refuses and calls all the
 * same has taken the reference back already. */
lanepool_status lanepool_i_sequence_work_hand_over(lanepool_i_sequence_work *errand)
{
    lanepool_executor *executor = errand->executor;
    lanepool_i_executor_retain(executor);
    lanepool_i_mutex_lock(&errand->lock);
    errand->handed++;
    lanepool_i_mutex_unlock(&errand->lock);
    lanepool_status status = executor->functions.execute(executor->context, &errand->work);
    if (status == LANEPOOL_OK)
        return LANEPOOL_OK;
    lanepool_i_mutex_lock(&errand->lock);
    bool counted = errand->handed > 0;
    errand->handed -= counted;
    lanepool_i_mutex_unlock(&errand->lock);
    if (counted)
        lanepool_i_executor_release(executor);
    return status;
}

/* --- the alarm --- */

static uint64_t fire_due(lanepool_executor *executor)
{
    uint64_t next_ns;
    lanepool_i_timer *timer;
    while ((timer = lanepool_i_timers_take_due(&executor->timers, &next_ns)) != NULL)
        timer->fire(timer);
    return next_ns;
}

/* An alarm was called, or was taken back, or refused: true, if it was one that had been accepted,
 * whose reference is the caller's now. */
static bool count_alarm_locked(lanepool_executor *executor)
{
    bool counted = executor->alarms > 0;
    executor->alarms -= counted;
    executor->alarms_called++;
    executor->armed_ns = UINT64_MAX;
    return counted;
}

static void disarm(lanepool_executor *executor)
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
    bool started = lanepool_i_timers_start(&executor->timers);
    lanepool_i_mutex_lock(&executor->lock);
    executor->by_clock = started;
    lanepool_i_mutex_unlock(&executor->lock);
    return started;
}

static bool ask_for_alarm(lanepool_executor *executor, uint64_t due_ns)
{
    lanepool_i_executor_retain(executor);
    lanepool_i_mutex_lock(&executor->lock);
    uint64_t called = executor->alarms_called;
    executor->alarms++;
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

/* By the thread that looks. An alarm that rings while another is asked for leaves it unknown which
 * of them it was: so one is taken back even if none seems to be there. */
static bool arm(lanepool_executor *executor, uint64_t next_ns)
{
    lanepool_i_mutex_lock(&executor->lock);
    bool early_enough = next_ns >= executor->armed_ns;
    lanepool_i_mutex_unlock(&executor->lock);
    if (early_enough)
        return true;
    disarm(executor);
    return ask_for_alarm(executor, next_ns);
}

bool lanepool_i_executor_look(lanepool_executor *executor)
{
    bool armed = true;
    lanepool_i_mutex_lock(&executor->lock);
    executor->again = !executor->by_clock;
    bool mine = !executor->looking && executor->again;
    executor->looking |= mine;
    while (mine && executor->again) {
        executor->again = false;
        lanepool_i_mutex_unlock(&executor->lock);
        uint64_t next_ns = fire_due(executor);
        armed = arm(executor, next_ns);
        lanepool_i_mutex_lock(&executor->lock);
        executor->again &= !executor->by_clock;
    }
    if (mine)
        executor->looking = false;
    lanepool_i_mutex_unlock(&executor->lock);
    return armed;
}

static void ring(lanepool_work *work)
{
    lanepool_executor *executor = (lanepool_executor *)work;
    lanepool_i_mutex_lock(&executor->lock);
    bool counted = count_alarm_locked(executor);
    lanepool_i_mutex_unlock(&executor->lock);
    (void)lanepool_i_executor_look(executor);
    if (counted)
        lanepool_i_executor_release(executor);
}

bool lanepool_i_executor_can_delay(lanepool_executor *executor)
{
    lanepool_i_mutex_lock(&executor->lock);
    bool by_clock = executor->by_clock;
    lanepool_i_mutex_unlock(&executor->lock);
    return !by_clock || lanepool_i_timers_start(&executor->timers);
}

/* --- making and unmaking --- */

static bool read_functions(const lanepool_executor_functions *functions)
{
    return functions != NULL &&
           lanepool_i_struct_is_valid(functions, functions->struct_size, sizeof *functions) &&
           functions->execute != NULL &&
           (functions->take_back == NULL || functions->execute_after != NULL);
}

lanepool_status lanepool_executor_create(const lanepool_executor_functions *functions,
                                         void *context, lanepool_executor **executor)
{
    if (executor != NULL)
        *executor = NULL;
    if (executor == NULL || !read_functions(functions))
        return LANEPOOL_INVALID;
    lanepool_executor *made = lanepool_i_memory_alloc(sizeof *made);
    if (made == NULL)
        return LANEPOOL_NOMEM;
    memset(made, 0, sizeof *made);
    made->alarm.run = ring;
    made->functions = *functions;
    made->creator = lanepool_i_creator_self();
    made->context = context;
    made->armed_ns = UINT64_MAX;
    made->by_clock = functions->execute_after == NULL;
    atomic_init(&made->references, 1);
    if (!lanepool_i_mutex_init(&made->lock))
        goto free_memory;
    if (!lanepool_i_timers_init(&made->timers, NULL, NULL))
        goto fini_lock;
    *executor = made;
    return LANEPOOL_OK;
fini_lock:
    lanepool_i_mutex_fini(&made->lock);
free_memory:
    lanepool_i_memory_free(made);
    return LANEPOOL_NOMEM;
}

/* The clock thread is joined here, by the program's thread: who drops the last reference may be
 * the executor's. */
lanepool_status lanepool_executor_destroy(lanepool_executor *executor)
{
    if (executor == NULL)
        return LANEPOOL_OK;
    lanepool_i_mutex_lock(&executor->lock);
    bool used = executor->sequences > 0;
    lanepool_i_mutex_unlock(&executor->lock);
    if (used)
        return LANEPOOL_BUSY;
    lanepool_i_timers_end(&executor->timers);
    lanepool_i_timers_join(&executor->timers);
    disarm(executor);
    lanepool_i_executor_release(executor);
    return LANEPOOL_OK;
}
