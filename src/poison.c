/* Owns what becomes of tasks that wait in poisoned lanes; see poison.h. */
#include "poison.h"

#include "lending.h"
#include "places.h"
#include "pool.h"

/* --- which lanes are poisoned --- */

static bool is_in(lanepool_i_task *task, const lanepool_i_lane *lane)
{
    size_t i = lanepool_i_task_count(task);
    while (i > 0 && lanepool_i_place_lane(task, i - 1) != lane)
        i--;
    return i > 0;
}

static bool is_poisoned(lanepool_i_failures *failures, const lanepool_i_lane *lane)
{
    bool poisoned = false;
    lanepool_i_mutex_lock(&failures->lock);
    for (const lanepool_i_failing *failing = failures->kept > 0 ? failures->first : NULL;
         failing != NULL && !poisoned; failing = failing->next)
        poisoned = failing->is_kept && is_in(failing->task, lane);
    lanepool_i_mutex_unlock(&failures->lock);
    return poisoned;
}

/* --- giving up --- */

/* NULL: it waits like any other. A cancelled task gives its places up anyway. */
static lanepool_i_failing *goes_without(const lanepool_i_task *task)
{
    uint64_t word = load_relaxed(&task->word);
    if ((word & LANEPOOL_I_WIDE) == 0 || (word & LANEPOOL_I_MARK) != 0)
        return NULL;
    lanepool_i_failing *failing = lanepool_i_failing_of(task);
    return failing != NULL && failing->policy.at_poison != LANEPOOL_AT_POISON_WAIT ? failing : NULL;
}

/* Its arrival in the void is counted as one in the lane would be. */
static void give_up(lanepool_i_failing *failing, lanepool_i_lane *lane, size_t i,
                    lanepool_i_grants *grants)
{
    lanepool_i_task *task = failing->task;
    lanepool_i_wide_entry *entry = &lanepool_i_places_wide(task)[i];
    lanepool_i_lane_trace_early(lane, task, grants->ring);
    if (failing->pool->options.priorities)
        lanepool_i_lending_withdraw(failing->pool, task, i);
    lanepool_i_lane_take_out(lane, &entry->entry);
    entry->entry.at.lane = &failing->nowhere;
    store_relaxed(&failing->nowhere.word, load_relaxed(&failing->nowhere.word) + 1);
    failing->is_refused |= failing->policy.at_poison == LANEPOOL_AT_POISON_FAIL;
    if (lanepool_i_latch_arrive_wide(task, 1)) {
        grants->latched -= lanepool_i_task_count(task) - 1;
        lanepool_i_grants_add(grants, task);
    } else {
        grants->latched++;
    }
}

static size_t place_in(lanepool_i_task *task, const lanepool_i_lane *lane)
{
    size_t i = 0;
    while (lanepool_i_place_lane(task, i) != lane)
        i++;
    return i;
}

/* All that wait there and do not want to; or one of them. */
static void leave_lane(lanepool_pool *pool, lanepool_i_lane *lane, const lanepool_i_task *only,
                       lanepool_i_grants *grants)
{
    if (!lanepool_i_lane_freeze(lane))
        return;
    uintptr_t link =
        is_poisoned(&pool->failures, lane) ? load_relaxed(lanepool_i_lane_head(lane)) : 0;
    while (link != 0) {
        uintptr_t next = load_relaxed(&lanepool_i_link_entry(link)->next);
        lanepool_i_task *task = lanepool_i_link_task(link);
        bool is_meant = !lanepool_i_is_gate(task) && (only == NULL || only == task);
        lanepool_i_failing *failing = is_meant ? goes_without(task) : NULL;
        if (failing != NULL)
            give_up(failing, lane, place_in(task, lane), grants);
        link = next;
    }
    lanepool_i_lane_thaw(lane, grants);
}

/* --- when it is routed --- */

void lanepool_i_poison_expect(lanepool_pool *pool, lanepool_i_task *task)
{
    store_seq(&pool->failures.is_avoided, true);
    store_relaxed(&task->word, load_relaxed(&task->word) | LANEPOOL_I_MESSAGE);
}

/* A place in the list of kept tasks, and in one's lanes; it holds while the list does not change.
 */
struct place {
    uint64_t changes;
    size_t task;
    size_t lane;
};

static bool next_of(lanepool_i_failing *failing, struct place *at, lanepool_i_lane **lane)
{
    if (at->lane == lanepool_i_task_count(failing->task)) {
        at->task++;
        at->lane = 0;
        return false;
    }
    *lane = lanepool_i_place_lane(failing->task, at->lane++);
    return true;
}

/* The next lane that is poisoned; NULL: all were seen. */
static lanepool_i_lane *next_poisoned(lanepool_i_failures *failures, struct place *at)
{
    lanepool_i_lane *lane = NULL;
    size_t number = 0;
    lanepool_i_mutex_lock(&failures->lock);
    if (failures->changes != at->changes)
        *at = (struct place){ .changes = failures->changes };
    for (lanepool_i_failing *failing = failures->first; failing != NULL && lane == NULL;
         failing = failing->next) {
        if (!failing->is_kept || number++ < at->task)
            continue;
        (void)next_of(failing, at, &lane);
    }
    lanepool_i_mutex_unlock(&failures->lock);
    return lane;
}

/* Once it is routed others may make it ready, run it and let it go: it is looked for in the lanes,
 * not the other way round. */
void lanepool_i_poison_route(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_task *task,
                             lanepool_i_grants *grants)
{
    struct place at = { 0, 0, 0 };
    lanepool_i_lane *lane;
    pool->rule->route(pool, local, task, grants);
    while ((lane = next_poisoned(&pool->failures, &at)) != NULL)
        leave_lane(pool, lane, task, grants);
}

/* --- when a task begins to be kept --- */

static lanepool_i_failing *failing_of(lanepool_i_message *message)
{
    return (lanepool_i_failing *)((char *)message - offsetof(lanepool_i_failing, message));
}

/* False: it is not kept any more. It stays in its lanes while the lock is held. */
static bool nth_lane(lanepool_i_failing *failing, size_t i, lanepool_i_lane **lane)
{
    lanepool_i_failures *failures = &failing->pool->failures;
    lanepool_i_mutex_lock(&failures->lock);
    bool is_there = failing->is_kept && i < lanepool_i_task_count(failing->task);
    if (is_there)
        *lane = lanepool_i_place_lane(failing->task, i);
    lanepool_i_mutex_unlock(&failures->lock);
    return is_there;
}

/* Role's holder: lanes stay. */
static void carry_out(lanepool_pool *pool, lanepool_i_local *local, lanepool_i_message *message,
                      lanepool_i_grants *grants)
{
    (void)local;
    lanepool_i_failing *failing = failing_of(message);
    lanepool_i_lane *lane;
    lanepool_i_mutex_lock(&pool->failures.lock);
    failing->is_told = false;
    lanepool_i_mutex_unlock(&pool->failures.lock);
    for (size_t i = 0; nth_lane(failing, i, &lane); i++)
        leave_lane(pool, lane, NULL, grants);
    lanepool_future_release(&failing->member.future);
}

bool lanepool_i_poison_tells_locked(lanepool_i_failing *failing)
{
    if (!load_seq(&failing->pool->failures.is_avoided) || failing->is_told)
        return false;
    failing->is_told = true;
    (void)lanepool_future_retain(&failing->member.future);
    return true;
}

void lanepool_i_poison_tell(lanepool_pool *pool, lanepool_i_local *local,
                            lanepool_i_failing *failing)
{
    failing->message.carry_out = carry_out;
    failing->message.urgent = true;
    if (!lanepool_i_router_send(pool, local, &failing->message))
        lanepool_future_release(&failing->member.future);
}
