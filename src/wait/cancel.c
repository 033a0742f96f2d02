/*
 * Owns cancelling: the decision that a task never starts, the call of `cancelled`, and the task's
 * tombstone.
 *
 * One task is cancelled by its future: CANCELLED against RUNNING, under the future's lock
 * (phase.h). A simple task becomes RUNNING without the lock, so both swap the phase.
 *
 * Several tasks, with or without futures, are cancelled by their words: TOMBSTONE against STARTED.
 * The role's holder sets TOMBSTONE while it takes a census (census.h). During a census, a thread
 * that starts a task sets STARTED by one atomic operation, whose result shows an earlier TOMBSTONE.
 * A task that has started before is in its thread's running list. Where finished tasks have entries
 * until they are reaped, the countdown of such a task says that it has started.
 *
 * TOMBSTONE without STARTED: the task's reference to its future belongs to the canceller. TOMBSTONE
 * with STARTED: the future has cancelled the task, and points to the tombstone until this has left
 * its lanes.
 *
 * The canceller copies the context and the callbacks out of the block no later than it decides: the
 * block may be given back at any time after that. The tombstone's entries pass through
 * their lanes like any others. With lanes per key (rule.h), each lane passes the entry of a
 * cancelled rollup without waiting for the rollup's other lanes. For that, a message notifies the
 * role's holder. A member has this message. For a task with only a future it is allocated here,
 * once the phase is found PENDING. Apart from that, a cancel of a pending task needs only this
 * thread's record. If there is no memory, the task is not cancelled.
 *
 * A predicate of the program may be called for the task until the role's holder has made the
 * tombstone. So in a pool with a predicate, the release callback is called after that.
 */
#include "lanepool/future.h"

#include "base/misuse.h"
#include "base/planted.h"
#include "core/call_record.h"
#include "core/caller_runs.h"
#include "core/run.h"
#include "feature/barrier.h"
#include "feature/delay_every.h"
#include "feature/failures.h"
#include "feature/parked.h"
#include "feature/pump.h"
#include "feature/retry.h"
#include "lane/visits.h"
#include "observe/take_census.h"
#include "platform/notes.h"
#include "route/entries.h"
#include "route/lane_handle.h"
#include "route/pool.h"
#include "task/countdown.h"
#include "wait/cancel.h"

/* What the canceller needs of a cancelled task. */
struct cancelled_task {
    void *context;
    lanepool_i_callbacks callbacks;
    lanepool_future *future; /* to be completed by the canceller, or NULL */
};

static void call_cancelled(lanepool_i_thread_record *record, const struct cancelled_task *cancelled,
                           lanepool_status why)
{
    if (!PLANTED(RUNS_CANCELLED))
        lanepool_i_run_call_cancelled(record, cancelled->callbacks.cancelled, cancelled->context,
                                      why);
    lanepool_i_run_complete_cancelled(record, cancelled->future, why);
}

/* --- one task, by its future --- */

/* Pins the pool: a pending task cannot end while its future is locked. Returns NULL if the future
 * is complete or belongs to a sequence's task. */
static lanepool_pool *pin_pool_of_pending(lanepool_future *future)
{
    lanepool_i_word_lock_lock(&future->lock);
    lanepool_pool *pool = lanepool_i_future_pool_locked(future);
    if (pool != NULL)
        lanepool_i_lifecycle_pin(&pool->lifecycle);
    lanepool_i_word_lock_unlock(&future->lock);
    return pool;
}

/* Returns false if the task is not PENDING any more, or a cancelling of several tasks has just made
 * it a tombstone, which may have left its lanes by now. `raw` is read before the word is checked:
 * if another thread was giving the block back, the word shows the tombstone, and `raw` is not used.
 * Otherwise the block is not reused while the caller has the future's lock: such a cancelling takes
 * it before it ends, and a task that has started takes it to complete.
 *
 * The cancel counts before the lock is released, and so before the tombstone passes. */
static bool decide_to_cancel_locked(lanepool_pool *pool, lanepool_future *future,
                                    struct cancelled_task *cancelled)
{
    const lanepool_i_task *task = future->until_complete.task;
    uintptr_t raw = load_acquire(&task->as.plain[1].next);
    uint64_t word = load_acquire(&task->word);
    if ((word & LANEPOOL_I_TOMBSTONE) != 0)
        return false;
    *cancelled = (struct cancelled_task){ task->context, lanepool_i_callbacks_from(task, word, raw),
                                          future };
    if (!lanepool_i_future_cancel_locked(future))
        return false;
    lanepool_i_lifecycle_begin_cancel(&pool->lifecycle);
    return true;
}

/* Cancels a PENDING task, or asks one that has started to end. Without `has_message` it answers
 * NOMEM for a PENDING task, and nothing has changed. */
static lanepool_status decide_to_cancel(lanepool_pool *pool, lanepool_future *future,
                                        bool has_message, struct cancelled_task *cancelled)
{
    lanepool_status status = LANEPOOL_DONE;
    if (!PLANTED(UNLOCKED))
        lanepool_i_word_lock_lock(&future->lock);
    if (lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_PENDING) {
        if (!has_message)
            status = LANEPOOL_NOMEM;
        else if (decide_to_cancel_locked(pool, future, cancelled))
            status = LANEPOOL_OK;
    }
    if (lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_RUNNING ||
        lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_SUSPENDED) {
        store_relaxed(&future->asked_to_end, true);
        status = LANEPOOL_RUNNING;
    }
    if (!PLANTED(UNLOCKED))
        lanepool_i_word_lock_unlock(&future->lock);
    return status;
}

/* Makes the tombstone's entries block no lane. The block stays valid under the future's lock:
 * before the tombstone leaves its lanes, a worker makes the future forget it, under this lock. */
static void make_tombstone_locked(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task, lanepool_i_grants *grants)
{
    lanepool_i_run_set_tombstone(record, task);
    if (pool->rule->split_tombstone != NULL && !lanepool_i_barrier_holds_back(&pool->router, task))
        pool->rule->split_tombstone(pool, task, grants);
}

lanepool_i_tombstone_message *lanepool_i_cancel_reserve(const lanepool_pool *pool)
{
    lanepool_i_tombstone_message *message =
        lanepool_i_allocate(pool->options.allocator, sizeof *message);
    if (message != NULL)
        *message = (lanepool_i_tombstone_message){ .is_allocated = true };
    return message;
}

void lanepool_i_cancel_unreserve(const lanepool_pool *pool, lanepool_i_tombstone_message *message)
{
    lanepool_i_deallocate(pool->options.allocator, message, sizeof *message);
}

/* The message of a member is gone with the last reference. */
static void end_tombstone_message(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_tombstone_message *message)
{
    const lanepool_i_task *node = &message->message.node;
    lanepool_future *future = message->future;
    lanepool_i_run_call_release(record, node->as.wide.release, node->context);
    if (message->is_allocated)
        lanepool_i_cancel_unreserve(pool, message);
    lanepool_i_lifecycle_end_cancel(&pool->lifecycle);
    lanepool_i_future_release(future);
}

/* By the role's holder. */
static void carry_out_tombstone_message(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_i_message *sent, lanepool_i_grants *grants)
{
    lanepool_i_tombstone_message *message =
        LANEPOOL_I_ITEM(sent, lanepool_i_tombstone_message, message);
    lanepool_future *future = message->future;
    lanepool_i_failures_sent(pool);
    lanepool_i_word_lock_lock(&future->lock);
    if (future->tombstone != NULL)
        make_tombstone_locked(pool, record, future->tombstone, grants);
    lanepool_i_word_lock_unlock(&future->lock);
    if (lanepool_i_future_is_member(future))
        lanepool_i_pumps_move_tombstones(pool);
    lanepool_i_barrier_lift(pool, record, grants);
    end_tombstone_message(pool, record, message);
}

/* The cancel ends when the message is carried out. A wait inside a task routes the message, too: it
 * may wait for a task behind the tombstone, on the only worker. With a predicate, the message also
 * calls the release callback. If the inbox is closed, the predicate is not called any more, and the
 * cancel ends here. The pool's end may wait only for this by now, so this thread attends to the
 * counters.
 */
static void send_tombstone_message(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_tombstone_message *message,
                                   const struct cancelled_task *cancelled)
{
    bool has_rule = pool->options.is_compatible != NULL;
    if (!has_rule)
        lanepool_i_run_call_release(record, cancelled->callbacks.release, cancelled->context);
    message->future = cancelled->future;
    message->message.node.context = cancelled->context;
    message->message.node.as.wide.release = has_rule ? cancelled->callbacks.release : NULL;
    message->message.carry_out = carry_out_tombstone_message;
    if (lanepool_i_failures_send(pool, record, &message->message))
        return;
    end_tombstone_message(pool, record, message);
    lanepool_i_lifecycle_attend(pool, record);
}

/* Only the thread that has cancelled the member uses its message. */
static lanepool_i_tombstone_message *message_of_member(lanepool_future *future)
{
    lanepool_i_tombstone_message *message = &lanepool_i_member_of(future)->tombstone_message;
    *message = (lanepool_i_tombstone_message){ .is_allocated = false };
    return message;
}

/* `message` is NULL for a member, which has one. */
static lanepool_status cancel_with(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_future *future, lanepool_i_tombstone_message *message)
{
    struct cancelled_task cancelled;
    lanepool_status status = decide_to_cancel(pool, future, true, &cancelled);
    if (status == LANEPOOL_OK) {
        call_cancelled(record, &cancelled, LANEPOOL_CANCELLED);
        send_tombstone_message(pool, record, message != NULL ? message : message_of_member(future),
                               &cancelled);
    } else if (message != NULL) {
        lanepool_i_cancel_unreserve(pool, message);
    }
    return status;
}

/* Cancels a task that was PENDING. */
static lanepool_status cancel_pending(lanepool_pool *pool, lanepool_future *future)
{
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered != LANEPOOL_OK)
        return entered;
    if (lanepool_i_delays_cancel(pool, record, future))
        return LANEPOOL_OK;
    if (lanepool_i_future_is_member(future))
        return cancel_with(pool, record, future, NULL);
    lanepool_i_tombstone_message *message = lanepool_i_cancel_reserve(pool);
    return message != NULL ? cancel_with(pool, record, future, message) : LANEPOOL_NOMEM;
}

/* Looks at the phase first: to ask a task to end takes no memory. */
static lanepool_status cancel_in_pool(lanepool_pool *pool, lanepool_future *future)
{
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    lanepool_status status = decide_to_cancel(pool, future, false, NULL);
    if (status == LANEPOOL_NOMEM)
        status = cancel_pending(pool, future);
    if (status == LANEPOOL_NOMEM) /* the task may have started since the first look */
        status = decide_to_cancel(pool, future, false, NULL);
    if (status == LANEPOOL_RUNNING)
        lanepool_i_retry_asked_to_stop(future);
    return status;
}

lanepool_status lanepool_future_cancel(lanepool_future *future)
{
    if (future == NULL)
        return LANEPOOL_INVALID;
    if (!lanepool_i_future_is_here(future))
        return LANEPOOL_FORKED;
    lanepool_pool *pool = pin_pool_of_pending(future);
    if (pool == NULL) {
        lanepool_i_note_acquire(future);
        const lanepool_i_future_owner *owner = lanepool_i_future_owner_of(future);
        return owner != NULL ? owner->cancel(future) : LANEPOOL_DONE;
    }
    lanepool_i_note_release(&pool->notes.controls);
    lanepool_status status = cancel_in_pool(pool, future);
    lanepool_i_lifecycle_unpin(&pool->lifecycle);
    return status;
}

lanepool_status lanepool_i_cancel_reserved(lanepool_pool *pool, lanepool_future *future,
                                           lanepool_i_tombstone_message *message)
{
    lanepool_i_thread_record *record;
    lanepool_status entered = lanepool_i_pool_enter(pool, &record);
    if (entered == LANEPOOL_OK)
        return cancel_with(pool, record, future, message);
    lanepool_i_cancel_unreserve(pool, message);
    return entered;
}

void lanepool_i_cancel_expired(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_future *future)
{
    struct cancelled_task cancelled;
    lanepool_i_word_lock_lock(&future->lock);
    bool cancels = (lanepool_i_future_phase(future) == LANEPOOL_I_PHASE_PENDING ||
                    (lanepool_i_future_phase(future) < LANEPOOL_I_PHASE_CANCELLED &&
                     PLANTED(EXPIRES_STARTED))) &&
                   decide_to_cancel_locked(pool, future, &cancelled);
    lanepool_i_word_lock_unlock(&future->lock);
    if (!cancels)
        return;
    call_cancelled(record, &cancelled, LANEPOOL_TIMED_OUT);
    send_tombstone_message(pool, record, message_of_member(future), &cancelled);
}

lanepool_status lanepool_future_cancel_wait(lanepool_future *future, uint64_t wait_max_ns)
{
    lanepool_status status = lanepool_future_cancel(future);
    if (status != LANEPOOL_RUNNING && status != LANEPOOL_DONE)
        return status;
    status = lanepool_future_wait(future, wait_max_ns, NULL);
    return status == LANEPOOL_OK ? LANEPOOL_DONE : status;
}

bool lanepool_run_is_cancelled(const lanepool_run *run)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return false;
    const lanepool_i_task *task = run->task;
    if (task == NULL)
        return run->of_sequence->future != NULL &&
               load_relaxed(&run->of_sequence->future->asked_to_end);
    const lanepool_future *future = lanepool_i_task_future(task);
    return future != NULL && load_relaxed(&future->asked_to_end);
}

/* --- several tasks --- */

/* One call that cancels several tasks; on the caller's stack. */
struct cancelling {
    lanepool_lane *handle;  /* cancel the tasks that claim this lane, or NULL */
    const void *dropped_by; /* cancel the tasks behind those that this resolution drops, or NULL */
    lanepool_i_census census;
    lanepool_i_vector cancelled;  /* struct cancelled_task */
    lanepool_i_vector tombstones; /* lanepool_i_task * */
    bool out_of_memory;
};

/* Returns false if the future has cancelled the task before: then its own canceller calls the task.
 * The task is a tombstone in either case. */
static bool take_over_future(lanepool_future *future)
{
    bool taken = lanepool_i_future_give_up(future);
    if (!taken)
        lanepool_i_future_drop_tombstone(future);
    return taken;
}

/* Only where tasks are reaped. A task that a barrier holds back has no countdown yet. */
static bool countdown_shows_start(const lanepool_pool *pool, const lanepool_i_task *task)
{
    return pool->rule->reap != NULL && !lanepool_i_barrier_holds_back(&pool->router, task) &&
           lanepool_i_countdown_has_started(task);
}

/* Adds what the canceller needs of a task. `word` and `raw` were read before the task became a
 * tombstone; the block is retained until the census ends. */
static void add_cancelled(struct cancelling *cancelling, const lanepool_i_task *task, uint64_t word,
                          uintptr_t raw, const lanepool_i_callbacks *of_periodic)
{
    lanepool_future *future = lanepool_i_task_future_by(task, word);
    if (future != NULL && !take_over_future(future))
        return;
    struct cancelled_task *cancelled =
        lanepool_i_vector_add(&cancelling->cancelled, sizeof(struct cancelled_task));
    *cancelled = (struct cancelled_task){ .context = task->context, .future = future };
    cancelled->callbacks = lanepool_i_word_is_periodic(word)
                               ? *of_periodic
                               : lanepool_i_callbacks_from(task, word, raw);
}

/* Returns false if the task has started or is a tombstone already. The arrays must have room.
 * TOMBSTONE is never cleared: another thread may have set it, too. The callbacks of a periodic task
 * are read before: once the task is a tombstone, a worker may free their memory. */
static bool try_to_make_tombstone(struct cancelling *cancelling, lanepool_i_task *task)
{
    uint64_t over = LANEPOOL_I_TOMBSTONE | LANEPOOL_I_STARTED;
    uint64_t word = load_relaxed(&task->word);
    if (countdown_shows_start(cancelling->census.pool, task) || (word & over) != 0)
        return false;
    uintptr_t raw = load_acquire(&task->as.plain[1].next);
    lanepool_i_callbacks of_periodic = { NULL, NULL };
    if (lanepool_i_word_is_periodic(word))
        of_periodic = lanepool_i_periodic_callbacks(task);
    while (!cas_acq_rel(&task->word, &word, word | LANEPOOL_I_TOMBSTONE))
        if ((word & over) != 0)
            return false;
    add_cancelled(cancelling, task, word, raw, &of_periodic);
    lanepool_i_trace_task(cancelling->census.record->ring, LANEPOOL_EVENT_CANCEL, task, 0);
    return true;
}

static void add_tombstone(struct cancelling *cancelling, lanepool_i_task *task)
{
    lanepool_i_task **tombstone =
        lanepool_i_vector_add(&cancelling->tombstones, sizeof(lanepool_i_task *));
    *tombstone = task;
}

/* Returns the i-th lane that the task claims; NULL if it has none yet. */
static const lanepool_i_lane *claimed_lane(const lanepool_pool *pool, lanepool_i_task *task,
                                           size_t i)
{
    if (lanepool_i_barrier_holds_back(&pool->router, task))
        return lanepool_i_lane_table_find_claimed(pool, task, i);
    return lanepool_i_entries_read_lane(task, i);
}

static bool does_task_claim(const lanepool_pool *pool, lanepool_i_task *task,
                            const lanepool_i_lane *lane)
{
    if (!lanepool_i_barrier_holds_back(&pool->router, task) && !lanepool_i_task_is_cut(task))
        return pool->rule->claims_lane(pool, task, lane);
    size_t i = lanepool_i_entries_read_count(task);
    while (i > 0 && claimed_lane(pool, task, i - 1) != lane)
        i--;
    return i > 0;
}

/* NULL if this call has no handle. */
static const lanepool_i_lane *lane_to_cancel(const struct cancelling *cancelling)
{
    if (cancelling->handle == NULL)
        return NULL;
    return lanepool_i_handle_lane(cancelling->census.pool, cancelling->census.record,
                                  cancelling->handle);
}

/* Whether the task waits in a lane of a task that is being dropped. Only with lanes per key. Two
 * tasks that have left poisoned lanes both have entries in the void lane, but neither waits there.
 */
static bool is_behind_dropped(const struct cancelling *cancelling, lanepool_i_task *task)
{
    lanepool_pool *pool = cancelling->census.pool;
    for (size_t i = lanepool_i_entries_read_count(task); i > 0; i--) {
        const lanepool_i_lane *lane = claimed_lane(pool, task, i - 1);
        if (lane != NULL && !lanepool_i_lane_is_void(lane) &&
            lanepool_i_parked_is_dropping(pool, lane, cancelling->dropped_by))
            return true;
    }
    return false;
}

/* A cancelling of the whole pool spares the work of sequences. */
static bool is_to_be_cancelled(const struct cancelling *cancelling, lanepool_i_task *task,
                               const lanepool_i_lane *lane)
{
    if (cancelling->dropped_by != NULL)
        return is_behind_dropped(cancelling, task);
    if (lane == NULL)
        return task->function != lanepool_i_run_work;
    return does_task_claim(cancelling->census.pool, task, lane);
}

/* It is too late to cancel it. A cut that begins after this check has STARTED, too, before it
 * changes its entries. */
static bool is_begun_cut(const lanepool_i_task *task)
{
    return lanepool_i_task_is_cut(task) && lanepool_i_cut_has_begun(task);
}

static void cancel_seen_tasks(struct cancelling *cancelling)
{
    const lanepool_i_lane *lane = lane_to_cancel(cancelling);
    for (size_t i = 0; i < cancelling->census.rows.count; i++) {
        const lanepool_i_census_row *seen = lanepool_i_census_row_at(&cancelling->census, i);
        if ((seen->state != LANEPOOL_SNAPSHOT_RUNNING || PLANTED(CANCEL_RUNNING)) &&
            !is_begun_cut(seen->task) && is_to_be_cancelled(cancelling, seen->task, lane) &&
            try_to_make_tombstone(cancelling, seen->task))
            add_tombstone(cancelling, seen->task);
    }
}

/* A receiver has no entries yet and gets all its lanes at once, so bury_tombstones() has nothing to
 * do for it. */
static void cancel_receiver(lanepool_i_task *receiver, lanepool_i_task *giver, void *context)
{
    struct cancelling *cancelling = context;
    if (is_to_be_cancelled(cancelling, giver, lane_to_cancel(cancelling)))
        (void)try_to_make_tombstone(cancelling, receiver);
}

/* Returns false if memory cannot be allocated. Nothing can be allocated under the receivers' lock:
 * if there was too little room, all are visited again, and the first ones are tombstones by then.
 */
static bool cancel_receivers(struct cancelling *cancelling)
{
    lanepool_i_call_records *calls = cancelling->census.pool->call_records;
    size_t room = 0;
    size_t count;
    while ((count = lanepool_i_call_records_each_receiver(calls, room, cancel_receiver,
                                                          cancelling)) > room) {
        room = count;
        if (!lanepool_i_vector_reserve(&cancelling->cancelled, room, sizeof(struct cancelled_task)))
            return false;
    }
    return true;
}

/* To be called once the lanes are not frozen any more. */
static void bury_tombstones(const struct cancelling *cancelling, lanepool_i_grants *grants)
{
    lanepool_pool *pool = cancelling->census.pool;
    const lanepool_i_rule *rule = pool->rule;
    lanepool_i_task *const *tombstones = cancelling->tombstones.items;
    const lanepool_i_router *router = &pool->router;
    for (size_t i = 0; i < cancelling->tombstones.count && rule->split_tombstone != NULL; i++)
        if (!lanepool_i_barrier_holds_back(router, tombstones[i]))
            rule->split_tombstone(pool, tombstones[i], grants);
}

/* By the role's holder. */
static void carry_out_cancelling(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 void *context, lanepool_i_grants *grants)
{
    struct cancelling *cancelling = context;
    lanepool_i_census *census = &cancelling->census;
    *census = (lanepool_i_census){ .pool = pool, .record = record };
    lanepool_i_census_take(census);
    size_t most = census->rows.count;
    cancelling->out_of_memory =
        census->out_of_memory ||
        !lanepool_i_vector_reserve(&cancelling->cancelled, most, sizeof(struct cancelled_task)) ||
        !lanepool_i_vector_reserve(&cancelling->tombstones, most, sizeof(lanepool_i_task *));
    if (!cancelling->out_of_memory) {
        cancel_seen_tasks(cancelling);
        cancelling->out_of_memory = !cancel_receivers(cancelling);
    }
    lanepool_i_census_thaw(census, grants);
    bury_tombstones(cancelling, grants);
    lanepool_i_pumps_move_tombstones(pool);
    lanepool_i_census_end(census);
    lanepool_i_census_fini(census);
    lanepool_i_barrier_lift(pool, record, grants);
}

static void call_all_cancelled(lanepool_i_thread_record *record,
                               const struct cancelled_task *cancelled, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        call_cancelled(record, &cancelled[i], LANEPOOL_CANCELLED);
        lanepool_i_run_call_release(record, cancelled[i].callbacks.release, cancelled[i].context);
    }
}

static lanepool_status cancel_several(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_lane *handle, const void *dropped_by, size_t *count)
{
    struct cancelling cancelling = { .handle = handle, .dropped_by = dropped_by };
    lanepool_i_lifecycle_begin_cancel(&pool->lifecycle);
    lanepool_status status =
        lanepool_i_control_call_in_turn(pool, record, carry_out_cancelling, &cancelling);
    if (status == LANEPOOL_OK && cancelling.out_of_memory)
        status = LANEPOOL_NOMEM;
    call_all_cancelled(record, cancelling.cancelled.items, cancelling.cancelled.count);
    size_t cancelled_count = cancelling.cancelled.count;
    if (status == LANEPOOL_OK && handle == NULL && dropped_by == NULL) {
        cancelled_count += lanepool_i_delays_cancel_all(pool, record);
        lanepool_i_retry_ask_all_to_stop(pool);
    }
    lanepool_i_lifecycle_end_cancel(&pool->lifecycle);
    lanepool_i_lifecycle_attend(pool, record);
    if (count != NULL)
        *count = cancelled_count;
    lanepool_i_vector_fini(&cancelling.cancelled);
    lanepool_i_vector_fini(&cancelling.tombstones);
    return status;
}

static lanepool_status enter_and_cancel(lanepool_pool *pool, lanepool_lane *handle, size_t *count)
{
    lanepool_i_thread_record *record;
    lanepool_status status = lanepool_i_pool_enter(pool, &record);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_note_release(&pool->notes.controls);
    return cancel_several(pool, record, handle, NULL, count);
}

lanepool_status lanepool_lane_cancel(lanepool_lane *lane, size_t *count)
{
    if (count != NULL)
        *count = 0;
    return lane != NULL ? enter_and_cancel(lane->pool, lane, count) : LANEPOOL_INVALID;
}

lanepool_status lanepool_pool_cancel(lanepool_pool *pool, size_t *count)
{
    if (count != NULL)
        *count = 0;
    return pool != NULL ? enter_and_cancel(pool, NULL, count) : LANEPOOL_INVALID;
}

lanepool_status lanepool_i_cancel_behind(lanepool_pool *pool, lanepool_i_thread_record *record,
                                         const void *dropped_by)
{
    return cancel_several(pool, record, NULL, dropped_by, NULL);
}
