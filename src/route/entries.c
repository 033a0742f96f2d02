/* Owns reading the entries of tasks that may start, and the entries of tombstones, early releases
 * and hand-offs; see entries.h. */
#include "route/entries.h"

#include "base/planted.h"
#include "route/pool.h"
#include "route/program_key.h"

/* --- reading --- */

/* Returns false if the task is no cut. A progressive rollup may become a rollup after this check.
 */
static bool lock_cut(lanepool_i_task *task)
{
    bool is_cut = lanepool_i_task_is_cut(task);
    if (is_cut)
        lanepool_i_word_lock_lock(&lanepool_i_visits_of(task)->lock);
    return is_cut;
}

static void unlock_cut(lanepool_i_task *task, bool is_locked)
{
    if (is_locked)
        lanepool_i_word_lock_unlock(&lanepool_i_visits_of(task)->lock);
}

size_t lanepool_i_entries_read_count(lanepool_i_task *task)
{
    bool is_locked = lock_cut(task);
    size_t count = lanepool_i_task_count(task);
    unlock_cut(task, is_locked);
    return count;
}

lanepool_i_lane *lanepool_i_entries_read_lane(lanepool_i_task *task, size_t i)
{
    bool is_locked = lock_cut(task);
    lanepool_i_lane *lane = i < lanepool_i_task_count(task) ? lanepool_i_entry_lane(task, i) : NULL;
    unlock_cut(task, is_locked);
    return lane;
}

/* --- tombstones --- */

/* Freezes the task's lanes. Returns in how many of them the task waits. */
static uint32_t freeze_lanes(lanepool_i_task *task, uint32_t count)
{
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < count; i++) {
        lanepool_i_lane_freeze(lanepool_i_entry_lane(task, i));
        waiting += !lanepool_i_entry_is_granted(task, i);
    }
    return waiting;
}

static void set_entry_tombstone(lanepool_i_task *task, uint32_t i)
{
    if (lanepool_i_task_is_wide(task))
        lanepool_i_entries_wide(task)[i].owner |= LANEPOOL_I_OWNER_TOMBSTONE;
    else
        task->as.plain[i].at.bits |= LANEPOOL_I_ENTRY_TOMBSTONE;
}

void lanepool_i_entries_drop_all(lanepool_i_task *task)
{
    if (lanepool_i_task_is_wide(task))
        task->as.wide.count = 0;
    else
        fetch_and_acq_rel(&task->word, ~(LANEPOOL_I_COUNT_MASK | LANEPOOL_I_BARRIER));
}

/*
 * The entries of a cut stay: a cut holds no lane while it waits in another one.
 *
 * Releases the lanes that a cancelled rollup has latched, and turns its waiting entries into
 * tombstones, which are released as soon as they are granted. A rollup that waits nowhere is left
 * alone: it is ready, or will be at once.
 *
 * While the lanes are frozen, no entry of the rollup is granted, so the countdown cannot reach
 * zero. One more count holds it until all is done here. From then on it counts the tombstone
 * entries that have not passed.
 *
 * A thread that granted an entry before the freeze may not have counted it down yet. It does so
 * later, like any other grant. It also adds that lane to the number of latched lanes. The lane is
 * released here, so it is subtracted from that number here.
 */
void lanepool_i_entries_split_tombstone(lanepool_pool *pool, lanepool_i_task *task,
                                        lanepool_i_grants *grants)
{
    bool is_cut = lanepool_i_task_is_cut(task);
    /* The visitors of a cut may be changing its count. */
    uint32_t count = is_cut ? 0 : (uint32_t)lanepool_i_task_count(task);
    if (count < 2 && !is_cut)
        return;
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->leave_tombstone(pool, task);
    if (is_cut)
        return;
    uint32_t waiting = freeze_lanes(task, count);
    if (waiting > 0)
        lanepool_i_countdown_hold(task);
    for (uint32_t i = 0; i < count; i++) {
        lanepool_i_lane *lane = lanepool_i_entry_lane(task, i);
        bool granted = lanepool_i_entry_is_granted(task, i);
        if (waiting > 0 && !granted)
            set_entry_tombstone(task, i);
        if (lanepool_i_lane_is_frozen(lane))
            lanepool_i_lane_thaw(lane, grants);
        if (waiting > 0 && granted && !PLANTED(TOMBSTONE_KEEPS_LANE))
            lanepool_i_entry_release_early(task, i, grants);
    }
    if (waiting == 0)
        return;
    grants->latched -= count - waiting;
    lanepool_i_entries_drop_all(task);
    if (lanepool_i_countdown_arrive(task, 1))
        lanepool_i_tasks_add(&grants->ready, task);
}

/* --- early releases and hand-offs --- */

/* Removes a granted entry from the task. The task's last entry moves to its position: granted
 * entries are in no list that would point there. */
static void drop_entry(lanepool_i_task *task, size_t i)
{
    size_t last = lanepool_i_task_count(task) - 1;
    if (lanepool_i_task_is_wide(task)) {
        lanepool_i_entries_wide(task)[i].entry.at.lane =
            lanepool_i_entries_wide(task)[last].entry.at.lane;
        lanepool_i_entries_wide(task)[i].owner = lanepool_i_entries_wide(task)[last].owner;
        task->as.wide.count = (uint32_t)last & LANEPOOL_I_WIDE_COUNT_MASK;
        return;
    }
    if (last == 0) /* a key's type is in the same bit, and no entry is left that has one */
        fetch_and_acq_rel(&task->word, ~LANEPOOL_I_BARRIER);
    if (i != last) {
        task->as.plain[i].at.lane = task->as.plain[last].at.lane;
        unsigned shift = lanepool_i_mode_shift(i);
        fetch_and_acq_rel(&task->word, ~(LANEPOOL_I_MODE_MASK << shift));
        fetch_or_relaxed(&task->word,
                         lanepool_i_mode_put(lanepool_i_entry_mode(task, last), shift));
    }
    fetch_sub_relaxed(&task->word, (uint64_t)1 << LANEPOOL_I_COUNT_SHIFT);
}

bool lanepool_i_entries_release(lanepool_pool *pool, lanepool_i_task *task, lanepool_key key,
                                lanepool_i_grants *grants)
{
    size_t count = lanepool_i_task_count(task);
    size_t i = 0;
    while (i < count && !lanepool_i_lane_is_named_by(pool, lanepool_i_entry_lane(task, i), key))
        i++;
    if (i == count)
        return false;
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->leave_entry(pool, task, i);
    for (size_t slot = 0; pool->slots.release_early[slot] != NULL; slot++)
        pool->slots.release_early[slot]->release_early(pool, task, lanepool_i_entry_lane(task, i),
                                                       lanepool_i_entry_mode(task, i));
    lanepool_i_entry_release_early(task, i, grants);
    drop_entry(task, i);
    return true;
}

bool lanepool_i_entries_have_claim(const lanepool_pool *pool, lanepool_i_task *task,
                                   lanepool_claim claim)
{
    for (size_t i = 0; i < lanepool_i_task_count(task); i++)
        if (lanepool_i_lane_is_named_by(pool, lanepool_i_entry_lane(task, i), claim.key))
            return lanepool_i_mode_covers(lanepool_i_entry_mode(task, i), claim.mode);
    return false;
}

void lanepool_i_entries_each_claim(const lanepool_pool *pool, lanepool_i_task *task,
                                   void (*found)(const lanepool_pool *pool,
                                                 const lanepool_i_lane *lane, lanepool_mode mode))
{
    for (size_t i = 0; i < lanepool_i_task_count(task); i++)
        if (lanepool_i_entry_blocks(task, i))
            found(pool, lanepool_i_entry_lane(task, i), lanepool_i_entry_mode(task, i));
}

/* Receivers are wide. */
static void copy_entries_to_receiver(lanepool_i_task *task, lanepool_i_task *receiver, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        lanepool_i_wide_entry *entry = &lanepool_i_entries_wide(receiver)[i];
        entry->entry.at.lane = lanepool_i_entry_lane(task, i);
        entry->owner = lanepool_i_mode_owner(receiver, lanepool_i_entry_mode(task, i));
    }
    receiver->as.wide.count = (uint32_t)count & LANEPOOL_I_WIDE_COUNT_MASK;
}

/* Returns true if the receiver holds its future's reference. A call that cancels several
 * tasks at once takes that reference; a cancel of the future alone does not. */
static bool receiver_has_future(const lanepool_i_task *receiver)
{
    return !lanepool_i_word_is_cancelled(load_relaxed(&receiver->word));
}

/* Another thread may be cancelling the receiver by its future: under the future's lock it finds no
 * entries, or all of them. A call that cancels several tasks no longer finds the receiver. */
void lanepool_i_entries_hand_over(lanepool_pool *pool, lanepool_i_task *task,
                                  lanepool_i_task *receiver)
{
    lanepool_future *future = receiver_has_future(receiver) ? receiver->as.wide.future : NULL;
    if (future != NULL)
        lanepool_i_word_lock_lock(&future->lock);
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->move_lanes(pool, task, receiver);
    copy_entries_to_receiver(task, receiver, lanepool_i_task_count(task));
    if (future != NULL)
        lanepool_i_word_lock_unlock(&future->lock);
}
