/* Owns the lists of tasks with claims, and the comparison with them; see rule_scope.h. */
#include "route/rule_scope.h"

#include "base/planted.h"
#include "route/pool.h"

/* --- scanning --- */

static void scan_once(lanepool_i_scan *scan, lanepool_i_task *old)
{
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(old);
    if (tracked->asked_stamp == scan->stamp)
        return;
    tracked->asked_stamp = scan->stamp;
    lanepool_i_scan_task(scan, old);
}

/* A task that is scanned again meets its own entry, which its ticket tells. */
static void scan_key(lanepool_i_scan *scan, const lanepool_i_claim_entry *own)
{
    const lanepool_i_claim_entry *entry = lanepool_i_claimants_of(own)->entries;
    for (; entry != NULL; entry = lanepool_i_claim_next(entry)) {
        if (lanepool_modes_overlap(lanepool_i_claim_mode(own), lanepool_i_claim_mode(entry)))
            continue;
        uint32_t edge_count = scan->edge_count;
        scan_once(scan, lanepool_i_claim_owner(entry));
        if (PLANTED(SCOPE_AS_CHAIN) && scan->edge_count > edge_count)
            break;
    }
}

static void scan_all(lanepool_i_scan *scan)
{
    lanepool_i_task *old = scan->pool->predicate.claimed;
    for (; old != NULL; old = lanepool_i_tracked_of(old)->older)
        lanepool_i_scan_task(scan, old);
}

void lanepool_i_scope_scan(lanepool_i_scan *scan)
{
    lanepool_i_task *task = scan->task;
    if (!lanepool_i_scope_has_claims(task)) {
        scan_all(scan);
        return;
    }
    const lanepool_i_claim_entry *entries = lanepool_i_claim_entries(scan->pool, task);
    for (uint32_t i = 0; i < task->as.wide.count; i++)
        scan_key(scan, &entries[i]);
}

/* --- the lists --- */

void lanepool_i_scope_enter(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_tracked *tracked = lanepool_i_tracked_of(task);
    lanepool_i_task *newest = pool->predicate.claimed;
    tracked->older = newest;
    if (newest != NULL)
        lanepool_i_tracked_of(newest)->newer = task;
    pool->predicate.claimed = task;
    lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < task->as.wide.count; i++)
        lanepool_i_claimants_add(&entries[i]);
}

void lanepool_i_scope_reap(lanepool_pool *pool, lanepool_i_task *task)
{
    const lanepool_i_tracked *tracked = lanepool_i_tracked_of(task);
    if (tracked->older != NULL)
        lanepool_i_tracked_of(tracked->older)->newer = tracked->newer;
    if (tracked->newer != NULL)
        lanepool_i_tracked_of(tracked->newer)->older = tracked->older;
    else
        pool->predicate.claimed = tracked->older;
    const lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < task->as.wide.count; i++)
        lanepool_i_claimants_remove(&entries[i]);
}

void lanepool_i_scope_each(lanepool_pool *pool, void (*found)(lanepool_i_task *task, void *context),
                           void *context)
{
    lanepool_i_task *task = pool->predicate.claimed;
    for (; task != NULL; task = lanepool_i_tracked_of(task)->older)
        if (!lanepool_i_successors_closed(&lanepool_i_tracked_of(task)->successors))
            found(task, context);
}

/* --- the scope of one task --- */

void lanepool_i_scope_stamp_keys(lanepool_pool *pool, lanepool_i_task *task)
{
    uint64_t number = ++pool->router.last_stamp;
    const lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, task);
    for (uint32_t i = 0; i < task->as.wide.count; i++)
        lanepool_i_claimants_of(&entries[i])->stamp =
            lanepool_i_mode_stamp(number, lanepool_i_claim_mode(&entries[i]));
}

bool lanepool_i_scope_has(const lanepool_pool *pool, lanepool_i_task *stamped,
                          lanepool_i_task *other)
{
    if (!lanepool_i_scope_has_claims(stamped) || !lanepool_i_scope_has_claims(other))
        return true;
    const lanepool_i_claim_entry *entries = lanepool_i_claim_entries(pool, other);
    for (uint32_t i = 0; i < other->as.wide.count; i++) {
        uint64_t stamp = lanepool_i_claimants_of(&entries[i])->stamp;
        if (lanepool_i_mode_stamp_number(stamp) == pool->router.last_stamp &&
            !lanepool_modes_overlap(lanepool_i_mode_at(stamp, 0),
                                    lanepool_i_claim_mode(&entries[i])))
            return true;
    }
    return false;
}
