/* Owns what becomes of tasks that wait in poisoned lanes; see poison.h. */
#include "feature/poison.h"

#include "feature/priority.h"
#include "route/entries.h"
#include "route/pool.h"

/* --- which lanes are poisoned --- */

static lanepool_i_wide_entry **chain_of(lanepool_i_failures *failures, const lanepool_i_lane *lane)
{
    size_t mask = ((size_t)1 << LANEPOOL_I_POISON_BITS) - 1;
    return &failures->poisoned[lane->key.hash & mask];
}

static lanepool_i_wide_entry *behind(const lanepool_i_wide_entry *place)
{
    return (lanepool_i_wide_entry *)load_relaxed(&place->entry.next);
}

void lanepool_i_poison_enter_locked(lanepool_i_failures *failures, lanepool_i_task *task)
{
    for (size_t i = 0; i < lanepool_i_task_count(task); i++) {
        lanepool_i_wide_entry *place = &lanepool_i_entries_wide(task)[i];
        if (lanepool_i_lane_is_void(place->entry.at.lane))
            continue;
        lanepool_i_wide_entry **chain = chain_of(failures, place->entry.at.lane);
        store_relaxed(&place->entry.next, (uintptr_t)*chain);
        *chain = place;
    }
}

void lanepool_i_poison_leave_locked(lanepool_i_failures *failures, lanepool_i_task *task)
{
    for (size_t i = 0; i < lanepool_i_task_count(task); i++) {
        lanepool_i_wide_entry *place = &lanepool_i_entries_wide(task)[i];
        if (lanepool_i_lane_is_void(place->entry.at.lane))
            continue;
        lanepool_i_wide_entry **chain = chain_of(failures, place->entry.at.lane);
        if (*chain == place) {
            *chain = behind(place);
            continue;
        }
        lanepool_i_wide_entry *before = *chain;
        while (behind(before) != place)
            before = behind(before);
        store_relaxed(&before->entry.next, (uintptr_t)behind(place));
    }
}

static bool is_poisoned(lanepool_i_failures *failures, const lanepool_i_lane *lane)
{
    lanepool_i_mutex_lock(&failures->lock);
    const lanepool_i_wide_entry *place = *chain_of(failures, lane);
    while (place != NULL && place->entry.at.lane != lane)
        place = behind(place);
    lanepool_i_mutex_unlock(&failures->lock);
    return place != NULL;
}

/* --- giving up --- */

/* There are eight million places. */
static bool has_room_nowhere(const lanepool_i_failures *failures)
{
    return (load_relaxed(&failures->void_lane.word) & LANEPOOL_I_LANE_ACTIVE) <
           LANEPOOL_I_LANE_ACTIVE;
}

/* NULL: it waits like any other. A cancelled task gives its places up anyway. */
static lanepool_i_attempts *goes_without(const lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & LANEPOOL_I_WIDE) == 0 || (word & LANEPOOL_I_TOMBSTONE) != 0)
        return NULL;
    lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    if (attempts == NULL || attempts->policy.at_poison == LANEPOOL_AT_POISON_WAIT)
        return NULL;
    return has_room_nowhere(attempts->pool->failures) ? attempts : NULL;
}

/* Its arrival in the void is counted as one in the lane would be. */
static void give_up(lanepool_i_attempts *attempts, lanepool_i_lane *lane, size_t i,
                    lanepool_i_grants *grants)
{
    lanepool_i_task *task = attempts->task;
    lanepool_i_lane *nowhere = &attempts->pool->failures->void_lane;
    lanepool_i_wide_entry *entry = &lanepool_i_entries_wide(task)[i];
    lanepool_i_lane_trace_early(lane, task, grants->ring);
    if (attempts->pool->options.priorities)
        lanepool_i_priority_withdraw(attempts->pool, task, i);
    lanepool_i_lane_take_out(lane, &entry->entry);
    entry->entry.at.lane = nowhere;
    fetch_add_relaxed(&nowhere->word, 1);
    attempts->is_refused |= attempts->policy.at_poison == LANEPOOL_AT_POISON_FAIL;
    if (lanepool_i_countdown_arrive_wide(task, 1)) {
        grants->latched -= lanepool_i_task_count(task) - 1;
        lanepool_i_grants_add(grants, task);
    } else {
        grants->latched++;
    }
}

static size_t place_in(lanepool_i_task *task, const lanepool_i_lane *lane)
{
    size_t i = 0;
    while (lanepool_i_entry_lane(task, i) != lane)
        i++;
    return i;
}

/* All that wait there and do not want to. */
static void give_up_each(lanepool_i_lane *lane, lanepool_i_grants *grants)
{
    uintptr_t next;
    for (uintptr_t link = load_relaxed(lanepool_i_lane_head(lane)); link != 0; link = next) {
        next = load_relaxed(&lanepool_i_link_entry(link)->next);
        lanepool_i_task *task = lanepool_i_link_task(link);
        lanepool_i_attempts *attempts = lanepool_i_is_gate(task) ? NULL : goes_without(task);
        if (attempts != NULL)
            give_up(attempts, lane, place_in(task, lane), grants);
    }
}

/* Whoever holds it releases it after the freeze, if that is not over when the lane is found to be
 * poisoned: nobody was about to advance it before. */
static void leave_lane(lanepool_pool *pool, lanepool_i_lane *lane, lanepool_i_grants *grants)
{
    if (!lanepool_i_lane_freeze(lane))
        return;
    if (is_poisoned(pool->failures, lane)) {
        give_up_each(lane, grants);
        lanepool_i_lane_join(lane, grants);
    }
    lanepool_i_lane_thaw(lane, grants);
}

/* One that is held, and so does not become ready meanwhile. */
static void leave_place(lanepool_pool *pool, lanepool_i_attempts *attempts, size_t i,
                        lanepool_i_grants *grants)
{
    lanepool_i_lane *lane = lanepool_i_entry_lane(attempts->task, i);
    if (!is_poisoned(pool->failures, lane) || !lanepool_i_lane_freeze(lane))
        return;
    if (is_poisoned(pool->failures, lane) && !lanepool_i_entry_is_granted(lane, attempts->task))
        give_up(attempts, lane, i, grants);
    lanepool_i_lane_thaw(lane, grants);
}

/* --- when it is routed --- */

void lanepool_i_poison_expect(lanepool_pool *pool, lanepool_i_task *task)
{
    store_seq(&pool->failures->is_avoided, true);
    store_relaxed(&task->word, load_relaxed(&task->word) | LANEPOOL_I_MESSAGE);
}

void lanepool_i_poison_route(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task, lanepool_i_grants *grants)
{
    pool->rule->route_held(pool, record, task, grants);
    lanepool_i_attempts *attempts = goes_without(task);
    size_t count = lanepool_i_task_count(task);
    for (size_t i = 0; i < count && attempts != NULL; i++)
        leave_place(pool, attempts, i, grants);
    if (lanepool_i_countdown_arrive_wide(task, 1)) {
        grants->latched -= count;
        lanepool_i_grants_add(grants, task);
    }
}

/* --- when a task begins to be kept --- */

static lanepool_i_attempts *failing_of(lanepool_i_message *message)
{
    return (lanepool_i_attempts *)((char *)message - offsetof(lanepool_i_attempts, message));
}

/* False: it is not kept any more. It stays in its lanes while the lock is held. */
static bool nth_lane(lanepool_i_attempts *attempts, size_t i, lanepool_i_lane **lane)
{
    lanepool_i_failures *failures = attempts->pool->failures;
    lanepool_i_mutex_lock(&failures->lock);
    bool is_there = attempts->is_parked && i < lanepool_i_task_count(attempts->task);
    if (is_there)
        *lane = lanepool_i_entry_lane(attempts->task, i);
    lanepool_i_mutex_unlock(&failures->lock);
    return is_there;
}

/* Role's holder: lanes stay. */
static void carry_out(lanepool_pool *pool, lanepool_i_thread_record *record,
                      lanepool_i_message *message, lanepool_i_grants *grants)
{
    (void)record;
    lanepool_i_attempts *attempts = failing_of(message);
    lanepool_i_lane *lane;
    lanepool_i_retry_message_done(pool);
    lanepool_i_mutex_lock(&pool->failures->lock);
    attempts->is_notifying = false;
    pool->failures->notifying--;
    lanepool_i_mutex_unlock(&pool->failures->lock);
    for (size_t i = 0; nth_lane(attempts, i, &lane); i++)
        leave_lane(pool, lane, grants);
    lanepool_future_release(&attempts->member.future);
}

bool lanepool_i_poison_begin_notify_locked(lanepool_i_attempts *attempts)
{
    if (!load_seq(&attempts->pool->failures->is_avoided) || attempts->is_notifying)
        return false;
    attempts->is_notifying = true;
    attempts->pool->failures->notifying++;
    (void)lanepool_future_retain(&attempts->member.future);
    return true;
}

void lanepool_i_poison_notify(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_attempts *attempts)
{
    attempts->message.carry_out = carry_out;
    if (!lanepool_i_retry_send_message(pool, record, attempts))
        lanepool_future_release(&attempts->member.future);
}
