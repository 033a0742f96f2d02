/* Owns what the rules whose tasks wait in lanes have in common; see rule_lanes.h. */
#include "route/rule_lanes.h"

#include "future/attempts.h"
#include "lane/visits.h"
#include "route/entries.h"
#include "route/pool.h"
#include "route/program_key.h"

/* --- finishing --- */

static void release_plain(const lanepool_i_task *task, uint64_t word, lanepool_i_grants *grants)
{
    size_t count = (size_t)(word & LANEPOOL_I_COUNT_MASK) >> LANEPOOL_I_COUNT_SHIFT;
    for (size_t i = 0; i < count; i++)
        lanepool_i_entry_release_plain(task, i, grants);
}

/* Finishes a task that a feature may have to do with in its lanes. */
static __attribute__((noinline)) void finish_large(lanepool_pool *pool, lanepool_i_task *task,
                                                   uint64_t word, lanepool_i_grants *grants)
{
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->leave(pool, task);
    if ((word & LANEPOOL_I_WIDE) == 0) {
        release_plain(task, word, grants);
        return;
    }
    for (uint32_t i = 0; i < task->as.wide.count; i++)
        lanepool_i_entry_release_wide(task, i, grants);
}

void lanepool_i_lanes_finish(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task, lanepool_i_grants *grants)
{
    (void)record;
    uint64_t word = load_relaxed(&task->word);
    if ((word & (LANEPOOL_I_WIDE | LANEPOOL_I_CLASS_BITS)) != 0)
        finish_large(pool, task, word, grants);
    else
        release_plain(task, word, grants);
}

/* --- hand-back --- */

static void collect_waiting_in_lane(lanepool_i_key *key, void *context)
{
    lanepool_i_lane *lane = (lanepool_i_lane *)key;
    if (!lanepool_i_lane_freeze(lane))
        return;
    for (uintptr_t link = load_relaxed(lanepool_i_lane_head(lane)); link != 0;) {
        uintptr_t next = load_relaxed(&lanepool_i_link_entry(link)->next);
        lanepool_i_task *task = lanepool_i_link_task(link);
        if (!lanepool_i_is_gate(task))
            lanepool_i_tasks_add_unvisited(context, task);
        link = next;
    }
}

void lanepool_i_lanes_collect(lanepool_pool *pool, lanepool_i_tasks *tasks)
{
    pool->rule->each_lane(pool, collect_waiting_in_lane, tasks);
}

/* --- who waits for whom --- */

/* Returns whether the walk has met the entry in this lane before. It has met those behind it, too.
 */
static bool is_entry_visited(const lanepool_i_entry *entry)
{
    return (entry->at.bits & LANEPOOL_I_ENTRY_VISITED) != 0;
}

/*
 * Returns the link to the first entry of a frozen lane that waits for the task's entry `i`, or 0.
 * If that waits itself, these are the entries behind it. If it is granted, these are all entries
 * that wait. Entries whose mode overlaps do not wait for it. The first other entry does, and so do
 * all entries behind that.
 */
static uintptr_t first_dependent(lanepool_i_lane *lane, lanepool_i_task *task, size_t i)
{
    lanepool_mode mode = lanepool_i_entry_mode(task, i);
    uintptr_t link =
        load_relaxed(lanepool_i_entry_is_granted(task, i) ? lanepool_i_lane_head(lane)
                                                          : &lanepool_i_entry_at(task, i)->next);
    while (link != 0 && lanepool_modes_overlap(mode, lanepool_i_link_mode(link)) &&
           !is_entry_visited(lanepool_i_link_entry(link)))
        link = load_relaxed(&lanepool_i_link_entry(link)->next);
    return link;
}

static void each_dependent_in_lane(lanepool_pool *pool, lanepool_i_task *task, size_t i,
                                   uint64_t limit,
                                   void (*found)(lanepool_i_task *dependent, void *context),
                                   void *context)
{
    lanepool_i_lane *lane = lanepool_i_entry_lane(task, i);
    if (!lanepool_i_lane_is_frozen(lane)) {
        if (!lanepool_i_lane_freeze(lane))
            return;
        lane->use.link = pool->lane_table.frozen;
        pool->lane_table.frozen = lane;
    }
    lanepool_i_entry *entry;
    for (uintptr_t link = first_dependent(lane, task, i); link != 0;
         link = load_relaxed(&entry->next)) {
        lanepool_i_task *other = lanepool_i_link_task(link);
        entry = lanepool_i_link_entry(link);
        if (is_entry_visited(entry) ||
            !lanepool_i_ticket_before(lanepool_i_task_ticket(other), limit))
            return;
        entry->at.bits |= LANEPOOL_I_ENTRY_VISITED;
        found(other, context);
    }
}

/* An active visitor makes its cut wait, and the tasks behind all entries that have not passed: an
 * entry that waits may be granted while the visitor is queued, and then no other visitor need
 * become ready. The visitor is active until it has run, so the round does not end during the walk.
 */
static void each_dependent_of_visitor(lanepool_pool *pool, lanepool_i_task *cut, uint64_t limit,
                                      void (*found)(lanepool_i_task *dependent, void *context),
                                      void *context)
{
    found(cut, context);
    for (size_t i = 0; i < lanepool_i_task_count(cut); i++)
        if (!lanepool_i_entry_has_passed(cut, i))
            each_dependent_in_lane(pool, cut, i, limit, found, context);
}

/* A cut that waits in a lane makes those tasks wait that are behind a lane it keeps: it keeps that
 * lane until it has visited the others. A progressive rollup that is not cancelled does so with all
 * of its lanes. Those behind it in this lane were found with it. The cut's round does not end
 * during the walk: its entry waits in a frozen lane, or a visitor is active, or the round has ended
 * and the cut is ready. */
static void each_dependent_of_cut(lanepool_pool *pool, lanepool_i_task *cut, uint64_t limit,
                                  void (*found)(lanepool_i_task *dependent, void *context),
                                  void *context)
{
    bool is_progressive = lanepool_i_task_is_progressive(cut) && !lanepool_i_task_is_tombstone(cut);
    for (size_t i = 0; i < lanepool_i_task_count(cut); i++)
        if (is_progressive ? !lanepool_i_entry_has_passed(cut, i)
                           : lanepool_i_visits_keeps(&lanepool_i_entries_wide(cut)[i]))
            each_dependent_in_lane(pool, cut, i, limit, found, context);
}

void lanepool_i_lanes_each_dependent(lanepool_pool *pool, lanepool_i_task *task, uint64_t limit,
                                     void (*found)(lanepool_i_task *dependent, void *context),
                                     void *context)
{
    if (lanepool_i_task_is_visitor(task)) {
        each_dependent_of_visitor(pool, task->context, limit, found, context);
        return;
    }
    if (lanepool_i_task_is_cut(task)) {
        each_dependent_of_cut(pool, task, limit, found, context);
        return;
    }
    for (size_t i = 0; i < lanepool_i_task_count(task); i++)
        each_dependent_in_lane(pool, task, i, limit, found, context);
}

/* Clears the walk's VISITED bits. No other thread reads the address of the lane in an entry that
 * waits in a frozen lane. */
static void clear_visited_entries(lanepool_i_lane *lane)
{
    uintptr_t link = load_relaxed(lanepool_i_lane_head(lane));
    while (link != 0) {
        lanepool_i_entry *entry = lanepool_i_link_entry(link);
        entry->at.bits &= ~LANEPOOL_I_ENTRY_VISITED;
        link = load_relaxed(&entry->next);
    }
}

void lanepool_i_lanes_thaw(lanepool_pool *pool, lanepool_i_grants *grants)
{
    while (pool->lane_table.frozen != NULL) {
        lanepool_i_lane *lane = pool->lane_table.frozen;
        pool->lane_table.frozen = lane->use.link;
        lane->use.stamp = 0;
        clear_visited_entries(lane);
        lanepool_i_lane_thaw(lane, grants);
    }
}

/* --- census --- */

static void freeze_for_census(lanepool_i_key *key, void *context)
{
    lanepool_i_census *census = context;
    lanepool_i_lane *lane = (lanepool_i_lane *)key;
    if (!lanepool_i_lane_freeze(lane))
        return;
    lane->use.link = census->pool->lane_table.frozen;
    census->pool->lane_table.frozen = lane;
    for (uintptr_t link = load_relaxed(lanepool_i_lane_head(lane)); link != 0;
         link = load_relaxed(&lanepool_i_link_entry(link)->next))
        lanepool_i_census_add_task(census, lanepool_i_link_task(link));
}

void lanepool_i_lanes_census_begin(lanepool_i_census *census)
{
    census->pool->rule->each_lane(census->pool, freeze_for_census, census);
}

/* Under the lock of a cut. */
static uint8_t level_of_visit(const lanepool_i_task *cut, size_t i)
{
    const lanepool_i_listing *listings = lanepool_i_visits_of(cut)->listings;
    return listings == NULL ? 0 : listings[i].level;
}

/* The lanes that a cut has passed may be gone. */
static void add_entries(lanepool_i_census *census, size_t index, lanepool_i_task *task, bool is_cut)
{
    size_t count = lanepool_i_task_count(task);
    for (size_t i = 0; i < count; i++) {
        if (is_cut && lanepool_i_entry_has_passed(task, i))
            continue;
        lanepool_i_lane *lane = lanepool_i_entry_lane(task, i);
        if (lane == &census->pool->failures->void_lane)
            lanepool_i_census_add_missing(census, index);
        if (lanepool_i_lane_is_void(lane))
            continue;
        lanepool_i_census_add_entry(census, index, lane, lanepool_i_entry_mode(task, i),
                                    lanepool_i_entry_is_granted(task, i),
                                    is_cut ? level_of_visit(task, i) : 0);
    }
}

void lanepool_i_lanes_census_entries(lanepool_i_census *census, size_t index)
{
    lanepool_i_task *task = lanepool_i_census_row_at(census, index)->task;
    bool is_cut = lanepool_i_task_is_cut(task);
    if (is_cut)
        lanepool_i_word_lock_lock(&lanepool_i_visits_of(task)->lock);
    add_entries(census, index, task, is_cut);
    if (is_cut)
        lanepool_i_word_lock_unlock(&lanepool_i_visits_of(task)->lock);
}

/* A worker's lane has no name. */
void lanepool_i_lanes_census_lane(const lanepool_i_census *census, const void *lane_address,
                                  lanepool_snapshot_lane *described, char *name, size_t size)
{
    const lanepool_i_lane *lane = lane_address;
    described->number = lanepool_i_lane_number(lane);
    described->type = lanepool_i_lane_type(lane);
    described->granted = lanepool_i_lane_granted_count(lane);
    described->paused = lanepool_i_lane_table_gate(&census->pool->lane_table, lane) != NULL;
    size_t used =
        lanepool_i_lane_is_of_worker(lane)
            ? 0
            : lanepool_i_key_name(census->pool, census->record, &lane->key, name, size - 1);
    name[used] = '\0';
}
