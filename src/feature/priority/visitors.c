/* Owns the levels of visitors; see visitors.h. */
#include "feature/priority/visitors.h"

void lanepool_i_visitors_init(lanepool_pool *pool, lanepool_i_visits *visits)
{
    visits->noted = &lanepool_i_priorities_of(pool)->noted;
    for (size_t i = 0; i < visits->visitor_count; i++) {
        lanepool_i_visitor *visitor = lanepool_i_visits_visitor(visits, i);
        lanepool_i_wide_rank *rank = lanepool_i_rank_of_visitor(visitor);
        rank->task = &visitor->block;
        lanepool_i_rank_init(&rank->rank, 0, true);
    }
}

/* Returns the level at which a cut makes its next visit. `listed` is what lanepool_i_visits_level()
 * has returned. */
static uint32_t level_of_visits(const lanepool_i_rank *cut, uint32_t listed)
{
    uint32_t level = listed > cut->level + 1u ? listed - 1 : cut->level;
    return level & LANEPOOL_PRIORITY_MAX;
}

/* A visitor that was idle has not waited before. */
void lanepool_i_visitor_set_level(lanepool_pool *pool, lanepool_i_visitor *visitor)
{
    lanepool_i_task *cut = visitor->block.context;
    lanepool_i_rank *rank = &lanepool_i_rank_of_visitor(visitor)->rank;
    if (visitor->is_fresh) {
        rank->standing = 0;
        rank->since_ns = 0;
    }
    visitor->is_fresh = false;
    uint32_t listed = lanepool_i_visits_level(lanepool_i_visits_of(cut));
    rank->level =
        level_of_visits(lanepool_i_priorities_rank(pool, cut), listed) & LANEPOOL_PRIORITY_MAX;
}

/* Returns the ready visitor of the lowest level below this one, or NULL. Adds those that are not
 * below it to the count. */
static lanepool_i_rank *lowest_visitor(const lanepool_i_visits *visits, uint32_t level,
                                       uint32_t *others)
{
    lanepool_i_rank *lowest = NULL;
    for (size_t i = 0; i < visits->visitor_count; i++) {
        lanepool_i_rank *rank =
            &lanepool_i_rank_of_visitor(lanepool_i_visits_visitor(visits, i))->rank;
        if (!rank->is_ready)
            continue;
        if (rank->level >= level)
            ++*others;
        else if (lowest == NULL || rank->level < lowest->level)
            lowest = rank;
    }
    return lowest;
}

/* Raises ready visitors until as many have each level as there are listed entries of that level or
 * above, or all have it. */
static lanepool_i_task *raise_visitors_of_noted(lanepool_i_priorities *priorities,
                                                lanepool_i_task *cut, uint64_t now_ns)
{
    uint32_t counts[LANEPOOL_I_VISIT_LEVELS];
    uint32_t wanted = 0;
    const lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    lanepool_i_task *next = lanepool_i_visits_take_note(cut, counts);
    for (uint8_t level = LANEPOOL_PRIORITY_MAX; level > 0; level--) {
        wanted += counts[level];
        uint32_t found = 0;
        lanepool_i_rank *lowest = lowest_visitor(visits, level, &found);
        while (found < wanted && lowest != NULL) {
            lanepool_i_priority_queue_raise(&priorities->queue, lowest, level, now_ns);
            found = 0;
            lowest = lowest_visitor(visits, level, &found);
        }
    }
    return next;
}

void lanepool_i_visitors_take_notes(lanepool_i_priorities *priorities)
{
    if (load_relaxed(&priorities->noted) == NULL)
        return;
    uint64_t now_ns = lanepool_i_priorities_now(priorities->pool);
    lanepool_i_task *cut = exchange_acquire(&priorities->noted, NULL);
    while (cut != NULL)
        cut = raise_visitors_of_noted(priorities, cut, now_ns);
}

/* The visitor has been chosen at its level, and with what it has risen by waiting. It keeps the
 * latter. A visitor that finds nothing listed only becomes idle. */
bool lanepool_i_visitor_may_visit_on(lanepool_pool *pool, lanepool_i_visitor *visitor)
{
    lanepool_i_task *cut = visitor->block.context;
    lanepool_i_priorities_lock(pool);
    lanepool_i_rank *rank = &lanepool_i_rank_of_visitor(visitor)->rank;
    uint32_t listed = lanepool_i_visits_level(lanepool_i_visits_of(cut));
    uint32_t risen = rank->standing > rank->level ? rank->standing - rank->level : 0;
    uint32_t level = level_of_visits(lanepool_i_priorities_rank(pool, cut), listed);
    uint32_t standing =
        level + risen < LANEPOOL_PRIORITY_MAX ? level + risen : LANEPOOL_PRIORITY_MAX;
    rank->level = level & LANEPOOL_PRIORITY_MAX;
    rank->standing = standing & LANEPOOL_PRIORITY_MAX;
    rank->since_ns = 0;
    lanepool_i_visitors_take_notes(lanepool_i_priorities_of(pool));
    uint32_t highest = lanepool_i_priority_queue_highest(lanepool_i_priorities_queue(pool));
    lanepool_i_priorities_unlock(pool);
    uint32_t urgent = load_relaxed(&pool->workers.urgent);
    return listed == 0 || (highest <= standing + 1 && urgent <= standing + 1);
}
