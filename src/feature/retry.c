/* Owns what follows a failure: retries, their delays, parking, and the end; see retry.h. */
#include "feature/retry.h"

#include "base/misuse.h"
#include "core/run.h"
#include "core/task_check.h"
#include "feature/delay.h"
#include "feature/failures.h"
#include "feature/late_record.h"
#include "feature/parked.h"
#include "feature/pause.h"
#include "feature/poison.h"
#include "future/expiry.h"
#include "lane/visits.h"
#include "route/entries.h"
#include "route/pool.h"

static void fire_retry(lanepool_i_timer *timer);

/* Creates a gate for each claim. Returns false if memory cannot be allocated. */
static bool create_gates(lanepool_i_attempts *attempts, size_t count)
{
    while (count-- > 0 && attempts->policy.at_end == LANEPOOL_FAILURE_PAUSE) {
        lanepool_i_gate *gate = lanepool_i_memory_alloc(sizeof *gate);
        if (gate == NULL)
            return false;
        gate->is_of_failure = true;
        lanepool_i_list_add(&attempts->gates, &gate->link);
    }
    return true;
}

static size_t policy_member_size(const lanepool_pool *pool, const lanepool_task *task)
{
    bool has_record = task->on_failure != NULL ||
                      (pool->failures->has_policy && !lanepool_i_late_record_is_for(pool, task));
    return has_record ? sizeof(lanepool_i_attempts) : 0;
}

static void init_attempts(lanepool_i_attempts *attempts, lanepool_pool *pool,
                          const lanepool_failure_policy *policy, lanepool_i_task *block)
{
    attempts->member.has_policy = true;
    attempts->policy = *policy;
    attempts->has_released_lane = false;
    attempts->ends_uncalled = false;
    attempts->failed = 0;
    attempts->pool = pool;
    lanepool_i_suspended_init(&attempts->suspended, block);
    attempts->timer.fire = fire_retry;
    attempts->timer.waits = false;
    attempts->timer.keeps_its_time = true;
    attempts->dropped_by = NULL;
    attempts->is_notifying = false;
    attempts->is_refused = false;
    lanepool_i_list_init(&attempts->gates);
}

/* Without memory for the gates, those that were created are freed with the member. */
static lanepool_status build_record(lanepool_pool *pool, const lanepool_task *task,
                                    const lanepool_failure_policy *policy, lanepool_i_task *block)
{
    lanepool_i_attempts *attempts = (lanepool_i_attempts *)block->as.wide.future;
    init_attempts(attempts, pool, policy, block);
    attempts->is_own = task->on_failure != NULL;
    return create_gates(attempts, task->claim_count) ? LANEPOOL_OK : LANEPOOL_NOMEM;
}

static lanepool_status build_attempts(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      const lanepool_task *task, lanepool_i_task *block)
{
    (void)record;
    if (policy_member_size(pool, task) == 0)
        return LANEPOOL_OK;
    lanepool_failure_policy policy = pool->failures->policy;
    if (task->on_failure != NULL)
        (void)lanepool_i_policy_read(&policy, task->on_failure); /* it was found valid */
    if (policy.retries > 0 && policy.delay_ns > 0) {
        lanepool_status status = lanepool_i_delays_start_clock(pool);
        if (status != LANEPOOL_OK)
            return status;
    }
    return build_record(pool, task, &policy, block);
}

/* The task has started, so no other thread reads its future now. */
static lanepool_i_attempts *make_record(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_attempts *attempts = lanepool_i_attempts_memory_take(&pool->failures->memory);
    lanepool_i_member_init_late(&attempts->member, sizeof *attempts, &pool->failures->memory, pool,
                                pool->creator, task);
    init_attempts(attempts, pool, &pool->failures->policy, task);
    attempts->is_own = false;
    lanepool_i_task_set_record(task, &attempts->member.future);
    return attempts;
}

/* Returns the record of a task that runs, made if needed; NULL if the task has no policy. */
static lanepool_i_attempts *record_of_running(lanepool_pool *pool, lanepool_i_task *task)
{
    return lanepool_i_late_record_is_missing(pool, task) ? make_record(pool, task)
                                                         : lanepool_i_attempts_of(task);
}

/* --- retries --- */

static bool was_asked_to_stop(const lanepool_i_attempts *attempts)
{
    return load_relaxed(&attempts->member.future.asked_to_end);
}

static bool may_retry(const lanepool_i_attempts *attempts)
{
    return attempts->failed <= attempts->policy.retries && !was_asked_to_stop(attempts) &&
           !attempts->has_released_lane;
}

/* Returns the policy's delay, doubled for each failed attempt after the first, up to its maximum.
 */
static uint64_t retry_delay(const lanepool_i_attempts *attempts)
{
    uint64_t delay_ns = attempts->policy.delay_ns;
    uint64_t most_ns = attempts->policy.delay_max_ns;
    unsigned doublings = attempts->failed - 1;
    if (delay_ns == 0 || delay_ns >= most_ns)
        return delay_ns;
    return doublings < 64 && delay_ns <= most_ns >> doublings ? delay_ns << doublings : most_ns;
}

/* A thread that asks the task to stop sets `asked_to_end`, and then takes the lock of the suspended
 * tasks. So either it finds the task in the list, or this thread sees `asked_to_end`. */
static void schedule_retry(lanepool_pool *pool, lanepool_i_attempts *attempts, uint64_t delay_ns)
{
    uint64_t due_ns = lanepool_i_driver_deadline(pool->driver, delay_ns);
    lanepool_i_mutex_lock(&pool->suspended.lock);
    lanepool_i_suspended_add_locked(&pool->suspended, &attempts->suspended, LANEPOOL_I_UNTIL_TIMER);
    lanepool_i_timers_add(&pool->delays->timers, &attempts->timer,
                          was_asked_to_stop(attempts) ? 0 : due_ns);
    lanepool_i_mutex_unlock(&pool->suspended.lock);
}

/* Records that the task has started, and does not run now. */
static void suspend_task(lanepool_pool *pool, lanepool_i_attempts *attempts)
{
    lanepool_i_task *task = attempts->suspended.task;
    fetch_or_acq_rel(&task->word, LANEPOOL_I_STARTED);
    for (size_t i = 0; pool->slots.retried[i] != NULL; i++)
        pool->slots.retried[i]->retried(pool, task);
    lanepool_i_run_suspend(pool, &attempts->member.future);
}

/* The task ends without another call; its code and value remain. It was not parked, and there is no
 * attempt to report: the last report said that a retry follows. */
static void call_off(lanepool_i_attempts *attempts)
{
    attempts->result.status = LANEPOOL_CANCELLED;
    attempts->ends_uncalled = true;
}

/* Removes a task that is READY from the list. A cancel of the pool does not ask it to stop from
 * then on. */
static void unlist_ready(lanepool_i_attempts *attempts)
{
    lanepool_i_suspended_tasks *suspended = &attempts->pool->suspended;
    lanepool_i_mutex_lock(&suspended->lock);
    if (attempts->suspended.until == LANEPOOL_I_UNTIL_READY)
        lanepool_i_suspended_remove_locked(&attempts->suspended);
    lanepool_i_mutex_unlock(&suspended->lock);
}

/* A task that was asked to stop since its last attempt is not retried. Once its attempts are
 * counted from 0, an earlier request does not count. A cut whose visits were made is in the middle
 * of an attempt. Only this thread moves a SUSPENDED task, and no other phase of this task becomes
 * SUSPENDED, so it may read the phase without the lock. */
static bool refuses_attempt(lanepool_i_task *task, lanepool_result *result)
{
    lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    if (attempts == NULL)
        return false;
    if (lanepool_i_future_phase(&attempts->member.future) == LANEPOOL_I_PHASE_SUSPENDED)
        unlist_ready(attempts);
    bool begins = !lanepool_i_task_is_cut(task) || !lanepool_i_cut_is_in_attempt(task);
    if (!attempts->ends_uncalled && attempts->failed > 0 && begins && was_asked_to_stop(attempts))
        call_off(attempts);
    if (attempts->ends_uncalled)
        *result = attempts->result;
    return attempts->ends_uncalled;
}

/* --- parking --- */

static bool parks_at_end(const lanepool_i_attempts *attempts)
{
    return attempts->policy.at_end == LANEPOOL_FAILURE_POISON;
}

static void park_task(lanepool_pool *pool, lanepool_i_thread_record *record,
                      lanepool_i_attempts *attempts)
{
    lanepool_i_parked_make_room(pool);
    lanepool_i_mutex_lock(&pool->suspended.lock);
    lanepool_i_parked_add_locked(pool, attempts);
    bool notifies = lanepool_i_poison_begin_notify_locked(attempts);
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    if (notifies)
        lanepool_i_poison_notify(pool, record, attempts);
}

static void put_task_ready(lanepool_pool *pool, lanepool_i_thread_record *record,
                           lanepool_i_attempts *attempts)
{
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    lanepool_i_grants_add(&grants, attempts->suspended.task);
    lanepool_i_router_put_ready(pool, record, &grants.ready);
}

void lanepool_i_retry_reset(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_attempts *taken)
{
    lanepool_i_grants grants = lanepool_i_no_grants(record->ring);
    for (; taken != NULL; taken = taken->taken) {
        taken->failed = 0;
        lanepool_i_grants_add(&grants, taken->suspended.task);
    }
    lanepool_i_router_put_ready(pool, record, &grants.ready);
}

/* --- pausing lanes --- */

static void end_on_worker(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_attempts *attempts)
{
    lanepool_i_tasks ready = { NULL, NULL, 0 };
    attempts->ends_uncalled = true;
    lanepool_i_tasks_add(&ready, attempts->suspended.task);
    lanepool_i_router_put_to_workers(pool, record, &ready);
}

/* Role's holder. The task still has its lanes, so the gates are ahead of all waiting entries. */
static void carry_out_pause(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_message *message, lanepool_i_grants *grants)
{
    lanepool_i_attempts *attempts = LANEPOOL_I_ITEM(message, lanepool_i_attempts, message);
    size_t count = lanepool_i_task_count(attempts->suspended.task);
    lanepool_i_failures_sent(pool);
    size_t i = 0;
    LANEPOOL_I_EACH(lanepool_i_gate, gate, &attempts->gates, link) {
        if (i == count)
            break;
        lanepool_i_lane *lane = lanepool_i_entry_lane(attempts->suspended.task, i++);
        lanepool_i_unlink(&gate->link);
        if (lanepool_i_lane_is_void(lane) || !lanepool_i_gate_close(pool, lane, gate, grants))
            lanepool_i_memory_free(gate);
    }
    end_on_worker(pool, record, attempts);
}

/* Until the message is carried out, the task is in no list. The send cannot fail: the inbox is open
 * while the task has not ended. */
static void pause_lanes(lanepool_pool *pool, lanepool_i_thread_record *record,
                        lanepool_i_attempts *attempts)
{
    attempts->message.carry_out = carry_out_pause;
    (void)lanepool_i_failures_send(pool, record, &attempts->message);
}

/* The clock thread does not call the program, so a worker ends a task that was asked to stop. */
static void fire_retry(lanepool_i_timer *timer)
{
    lanepool_i_attempts *attempts =
        (lanepool_i_attempts *)((char *)timer - offsetof(lanepool_i_attempts, timer));
    lanepool_pool *pool = attempts->pool;
    lanepool_i_thread_record *record = load_relaxed(&pool->delays->clock);
    lanepool_i_mutex_lock(&pool->suspended.lock);
    bool stops = was_asked_to_stop(attempts);
    if (stops)
        lanepool_i_suspended_remove_locked(&attempts->suspended);
    else
        attempts->suspended.until = LANEPOOL_I_UNTIL_READY;
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    if (stops) {
        call_off(attempts);
        end_on_worker(pool, record, attempts);
    } else {
        put_task_ready(pool, record, attempts);
    }
}

/* Returns false if the task must end: the pool is STOPPING, or the task is periodic. */
static bool policy_applies(const lanepool_pool *pool, const lanepool_i_task *task)
{
    return load_seq(pool->lifecycle.state) != LANEPOOL_I_STOPPING &&
           !lanepool_i_word_is_periodic(load_relaxed(&task->word));
}

/* Returns true if a task of the pool's policy stays after its first failure. */
static bool lasts_beyond_failure(const lanepool_pool *pool)
{
    const lanepool_failure_policy *policy = &pool->failures->policy;
    return policy->retries > 0 || policy->at_end != LANEPOOL_FAILURE_CONTINUE;
}

static void retry_task(lanepool_pool *pool, lanepool_i_attempts *attempts,
                       lanepool_i_grants *grants)
{
    uint64_t delay_ns = retry_delay(attempts);
    if (delay_ns > 0) {
        schedule_retry(pool, attempts, delay_ns);
        return;
    }
    lanepool_i_mutex_lock(&pool->suspended.lock);
    lanepool_i_suspended_add_locked(&pool->suspended, &attempts->suspended, LANEPOOL_I_UNTIL_READY);
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    lanepool_i_grants_add(grants, attempts->suspended.task);
}

static bool handle_failed_attempt(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task, const lanepool_result *result,
                                  bool has_lanes, lanepool_i_grants *grants)
{
    bool applies = has_lanes && policy_applies(pool, task);
    lanepool_i_attempts *attempts = applies && lasts_beyond_failure(pool)
                                        ? record_of_running(pool, task)
                                        : lanepool_i_attempts_of(task);
    if (attempts == NULL || attempts->ends_uncalled)
        return false;
    /* Once the deadline is disarmed, only the program may call off a retry. */
    lanepool_i_expiry_paused(&attempts->member.future);
    attempts->failed++;
    attempts->result = *result;
    bool retries = may_retry(attempts);
    bool stays = retries || attempts->policy.at_end != LANEPOOL_FAILURE_CONTINUE;
    if (!applies || !stays)
        return false;
    lanepool_i_run_report_failure(pool, record, task, result, !retries);
    if (retries || parks_at_end(attempts))
        lanepool_i_trace_task(record->ring, retries ? LANEPOOL_EVENT_RETRY : LANEPOOL_EVENT_PARK,
                              task, (uint32_t)result->status);
    suspend_task(pool, attempts);
    if (retries)
        retry_task(pool, attempts, grants);
    else if (parks_at_end(attempts))
        park_task(pool, record, attempts);
    else
        pause_lanes(pool, record, attempts);
    return true;
}

void lanepool_i_retry_released_lane(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_attempts *attempts = record_of_running(pool, task);
    if (attempts != NULL)
        attempts->has_released_lane = true;
}

/* --- asked to stop --- */

/* If the task waits for a delayed retry, makes the retry due at once. */
static void hasten_locked(lanepool_pool *pool, lanepool_i_attempts *attempts)
{
    if (attempts->suspended.until == LANEPOOL_I_UNTIL_TIMER &&
        lanepool_i_timers_remove(&pool->delays->timers, &attempts->timer))
        lanepool_i_timers_add(&pool->delays->timers, &attempts->timer, 0);
}

void lanepool_i_retry_asked_to_stop(lanepool_future *future)
{
    lanepool_i_attempts *attempts = lanepool_i_attempts_of_future(future);
    if (attempts == NULL)
        return;
    lanepool_i_mutex_lock(&attempts->pool->suspended.lock);
    hasten_locked(attempts->pool, attempts);
    lanepool_i_mutex_unlock(&attempts->pool->suspended.lock);
}

void lanepool_i_retry_ask_all_to_stop(lanepool_pool *pool)
{
    lanepool_i_mutex_lock(&pool->suspended.lock);
    LANEPOOL_I_EACH(lanepool_i_suspended, suspended, &pool->suspended.list, link) {
        if (suspended->until != LANEPOOL_I_UNTIL_TIMER &&
            suspended->until != LANEPOOL_I_UNTIL_READY)
            continue;
        lanepool_i_attempts *attempts = lanepool_i_suspended_attempts(suspended);
        store_relaxed(&attempts->member.future.asked_to_end, true);
        hasten_locked(pool, attempts);
    }
    lanepool_i_mutex_unlock(&pool->suspended.lock);
}

/* --- the end of the pool --- */

/* The clock thread has ended, so no timer in the heap fires any more. But other tasks that end
 * remove their deadlines from the heap, so it must not lead to memory that was freed. No detached
 * task is left: each counts as a worker. */
void lanepool_i_retry_collect(lanepool_pool *pool, lanepool_i_tasks *tasks)
{
    lanepool_i_mutex_lock(&pool->suspended.lock);
    LANEPOOL_I_EACH(lanepool_i_suspended, suspended, &pool->suspended.list, link) {
        LANEPOOL_I_ASSERT(suspended->until != LANEPOOL_I_UNTIL_COMPLETION);
        lanepool_i_attempts *attempts = lanepool_i_suspended_attempts(suspended);
        lanepool_i_tasks_add_unvisited(tasks, suspended->task);
        (void)lanepool_i_timers_remove(&pool->delays->timers, &attempts->timer);
        attempts->ends_uncalled = lanepool_i_suspended_parked(suspended) != NULL;
        if (attempts->ends_uncalled)
            lanepool_i_parked_remove_locked(pool, attempts);
        else
            lanepool_i_suspended_remove_locked(suspended);
    }
    lanepool_i_mutex_unlock(&pool->suspended.lock);
}

bool lanepool_i_retry_end_at_stop(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *task)
{
    lanepool_i_attempts *attempts =
        lanepool_i_task_is_tombstone(task) ? NULL : lanepool_i_attempts_of(task);
    if (attempts == NULL ||
        lanepool_i_future_phase(&attempts->member.future) != LANEPOOL_I_PHASE_SUSPENDED)
        return false;
    if (!attempts->ends_uncalled)
        call_off(attempts);
    lanepool_i_run_end_after_failure(pool, record, task, &attempts->result);
    return true;
}

const lanepool_i_feature lanepool_i_feature_retry = {
    .member_size = policy_member_size,
    .build = build_attempts,
    .refuses_start = refuses_attempt,
    .failed = handle_failed_attempt,
};
