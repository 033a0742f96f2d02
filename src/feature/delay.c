/* Owns delayed tasks: from the timer heap to the inbox or to their `cancelled`; see delay.h. */
#include "base/thread_name.h"
#include "core/run.h"
#include "core/submit_later.h"
#include "core/task_check.h"
#include "feature/delay_every.h"
#include "feature/journal.h"
#include "feature/lane_limit.h"
#include "feature/late_record.h"
#include "future/expiry.h"
#include "platform/notes.h"
#include "route/program_key.h"

static lanepool_future *delayed_task_future(const lanepool_i_task *task)
{
    return lanepool_i_task_future(task);
}

/* --- counting --- */

void lanepool_i_delays_count_down(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  size_t count)
{
    lanepool_i_mutex_lock(&pool->delays->lock);
    pool->delays->count -= count;
    lanepool_i_mutex_unlock(&pool->delays->lock);
    lanepool_i_lifecycle_attend(pool, record);
}

size_t lanepool_i_delays_count(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->delays->lock);
    size_t count = pool->delays->count;
    lanepool_i_mutex_unlock(&pool->delays->lock);
    return count;
}

/* --- into the inbox --- */

/* SUBMIT is written before the append, as for every task. No thread closes the inbox before it: a
 * drain waits for `count`, a hand-back for the clock thread, or the hand-back itself appends. */
static void append_delayed(lanepool_pool *pool, lanepool_i_thread_record *record,
                           const lanepool_i_tasks *tasks)
{
    if (tasks->count == 0)
        return;
    lanepool_i_count_up(&record->accepted, tasks->count);
    if (lanepool_i_records(record->ring, LANEPOOL_EVENT_SUBMIT))
        for (const lanepool_i_task *task = tasks->first; task != NULL;
             task = load_relaxed(&task->next))
            lanepool_i_trace(record->ring, LANEPOOL_EVENT_SUBMIT, (uintptr_t)task, 0);
    (void)lanepool_i_inbox_append(&pool->router.inbox, tasks->first, tasks->last, NULL);
    lanepool_i_workers_urge(&pool->workers, LANEPOOL_I_MOST_URGENT);
}

/* References the future: once appended, the task may end and drop its own reference. */
static void add_due(lanepool_i_delays *delays, lanepool_i_delayed *delayed)
{
    lanepool_i_task *task = delayed->task;
    lanepool_i_tasks_add(&delays->due, task);
    if (delayed->periodic != NULL)
        return;
    delayed->future = delayed_task_future(task);
    if (delayed->future != NULL)
        (void)lanepool_i_future_retain(delayed->future);
    lanepool_i_list_add(&delays->due_once, &delayed->link);
}

/* The tasks have been appended, so the router can check waits for them for deadlock now. */
static void free_due_once(lanepool_pool *pool)
{
    bool awaited = false;
    LANEPOOL_I_EACH(lanepool_i_delayed, delayed, &pool->delays->due_once, link) {
        lanepool_future *future = delayed->future;
        if (future != NULL) {
            lanepool_i_word_lock_lock(&future->lock);
            future->delayed = NULL;
            lanepool_i_word_lock_unlock(&future->lock);
            lanepool_i_expiry_arm(future);
            lanepool_i_future_release(future);
            awaited = true;
        }
        lanepool_i_memory_free(delayed);
    }
    lanepool_i_list_init(&pool->delays->due_once);
    if (awaited)
        lanepool_i_waits_wake(&pool->waits, LANEPOOL_I_EVERYONE);
}

/* Returns how many tasks it has appended. */
static size_t append_due(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_tasks due = pool->delays->due;
    pool->delays->due = (lanepool_i_tasks){ NULL, NULL, 0 };
    append_delayed(pool, record, &due);
    free_due_once(pool);
    return due.count;
}

/* --- out of the pool --- */

/* Gives back what an unrouted block's claims own: byte strings and lane reservations. */
static void give_back_claims(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *block)
{
    bool wide = lanepool_i_task_is_wide(block);
    uint64_t types = load_relaxed(&block->word) >> LANEPOOL_I_TYPE_SHIFT;
    uint64_t reserved = 0;
    for (size_t i = 0; i < lanepool_i_task_count(block); i++, types >>= 2) {
        const lanepool_i_entry *entry = &block->as.plain[i & 1];
        if (wide) {
            const lanepool_i_wide_entry *wide_entry = lanepool_i_pool_entry(pool, block, i);
            entry = &wide_entry->entry;
            types = wide_entry->owner >> LANEPOOL_I_OWNER_TYPE_SHIFT;
        }
        if ((types & 3) == LANEPOOL_I_TYPE_BYTES)
            lanepool_i_key_bytes_give(pool, record, entry->at.bytes);
        reserved += (types & 3) != LANEPOOL_I_TYPE_LANE;
    }
    if (reserved > 0)
        lanepool_i_lane_memory_unreserve(&pool->lane_table.store, reserved);
}

/* A wait in these callbacks returns DEADLOCK: a task without entries cannot be checked. */
void lanepool_i_delays_end_cancelled(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     lanepool_i_task *task, lanepool_i_callbacks callbacks,
                                     lanepool_status why)
{
    lanepool_i_run_call_cancelled(record, callbacks.cancelled, task->context, why);
    lanepool_i_run_complete_cancelled(record, delayed_task_future(task), LANEPOOL_CANCELLED);
    lanepool_i_run_call_release(record, callbacks.release, task->context);
    give_back_claims(pool, record, task);
    lanepool_i_lane_limits_end_charge(pool, record, task);
    lanepool_i_journal_drop(pool, record, task);
    lanepool_i_late_record_end(pool, record, task);
    lanepool_i_slab_give(&pool->slab, &record->cache, lanepool_i_task_class(task), task);
    lanepool_i_admission_return_to_waiting(&pool->admission);
}

static void cancel_taken_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_delayed *delayed, lanepool_status why)
{
    lanepool_i_task *task = delayed->task;
    lanepool_i_memory_free(delayed);
    lanepool_i_delays_end_cancelled(pool, record, task, lanepool_i_task_callbacks(task), why);
    lanepool_i_delays_count_down(pool, record, 1);
}

/* Ends the lifecycle's cancel that the caller has begun; until then the pool cannot end. */
static void finish_one_cancel(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_delayed *delayed)
{
    cancel_taken_task(pool, record, delayed, LANEPOOL_CANCELLED);
    lanepool_i_lifecycle_end_cancel(&pool->lifecycle);
    lanepool_i_lifecycle_attend(pool, record);
}

/* From here on the future is cancelled for all threads, and a deadlock check finds no task. */
static void set_cancelled_locked(lanepool_future *future)
{
    future->delayed = NULL;
    future->until_complete.task = NULL;
    lanepool_i_future_enter_locked(future, LANEPOOL_I_PHASE_CANCELLED);
}

bool lanepool_i_delays_cancel(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_future *future)
{
    for (;;) {
        lanepool_i_word_lock_lock(&future->lock);
        lanepool_i_delayed *delayed = future->delayed;
        bool taken =
            delayed != NULL && lanepool_i_timers_remove(&pool->delays->timers, &delayed->timer);
        if (taken) {
            lanepool_i_lifecycle_begin_cancel(&pool->lifecycle);
            set_cancelled_locked(future);
        }
        lanepool_i_word_lock_unlock(&future->lock);
        if (taken)
            finish_one_cancel(pool, record, delayed);
        if (taken || delayed == NULL)
            return taken;
        /* The clock thread is about to append the task, and makes no callback before that. */
        lanepool_i_yield();
    }
}

/* Returns false if no task is delayed. */
static bool cancel_next(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_status why)
{
    lanepool_i_delayed *delayed =
        (lanepool_i_delayed *)lanepool_i_timers_take(&pool->delays->timers);
    if (delayed == NULL)
        return false;
    if (delayed->periodic != NULL) {
        lanepool_i_periodic_end(pool, record, delayed->periodic, why);
        return true;
    }
    lanepool_future *future = delayed_task_future(delayed->task);
    if (future != NULL) {
        lanepool_i_word_lock_lock(&future->lock);
        set_cancelled_locked(future);
        lanepool_i_word_lock_unlock(&future->lock);
    }
    cancel_taken_task(pool, record, delayed, why);
    return true;
}

size_t lanepool_i_delays_cancel_all(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    size_t most = lanepool_i_delays_count(pool);
    size_t count = 0;
    while (count < most && cancel_next(pool, record, LANEPOOL_CANCELLED))
        count++;
    return count;
}

/* Ends early if the pool becomes STOPPING: then the rest is handed back. */
static void cancel_in_drain(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    while (load_seq(pool->lifecycle.state) == LANEPOOL_I_DRAINING &&
           cancel_next(pool, record, LANEPOOL_SHUT_DOWN))
        continue;
}

/* --- the clock thread --- */

void lanepool_i_delays_fire(lanepool_i_timer *timer)
{
    lanepool_i_delayed *delayed = (lanepool_i_delayed *)timer;
    lanepool_i_delays *delays = delayed->pool->delays;
    if (delayed->periodic != NULL && lanepool_i_periodic_is_over(delayed->periodic))
        lanepool_i_list_add(&delays->over_periodic, &delayed->link);
    else
        add_due(delays, delayed);
}

/* lanepool_i_delays_stop() sets `handed_back` under the same lock, and only if `workers_left` is 0.
 * So either this thread sees `handed_back`, or the role's holder counts this thread. */
static bool begin_clock(void *owner)
{
    lanepool_pool *pool = owner;
    lanepool_i_thread_name_clock(pool->name);
    lanepool_i_note_acquire(&pool->notes.controls);
    lanepool_i_mutex_lock(&pool->delays->lock);
    bool may_begin = !pool->delays->handed_back;
    if (may_begin)
        fetch_add_seq(&pool->lifecycle.workers_left, 1);
    lanepool_i_mutex_unlock(&pool->delays->lock);
    if (may_begin)
        lanepool_i_thread_record_enter(load_acquire(&pool->delays->clock));
    return may_begin;
}

static void end_over_periodic(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_link *link;
    while ((link = lanepool_i_list_take(&pool->delays->over_periodic)) != NULL)
        lanepool_i_periodic_end(pool, record,
                                LANEPOOL_I_ITEM(link, lanepool_i_delayed, link)->periodic,
                                LANEPOOL_CANCELLED);
}

/* Returns when the first of the features must be called again. */
static uint64_t features_on_clock(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    uint64_t first_ns = UINT64_MAX;
    for (size_t i = 0; pool->slots.on_clock[i] != NULL; i++) {
        uint64_t next_ns = pool->slots.on_clock[i]->on_clock(pool, record);
        first_ns = next_ns < first_ns ? next_ns : first_ns;
    }
    return first_ns;
}

/* Appends what is due before it makes any callback. */
static uint64_t pass_on_due(void *owner)
{
    lanepool_pool *pool = owner;
    lanepool_i_thread_record *record = load_relaxed(&pool->delays->clock);
    size_t appended = append_due(pool, record);
    if (appended > 0) {
        lanepool_i_router_after_append(pool, record);
        lanepool_i_delays_count_down(pool, record, appended);
    }
    end_over_periodic(pool, record);
    if (load_seq(pool->lifecycle.state) == LANEPOOL_I_DRAINING) {
        if (pool->options.drain_waits_for_delayed)
            lanepool_i_periodic_end_all(pool);
        else
            cancel_in_drain(pool, record);
    }
    return features_on_clock(pool, record);
}

static void end_clock(void *owner)
{
    lanepool_pool *pool = owner;
    lanepool_i_thread_record *record = load_relaxed(&pool->delays->clock);
    lanepool_i_note_release(&pool->notes.ends);
    lanepool_i_lifecycle_count_out(pool, record);
    lanepool_i_thread_record_leave(record);
}

static const lanepool_i_clock_work work_of_clock = { begin_clock, pass_on_due, end_clock };

/* Called by another thread, since the clock thread could not report a failure. */
static bool make_clock_record(lanepool_pool *pool)
{
    lanepool_i_thread_record *none = NULL;
    if (load_acquire(&pool->delays->clock) != NULL)
        return true;
    lanepool_i_thread_record *record =
        lanepool_i_thread_record_create_for_worker(pool, &pool->records, NULL);
    if (record == NULL)
        return false;
    if (!cas_acq_rel(&pool->delays->clock, &none, record))
        lanepool_i_thread_record_retire(record);
    return true;
}

/* The workers are stopped before the clock thread is ended. A drain accepts no delayed tasks, but
 * it accepts tasks with retries and deadlines. */
lanepool_status lanepool_i_delays_start_clock(lanepool_pool *pool)
{
    if (!make_clock_record(pool))
        return LANEPOOL_NOMEM;
    if (lanepool_i_timers_start(&pool->delays->timers))
        return LANEPOOL_OK;
    return lanepool_i_workers_are_stopped(&pool->workers) ? LANEPOOL_SHUT_DOWN
                                                          : LANEPOOL_NO_RESOURCE;
}

/* --- creation and end of the pool --- */

bool lanepool_i_delays_init(lanepool_pool *pool)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_list_init(&delays->periodics);
    lanepool_i_list_init(&delays->due_once);
    lanepool_i_list_init(&delays->over_periodic);
    if (!lanepool_i_timers_init(&delays->timers, pool->driver, &work_of_clock, pool))
        return false;
    if (lanepool_i_mutex_init(&delays->lock, LANEPOOL_I_LOCK_DELAYS))
        return true;
    lanepool_i_timers_fini(&delays->timers);
    return false;
}

void lanepool_i_delays_fini(lanepool_pool *pool)
{
    lanepool_i_thread_record *clock = load_relaxed(&pool->delays->clock);
    lanepool_i_timers_fini(&pool->delays->timers);
    lanepool_i_mutex_fini(&pool->delays->lock);
    if (clock != NULL)
        lanepool_i_thread_record_retire(clock);
}

void lanepool_i_delays_close(lanepool_pool *pool)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    delays->ends_periodic = true;
    delays->closed |= !pool->options.drain_waits_for_delayed;
    lanepool_i_mutex_unlock(&delays->lock);
}

bool lanepool_i_delays_try_close(lanepool_pool *pool)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool none = delays->count == 0;
    if (none)
        delays->closed = true;
    lanepool_i_mutex_unlock(&delays->lock);
    return none;
}

void lanepool_i_delays_reopen(lanepool_pool *pool)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    delays->closed = !pool->options.drain_waits_for_delayed;
    lanepool_i_mutex_unlock(&delays->lock);
}

bool lanepool_i_delays_stop(lanepool_pool *pool)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool alone = load_seq(&pool->lifecycle.workers_left) == 0;
    if (alone) {
        delays->closed = true;
        delays->handed_back = true;
    }
    lanepool_i_mutex_unlock(&delays->lock);
    return alone;
}

/* The clock thread has left its loop, or never entered it. A thread that ends a periodic task
 * removes its timer and adds it again under the lock. So under the lock, all timers are in the
 * heap. */
void lanepool_i_delays_append_all(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_timer *timer;
    lanepool_i_mutex_lock(&pool->delays->lock);
    while ((timer = lanepool_i_timers_take(&pool->delays->timers)) != NULL)
        add_due(pool->delays, (lanepool_i_delayed *)timer);
    lanepool_i_mutex_unlock(&pool->delays->lock);
    size_t count = append_due(pool, record);
    lanepool_i_mutex_lock(&pool->delays->lock);
    pool->delays->count -= count;
    lanepool_i_mutex_unlock(&pool->delays->lock);
}

/* --- submitting --- */

static bool add_delayed(lanepool_pool *pool, lanepool_i_delayed *delayed, uint64_t due_ns)
{
    lanepool_i_delays *delays = pool->delays;
    lanepool_i_mutex_lock(&delays->lock);
    bool open = !delays->closed;
    if (open) {
        delays->count++;
        lanepool_i_timers_add(&delays->timers, &delayed->timer, due_ns);
    }
    lanepool_i_mutex_unlock(&delays->lock);
    return open;
}

/* Sets the future's `delayed` first: the clock thread may clear it once the timer is added. */
static lanepool_status delay_block(lanepool_pool *pool, lanepool_i_task *block, uint64_t delay_ns)
{
    lanepool_future *future = delayed_task_future(block);
    lanepool_status status = lanepool_i_delays_start_clock(pool);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_delayed *delayed = lanepool_i_memory_alloc(sizeof *delayed);
    if (delayed == NULL)
        return LANEPOOL_NOMEM;
    *delayed = (lanepool_i_delayed){ .pool = pool, .task = block };
    delayed->timer.fire = lanepool_i_delays_fire;
    if (future != NULL)
        future->delayed = delayed;
    if (add_delayed(pool, delayed, lanepool_i_driver_deadline(pool->driver, delay_ns)))
        return LANEPOOL_OK;
    lanepool_i_memory_free(delayed);
    return LANEPOOL_SHUT_DOWN;
}

lanepool_status lanepool_pool_submit_after(lanepool_pool *pool, const lanepool_task *task,
                                           int64_t delay_ns)
{
    if (delay_ns <= 0)
        return lanepool_pool_submit(pool, task);
    lanepool_task room;
    if (!lanepool_i_description_read(&task, &room))
        return LANEPOOL_INVALID;
    lanepool_i_thread_record *record;
    lanepool_i_task *block;
    lanepool_status status = lanepool_i_submit_for_later(pool, task, &record, &block);
    if (status != LANEPOOL_OK)
        return status;
    status = delay_block(pool, block, (uint64_t)delay_ns);
    if (status != LANEPOOL_OK)
        lanepool_i_submit_undo_for_later(pool, record, block, task);
    return status;
}
