/* Owns how tasks leave poisoned lanes; see poison.h. */
#include "feature/poison.h"

#include "feature/cut.h"
#include "feature/failures.h"
#include "feature/parked.h"
#include "route/entries.h"
#include "route/pool.h"

/* --- leaving a lane --- */

/* It can count eight million entries. */
static bool void_lane_has_room(const lanepool_i_failures *failures)
{
    return lanepool_i_lane_granted_count(&failures->void_lane) < LANEPOOL_I_LANE_ACTIVE;
}

/* Returns what a task without a record of its own does by the pool's policy: see attempts.h. */
static lanepool_at_poison at_poison_by_pool(const lanepool_pool *pool, uint64_t word)
{
    return (word & LANEPOOL_I_FAILS_BY_POOL) != 0 ? pool->failures->policy.at_poison
                                                  : LANEPOOL_AT_POISON_WAIT;
}

/* Returns what the task does about poisoned lanes. A tombstone gives up its lanes in another way.
 */
static lanepool_at_poison at_poison_of(const lanepool_pool *pool, const lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & LANEPOOL_I_WIDE) == 0 || (word & LANEPOOL_I_TOMBSTONE) != 0)
        return LANEPOOL_AT_POISON_WAIT;
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    return attempts != NULL ? attempts->policy.at_poison : at_poison_by_pool(pool, word);
}

/* Returns true if the task leaves poisoned lanes. */
static bool is_avoider(const lanepool_pool *pool, const lanepool_i_task *task)
{
    return at_poison_of(pool, task) != LANEPOOL_AT_POISON_WAIT &&
           void_lane_has_room(pool->failures);
}

/* The task will fail when it starts. Only tasks that have a record from the start can. */
static void refuse_if_asked(lanepool_i_task *task)
{
    lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    if (attempts != NULL)
        attempts->is_refused |= attempts->policy.at_poison == LANEPOOL_AT_POISON_FAIL;
}

/* The lane is frozen. The arrival in the void lane is counted as one in the lane would be. */
static void move_entry_to_void(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_lane *lane,
                               size_t i, lanepool_i_grants *grants)
{
    lanepool_i_lane *void_lane = &pool->failures->void_lane;
    lanepool_i_wide_entry *entry = &lanepool_i_entries_wide(task)[i];
    lanepool_i_lane_trace_early(lane, task, grants->ring);
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->withdraw_entry(pool, task, i);
    lanepool_i_lane_take_out(lane, &entry->entry);
    if (lanepool_i_task_is_cut(task)) {
        lanepool_i_cut_leave_lane(pool, task, entry, grants);
        return;
    }
    entry->entry.at.lane = void_lane;
    fetch_add_relaxed(&void_lane->word, 1);
    refuse_if_asked(task);
    if (lanepool_i_countdown_arrive_wide(task, 1)) {
        grants->latched -= lanepool_i_task_count(task) - 1;
        lanepool_i_grants_add(grants, task);
    } else {
        grants->latched++;
    }
}

static size_t entry_index_in(lanepool_i_task *task, const lanepool_i_lane *lane)
{
    size_t i = 0;
    while (lanepool_i_entry_lane(task, i) != lane)
        i++;
    return i;
}

static void move_avoiders_to_void(lanepool_pool *pool, lanepool_i_lane *lane,
                                  lanepool_i_grants *grants)
{
    uintptr_t next;
    for (uintptr_t link = load_relaxed(lanepool_i_lane_head(lane)); link != 0; link = next) {
        next = load_relaxed(&lanepool_i_link_entry(link)->next);
        lanepool_i_task *task = lanepool_i_link_task(link);
        if (!lanepool_i_is_gate(task) && is_avoider(pool, task))
            move_entry_to_void(pool, task, lane, entry_index_in(task, lane), grants);
    }
}

/* The freeze precedes the check: see poison.h. The run that is now at the head may overlap with the
 * granted entries. */
static void clear_poisoned_lane(lanepool_pool *pool, lanepool_i_lane *lane,
                                lanepool_i_grants *grants)
{
    if (!lanepool_i_lane_freeze(lane))
        return;
    if (lanepool_i_parked_has_lane(pool, lane)) {
        move_avoiders_to_void(pool, lane, grants);
        lanepool_i_lane_grant_overlapping(lane, grants);
    }
    lanepool_i_lane_thaw(lane, grants);
}

/* The countdown is held, so the task does not become ready here. */
static void move_entry_if_poisoned(lanepool_pool *pool, lanepool_i_task *task, size_t i,
                                   lanepool_i_grants *grants)
{
    lanepool_i_lane *lane = lanepool_i_entry_lane(task, i);
    if (!lanepool_i_parked_has_lane(pool, lane) || !lanepool_i_lane_freeze(lane))
        return;
    if (lanepool_i_parked_has_lane(pool, lane) && !lanepool_i_entry_is_granted(task, i))
        move_entry_to_void(pool, task, lane, i, grants);
    lanepool_i_lane_thaw(lane, grants);
}

/* --- when a task is routed --- */

/* Makes the router check a task that leaves poisoned lanes. Acquire: if another thread has set
 * `is_avoided`, that happens before the check. */
static lanepool_status require_check(lanepool_pool *pool, lanepool_i_thread_record *record,
                                     const lanepool_task *task, lanepool_i_task *block)
{
    (void)record;
    if (task->claim_count == 0 || at_poison_of(pool, block) == LANEPOOL_AT_POISON_WAIT)
        return LANEPOOL_OK;
    if (!load_acquire(&pool->failures->is_avoided))
        store_seq(&pool->failures->is_avoided, true);
    store_relaxed(&block->word, load_relaxed(&block->word) | LANEPOOL_I_MESSAGE);
    return LANEPOOL_OK;
}

/* Without poisoned lanes the task is routed as usual: see poison.h. A barrier has no lanes, and a
 * tombstone's future may be gone. */
static bool must_check(const lanepool_pool *pool, const lanepool_i_task *task)
{
    return load_seq(&pool->failures->poisoned) != 0 && lanepool_i_task_count(task) != 0 &&
           at_poison_of(pool, task) != LANEPOOL_AT_POISON_WAIT;
}

void lanepool_i_poison_leave_lanes(lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_i_grants *grants)
{
    size_t count = must_check(pool, task) ? lanepool_i_task_count(task) : 0;
    for (size_t i = 0; i < count && is_avoider(pool, task); i++)
        move_entry_if_poisoned(pool, task, i, grants);
}

/* A cut is routed in its own way, and checked there. */
static bool route_avoider(lanepool_pool *pool, lanepool_i_thread_record *record,
                          lanepool_i_task *task, lanepool_i_grants *grants)
{
    if (lanepool_i_task_is_cut(task) || !must_check(pool, task))
        return false;
    pool->rule->route_with_hold(pool, record, task, grants);
    size_t count = lanepool_i_task_count(task);
    lanepool_i_poison_leave_lanes(pool, task, grants);
    if (lanepool_i_countdown_arrive_wide(task, 1)) {
        grants->latched -= count;
        lanepool_i_grants_add(grants, task);
    }
    return true;
}

/* --- when a task is parked --- */

static lanepool_i_attempts *attempts_of_message(lanepool_i_message *message)
{
    return (lanepool_i_attempts *)((char *)message - offsetof(lanepool_i_attempts, message));
}

/* Returns false if the task is no longer parked, or has no i-th lane. A parked task stays in its
 * lanes while the lock is held. */
static bool get_nth_lane(lanepool_i_attempts *attempts, size_t i, lanepool_i_lane **lane)
{
    lanepool_i_mutex *lock = &attempts->pool->suspended.lock;
    lanepool_i_mutex_lock(lock);
    bool is_valid = lanepool_i_suspended_parked(&attempts->suspended) != NULL &&
                    i < lanepool_i_task_count(attempts->suspended.task);
    if (is_valid)
        *lane = lanepool_i_entry_lane(attempts->suspended.task, i);
    lanepool_i_mutex_unlock(lock);
    return is_valid;
}

/* Role's holder: no lane is freed while this runs. */
static void carry_out_notify(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_message *message, lanepool_i_grants *grants)
{
    (void)record;
    lanepool_i_attempts *attempts = attempts_of_message(message);
    lanepool_i_lane *lane;
    lanepool_i_failures_sent(pool);
    lanepool_i_mutex_lock(&pool->suspended.lock);
    attempts->is_notifying = false;
    pool->failures->unsettled--;
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    for (size_t i = 0; get_nth_lane(attempts, i, &lane); i++)
        clear_poisoned_lane(pool, lane, grants);
    lanepool_i_future_release(&attempts->member.future);
}

/* `is_avoided` is set before a task that leaves poisoned lanes is appended. So if it is still
 * false, that task's check follows this critical section, and finds the lane in the table. */
bool lanepool_i_poison_begin_notify_locked(lanepool_i_attempts *attempts)
{
    if (!load_seq(&attempts->pool->failures->is_avoided) || attempts->is_notifying)
        return false;
    attempts->is_notifying = true;
    attempts->pool->failures->unsettled++;
    (void)lanepool_i_future_retain(&attempts->member.future);
    return true;
}

void lanepool_i_poison_notify(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_attempts *attempts)
{
    attempts->message.carry_out = carry_out_notify;
    if (!lanepool_i_failures_send(pool, record, &attempts->message))
        lanepool_i_future_release(&attempts->member.future);
}

const lanepool_i_feature lanepool_i_feature_poison = {
    .build = require_check,
    .route = route_avoider,
};
