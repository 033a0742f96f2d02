/*
 * The key rule: the default rule with a lane for each key (PER_KEY). A task has an entry in the
 * lane of each of its claims (lane_table.h, lane.h), and is ready when all of them are granted
 * (countdown.h).
 */
#include "route/entries.h"
#include "route/pool.h"
#include "route/program_key.h"
#include "route/rule_lanes.h"

static uint32_t plain_key_type(uint64_t word, size_t i)
{
    return (uint32_t)(word >> (LANEPOOL_I_TYPE_SHIFT + 2 * i)) & 3u;
}

static uintptr_t plain_link(lanepool_i_task *task, uint64_t word, size_t i)
{
    lanepool_mode mode = lanepool_i_mode_at(word, lanepool_i_mode_shift(i));
    return lanepool_i_link_to(&task->as.plain[i], 0, mode);
}

/* --- routing --- */

static void place_in_lanes(lanepool_pool *pool, lanepool_i_task *task)
{
    if (pool->slots.in_lanes != NULL)
        pool->slots.in_lanes->place(pool, task);
}

/* Appends the entry of a task with one lane. Its countdown is 1: the lane's grant makes it ready.
 */
static inline void append_only_entry(lanepool_i_task *task, uint64_t word, lanepool_i_lane *lane,
                                     lanepool_i_grants *grants)
{
    if (lanepool_i_lane_append(lane, plain_link(task, word, 0), grants))
        lanepool_i_grants_add_granted_at_once(grants, task);
}

static inline void route_one_claim(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   lanepool_i_task *task, uint64_t word, lanepool_i_grants *grants)
{
    lanepool_i_entry *entry = &task->as.plain[0];
    entry->at.lane = lanepool_i_lane_table_lane_of_entry(pool, &pool->lane_table, record, entry,
                                                         plain_key_type(word, 0));
    append_only_entry(task, word, entry->at.lane, grants);
}

/* Routes a plain task whose two claims name one lane: one entry, in the merged mode. */
static LANEPOOL_I_COLD void route_merged(lanepool_pool *pool, lanepool_i_task *task, uint64_t word,
                                         lanepool_i_grants *grants)
{
    unsigned shift = lanepool_i_mode_shift(0);
    lanepool_mode mode = lanepool_i_mode_merge(lanepool_i_mode_at(word, shift),
                                               lanepool_i_mode_at(word, lanepool_i_mode_shift(1)));
    word -= (uint64_t)1 << LANEPOOL_I_COUNT_SHIFT;
    word = (word & ~(LANEPOOL_I_MODE_MASK << shift)) | lanepool_i_mode_put(mode, shift);
    store_relaxed(&task->word, word);
    lanepool_i_countdown_set(task, 1);
    place_in_lanes(pool, task);
    append_only_entry(task, word, task->as.plain[0].at.lane, grants);
}

/* Routes a task with one claim, with which a feature may have to do. */
static __attribute__((noinline)) void route_one_roomy_claim(lanepool_pool *pool,
                                                            lanepool_i_thread_record *record,
                                                            lanepool_i_task *task, uint64_t word,
                                                            lanepool_i_grants *grants)
{
    lanepool_i_entry *entry = &task->as.plain[0];
    entry->at.lane = lanepool_i_lane_table_lane_of_entry(pool, &pool->lane_table, record, entry,
                                                         plain_key_type(word, 0));
    place_in_lanes(pool, task);
    append_only_entry(task, word, entry->at.lane, grants);
}

static void route_two_claims(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task, uint64_t word, lanepool_i_grants *grants)
{
    lanepool_i_entry *entries = task->as.plain;
    lanepool_i_lane *a = lanepool_i_lane_table_lane_of_entry(pool, &pool->lane_table, record,
                                                             &entries[0], plain_key_type(word, 0));
    lanepool_i_lane *b = lanepool_i_lane_table_lane_of_entry(pool, &pool->lane_table, record,
                                                             &entries[1], plain_key_type(word, 1));
    entries[0].at.lane = a;
    entries[1].at.lane = b;
    if (a == b) {
        route_merged(pool, task, word, grants);
        return;
    }
    place_in_lanes(pool, task);
    uint32_t granted = lanepool_i_lane_append(a, plain_link(task, word, 0), grants);
    granted += lanepool_i_lane_append(b, plain_link(task, word, 1), grants);
    lanepool_i_lanes_count_arrivals(task, 2, granted, grants);
}

static inline void route_wide(lanepool_pool *pool, lanepool_i_thread_record *record,
                              lanepool_i_task *task, lanepool_i_grants *grants, bool extra_hold)
{
    lanepool_i_wide_entry *entries = lanepool_i_entries_wide(task);
    uint32_t lanes = lanepool_i_lane_table_resolve_claims(pool, record, task);
    place_in_lanes(pool, task);
    lanepool_i_countdown_set(task, lanes + 1 + extra_hold);
    uint32_t granted = 0;
    for (uint32_t i = 0; i < lanes; i++) {
        lanepool_mode mode = lanepool_i_mode_of_owner(entries[i].owner);
        uintptr_t link = lanepool_i_link_to(&entries[i].entry, LANEPOOL_I_LINK_WIDE, mode);
        granted += lanepool_i_lane_append(entries[i].entry.at.lane, link, grants);
    }
    if (!extra_hold) {
        lanepool_i_lanes_count_arrivals(task, lanes, granted, grants);
        return;
    }
    (void)lanepool_i_countdown_arrive_wide(task, granted + 1);
    grants->latched += granted;
}

static void keys_route(lanepool_pool *pool, lanepool_i_thread_record *record, lanepool_i_task *task,
                       lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&task->word);
    uint64_t one = (uint64_t)1 << LANEPOOL_I_COUNT_SHIFT;
    if ((word & LANEPOOL_I_WIDE) != 0)
        route_wide(pool, record, task, grants, false);
    else if ((word & (LANEPOOL_I_COUNT_MASK | LANEPOOL_I_CLASS_BITS)) == one)
        route_one_claim(pool, record, task, word, grants);
    else if ((word & LANEPOOL_I_COUNT_MASK) == one)
        route_one_roomy_claim(pool, record, task, word, grants);
    else if ((word & LANEPOOL_I_COUNT_MASK) != 0)
        route_two_claims(pool, record, task, word, grants);
    else
        lanepool_i_grants_add(grants, task);
}

static void keys_route_held(lanepool_pool *pool, lanepool_i_thread_record *record,
                            lanepool_i_task *task, lanepool_i_grants *grants)
{
    route_wide(pool, record, task, grants, true);
}

static const lanepool_claim *keys_read_claims(const lanepool_pool *pool, lanepool_i_task *task,
                                              lanepool_claim *plain_claims, size_t *count)
{
    (void)pool;
    size_t entry_count = lanepool_i_task_count(task);
    size_t claim_count = 0;
    bool wide = lanepool_i_task_is_wide(task);
    lanepool_i_wide_entry *entries = lanepool_i_entries_wide(task);
    lanepool_claim *result = wide ? (lanepool_claim *)entries : plain_claims;
    for (size_t i = 0; i < entry_count; i++) {
        const lanepool_i_lane *lane = wide ? entries[i].entry.at.lane : task->as.plain[i].at.lane;
        lanepool_mode mode = lanepool_i_entry_mode(task, i);
        if (lanepool_i_lane_is_void(lane))
            continue;
        result[claim_count++] = lanepool_claim_of(lanepool_i_key_for_program(&lane->key), mode);
    }
    *count = claim_count;
    return result;
}

/* --- tombstones --- */

/* Routes a task that was cancelled before. It needs no entries, but the lanes that its submit has
 * reserved must be used up. */
static void keys_route_tombstone(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task, lanepool_i_grants *grants)
{
    uint64_t word = load_relaxed(&task->word);
    if (lanepool_i_task_is_wide(task)) {
        (void)lanepool_i_lane_table_resolve_claims(pool, record, task);
    } else {
        for (size_t i = 0; i < lanepool_i_task_count(task); i++)
            (void)lanepool_i_lane_table_lane_of_entry(pool, &pool->lane_table, record,
                                                      &task->as.plain[i], plain_key_type(word, i));
    }
    lanepool_i_entries_drop_all(task);
    lanepool_i_tasks_add(&grants->ready, task);
}

static bool keys_claims_lane(const lanepool_pool *pool, lanepool_i_task *task,
                             const lanepool_i_lane *lane)
{
    (void)pool;
    size_t i = lanepool_i_task_count(task);
    while (i > 0 && lanepool_i_entry_lane(task, i - 1) != lane)
        i--;
    return i > 0;
}

/* --- the rule --- */

static void keys_each_lane(lanepool_pool *pool, void (*found)(lanepool_i_key *lane, void *context),
                           void *context)
{
    lanepool_i_key_index_each(&pool->lane_table.index, found, context);
}

static bool is_lane_idle(const lanepool_i_lane *lane, const void *pool)
{
    (void)pool;
    return lanepool_i_lane_is_idle(lane);
}

static bool keys_init(lanepool_pool *pool)
{
    pool->lane_table.frozen = NULL;
    return lanepool_i_lane_table_init(&pool->lane_table, is_lane_idle, pool->options.allocator,
                                      pool->slots.in_lanes != NULL);
}

static void keys_fini(lanepool_pool *pool)
{
    lanepool_i_lane_table_fini(&pool->lane_table);
}

const lanepool_i_rule lanepool_i_rule_keys = {
    .all_wide = false,
    .entry_size = sizeof(lanepool_i_wide_entry),
    .init = keys_init,
    .fini = keys_fini,
    .route = keys_route,
    .route_with_hold = keys_route_held,
    .route_max = LANEPOOL_I_ROUTE_MAX,
    .batch_done = lanepool_i_lane_table_sweep,
    .finish = lanepool_i_lanes_finish,
    .split_tombstone = lanepool_i_entries_split_tombstone,
    .route_tombstone = keys_route_tombstone,
    .claims_lane = keys_claims_lane,
    .has_claim = lanepool_i_entries_have_claim,
    .each_claim = lanepool_i_entries_each_claim,
    .release = lanepool_i_entries_release,
    .hand_over_lanes = lanepool_i_entries_hand_over,
    .trim_some = lanepool_i_lane_table_trim_some,
    .claims = keys_read_claims,
    .each_lane = keys_each_lane,
    LANEPOOL_I_LANES_FUNCTIONS,
};
