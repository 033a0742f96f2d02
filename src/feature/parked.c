/* Owns the tables of parked tasks; see parked.h. */
#include "feature/parked.h"

#include "route/entries.h"
#include "route/pool.h"

void lanepool_i_parked_init(lanepool_i_failures *failures)
{
    failures->tickets = failures->first_tickets;
    failures->ticket_mask = LANEPOOL_I_PARKED_CHAINS - 1;
    failures->lanes = failures->first_lanes;
    failures->lane_mask = LANEPOOL_I_PARKED_CHAINS - 1;
}

void lanepool_i_parked_fini(lanepool_i_failures *failures)
{
    if (failures->tickets != failures->first_tickets)
        lanepool_i_memory_free(failures->tickets);
    if (failures->lanes != failures->first_lanes)
        lanepool_i_memory_free(failures->lanes);
}

/* --- by ticket --- */

static void add_ticket(lanepool_i_failures *failures, lanepool_i_attempts *attempts)
{
    uint64_t ticket = lanepool_i_task_ticket(attempts->suspended.task);
    lanepool_i_attempts **chain = &failures->tickets[ticket & failures->ticket_mask];
    attempts->chained = *chain;
    *chain = attempts;
}

static void remove_ticket(lanepool_i_failures *failures, lanepool_i_attempts *attempts)
{
    uint64_t ticket = lanepool_i_task_ticket(attempts->suspended.task);
    lanepool_i_attempts **at = &failures->tickets[ticket & failures->ticket_mask];
    while (*at != attempts)
        at = &(*at)->chained;
    *at = attempts->chained;
}

lanepool_i_attempts *lanepool_i_parked_find_locked(const lanepool_i_failures *failures,
                                                   uint64_t ticket)
{
    lanepool_i_attempts *attempts = failures->tickets[ticket & failures->ticket_mask];
    while (attempts != NULL && lanepool_i_task_ticket(attempts->suspended.task) != ticket)
        attempts = attempts->chained;
    return attempts;
}

/* --- by lane --- */

static lanepool_i_parked_chain *chain_of(const lanepool_i_failures *failures,
                                         const lanepool_i_lane *lane)
{
    return &failures->lanes[lane->key.hash & failures->lane_mask];
}

static lanepool_i_lane *lane_of_link(uintptr_t link)
{
    return (lanepool_i_lane *)(lanepool_i_link_entry(link)->at.bits & LANEPOOL_I_ENTRY_LANE);
}

static uintptr_t next_in_chain(uintptr_t link)
{
    return load_relaxed(&lanepool_i_link_entry(link)->next);
}

static void add_entry(lanepool_i_failures *failures, uintptr_t link)
{
    lanepool_i_parked_chain *chain = chain_of(failures, lane_of_link(link));
    store_relaxed(&lanepool_i_link_entry(link)->next, 0);
    if (chain->first == 0)
        chain->first = link;
    else
        store_relaxed(&lanepool_i_link_entry(chain->last)->next, link);
    chain->last = link;
}

/* `next` of a cut's entry says again that the lane is kept. */
static void remove_entry(lanepool_i_failures *failures, uintptr_t link)
{
    lanepool_i_parked_chain *chain = chain_of(failures, lane_of_link(link));
    uintptr_t before = 0;
    for (uintptr_t other = chain->first; other != link; other = next_in_chain(other))
        before = other;
    if (before == 0)
        chain->first = next_in_chain(link);
    else
        store_relaxed(&lanepool_i_link_entry(before)->next, next_in_chain(link));
    if (chain->last == link)
        chain->last = before;
    if (lanepool_i_link_is_of_cut(link))
        store_relaxed(&lanepool_i_link_entry(link)->next, LANEPOOL_I_NEXT_KEPT);
}

/* Calls `change` for each lane that the task poisons. Returns their number. */
static size_t each_entry(lanepool_i_failures *failures, const lanepool_i_attempts *attempts,
                         void (*change)(lanepool_i_failures *failures, uintptr_t link))
{
    size_t changed = 0;
    if (attempts->pool->rule->route_with_hold == NULL)
        return 0;
    lanepool_i_task *task = attempts->suspended.task;
    for (size_t i = 0; i < lanepool_i_task_count(task); i++) {
        if (!lanepool_i_entry_blocks(task, i))
            continue;
        change(failures, lanepool_i_entry_link(task, i));
        changed++;
    }
    return changed;
}

bool lanepool_i_parked_has_lane(lanepool_pool *pool, const lanepool_i_lane *lane)
{
    lanepool_i_mutex_lock(&pool->suspended.lock);
    uintptr_t link = chain_of(pool->failures, lane)->first;
    while (link != 0 && lane_of_link(link) != lane)
        link = next_in_chain(link);
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    return link != 0;
}

bool lanepool_i_parked_is_dropping(lanepool_pool *pool, const lanepool_i_lane *lane,
                                   const void *dropped_by)
{
    bool drops = false;
    lanepool_i_mutex_lock(&pool->suspended.lock);
    uintptr_t link = chain_of(pool->failures, lane)->first;
    for (; link != 0 && !drops; link = next_in_chain(link))
        drops = lane_of_link(link) == lane &&
                lanepool_i_attempts_of(lanepool_i_link_task(link))->dropped_by == dropped_by;
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    return drops;
}

/* --- both --- */

/* In the total order, see poison.h. */
static void count_poisoned_locked(lanepool_i_failures *failures, size_t more)
{
    store_seq(&failures->poisoned, load_relaxed(&failures->poisoned) + more);
}

void lanepool_i_parked_add_locked(lanepool_pool *pool, lanepool_i_attempts *attempts)
{
    lanepool_i_failures *failures = pool->failures;
    lanepool_i_suspended_add_locked(&pool->suspended, &attempts->suspended,
                                    LANEPOOL_I_UNTIL_RESOLUTION);
    failures->parked++;
    failures->changes++;
    add_ticket(failures, attempts);
    count_poisoned_locked(failures, each_entry(failures, attempts, add_entry));
}

void lanepool_i_parked_remove_locked(lanepool_pool *pool, lanepool_i_attempts *attempts)
{
    lanepool_i_failures *failures = pool->failures;
    lanepool_i_suspended_remove_locked(&attempts->suspended);
    failures->parked--;
    failures->changes++;
    remove_ticket(failures, attempts);
    count_poisoned_locked(failures, 0 - each_entry(failures, attempts, remove_entry));
}

/* --- growing --- */

/* Puts all parked tasks into the new tables. */
static void fill_again(lanepool_pool *pool)
{
    lanepool_i_failures *failures = pool->failures;
    memset(failures->tickets, 0, (failures->ticket_mask + 1) * sizeof *failures->tickets);
    memset(failures->lanes, 0, (failures->lane_mask + 1) * sizeof *failures->lanes);
    LANEPOOL_I_EACH(lanepool_i_suspended, suspended, &pool->suspended.list, link) {
        lanepool_i_attempts *attempts = lanepool_i_suspended_parked(suspended);
        if (attempts == NULL)
            continue;
        add_ticket(failures, attempts);
        (void)each_entry(failures, attempts, add_entry);
    }
}

/* Another thread may have grown the tables in between; then the memory is not needed. */
static void grow_parked_tables(lanepool_pool *pool, size_t ticket_count, size_t lane_count)
{
    lanepool_i_failures *failures = pool->failures;
    lanepool_i_attempts **tickets = lanepool_i_memory_alloc(ticket_count * sizeof *tickets);
    lanepool_i_parked_chain *lanes = lanepool_i_memory_alloc(lane_count * sizeof *lanes);
    lanepool_i_attempts **old_tickets = tickets;
    lanepool_i_parked_chain *old_lanes = lanes;
    lanepool_i_mutex_lock(&pool->suspended.lock);
    if (tickets != NULL && lanes != NULL && ticket_count >= failures->ticket_mask + 1 &&
        lane_count >= failures->lane_mask + 1) {
        old_tickets = failures->tickets;
        old_lanes = failures->lanes;
        failures->tickets = tickets;
        failures->ticket_mask = ticket_count - 1;
        failures->lanes = lanes;
        failures->lane_mask = lane_count - 1;
        fill_again(pool);
    }
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    if (old_tickets != failures->first_tickets)
        lanepool_i_memory_free(old_tickets);
    if (old_lanes != failures->first_lanes)
        lanepool_i_memory_free(old_lanes);
}

void lanepool_i_parked_make_room(lanepool_pool *pool)
{
    const lanepool_i_failures *failures = pool->failures;
    lanepool_i_mutex_lock(&pool->suspended.lock);
    size_t ticket_count = failures->ticket_mask + 1;
    size_t lane_count = failures->lane_mask + 1;
    size_t poisoned = load_relaxed(&failures->poisoned);
    bool grows = failures->parked >= ticket_count || poisoned >= 2 * lane_count;
    while (failures->parked >= ticket_count)
        ticket_count *= 2;
    while (poisoned >= 2 * lane_count)
        lane_count *= 2;
    lanepool_i_mutex_unlock(&pool->suspended.lock);
    if (grows)
        grow_parked_tables(pool, ticket_count, lane_count);
}
