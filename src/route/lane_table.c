/* Owns the index of keys, and when lanes are made and removed; see lane_table.h. */
#include "route/lane_table.h"

#include "base/sizes.h"
#include "route/lane_handle.h"
#include "route/pool.h"
#include "route/program_key.h"

/* Buckets that the hand passes for each lane made. In a steady state one lane is removed for each
 * lane made. With more buckets a smaller share of the lanes is found unused for that, and fewer
 * lanes are removed only to be made again. */
#define SWEPT_FOR_EACH_CREATED 4

bool lanepool_i_lane_table_init(lanepool_i_lane_table *table,
                                bool (*is_idle)(const lanepool_i_lane *lane, const void *pool),
                                const lanepool_allocator *allocator, bool has_room_beside)
{
    table->is_idle = is_idle;
    table->created = 0;
    table->is_trimming = false;
    table->untrimmed = 0;
    if (!lanepool_i_lane_memory_init(&table->store, allocator, has_room_beside))
        return false;
    if (lanepool_i_key_index_init(&table->index, lanepool_i_seed(), allocator))
        return true;
    lanepool_i_lane_memory_fini(&table->store);
    return false;
}

static void end_key_bytes_of(lanepool_i_key *key, void *context)
{
    (void)context;
    if (key->type == LANEPOOL_I_TYPE_BYTES)
        lanepool_i_key_bytes_end(key->value.bytes);
}

void lanepool_i_lane_table_fini(lanepool_i_lane_table *table)
{
    lanepool_i_key_index_each(&table->index, end_key_bytes_of, NULL);
    lanepool_i_key_index_fini(&table->index);
    lanepool_i_lane_memory_fini(&table->store);
}

/* --- from key to lane --- */

static void trace_lane_name(lanepool_pool *pool, lanepool_i_thread_record *record,
                            const lanepool_i_lane *lane)
{
    if (!lanepool_i_records(record->ring, LANEPOOL_EVENT_NAME) ||
        pool->options.layout == LANEPOOL_PER_WORKER)
        return;
    char name[LANEPOOL_EVENT_NAME_MAX];
    size_t size = lanepool_i_key_name(pool, record, &lane->key, name, sizeof name);
    lanepool_i_trace_name(record->ring, lanepool_i_lane_number(lane), lanepool_i_lane_type(lane),
                          name, size);
}

static lanepool_i_lane *make_lane(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  const lanepool_i_key *wanted)
{
    lanepool_i_lane_table *table = &pool->lane_table;
    lanepool_i_lane *lane = lanepool_i_lane_memory_take(&table->store);
    lanepool_i_lane_init(lane);
    lane->key = *wanted;
    lane->key.handle_count = 0;
    lanepool_i_key_index_add(&table->index, &lane->key);
    table->created++;
    trace_lane_name(pool, record, lane);
    return lane;
}

lanepool_i_gate *lanepool_i_lane_table_gate(const lanepool_i_lane_table *table,
                                            const lanepool_i_lane *lane)
{
    LANEPOOL_I_EACH(lanepool_i_gate, gate, &table->gates, link)
        if (gate->lane == lane)
            return gate;
    return NULL;
}

lanepool_i_lane *lanepool_i_lane_table_resolve(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               const lanepool_i_key *wanted, bool *is_new)
{
    lanepool_i_lane_table *table = &pool->lane_table;
    lanepool_i_key *found = lanepool_i_key_index_find(&table->index, wanted);
    *is_new = found == NULL;
    if (found == NULL)
        return make_lane(pool, record, wanted);
    lanepool_i_lane_memory_settle(&table->store, 1);
    return (lanepool_i_lane *)found;
}

lanepool_i_lane *lanepool_i_handle_lane(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        lanepool_lane *handle)
{
    if (handle->lane == NULL) {
        bool is_new;
        handle->lane = lanepool_i_lane_table_resolve(pool, record, &handle->key, &is_new);
        handle->lane->key.handle_count++;
        handle->has_own_bytes &= !is_new;
    }
    return handle->lane;
}

lanepool_i_lane *lanepool_i_lane_table_lane_of_entry_slowly(lanepool_pool *pool,
                                                            lanepool_i_thread_record *record,
                                                            const lanepool_i_entry *entry,
                                                            uint32_t type)
{
    if (type == LANEPOOL_I_TYPE_LANE)
        return lanepool_i_handle_lane(pool, record, entry->at.handle);
    lanepool_i_key wanted = { .type = type & 3u };
    if (type == LANEPOOL_I_TYPE_BYTES) {
        wanted.value.bytes = entry->at.bytes;
        lanepool_i_key_set_hash(&wanted, entry->at.bytes->hash);
        bool is_new;
        lanepool_i_lane *lane = lanepool_i_lane_table_resolve(pool, record, &wanted, &is_new);
        if (!is_new)
            lanepool_i_key_bytes_give(pool, record, wanted.value.bytes);
        return lane;
    }
    wanted.value.id = entry->at.id;
    uint32_t hash = lanepool_i_key_index_hash_word(pool->lane_table.index.seed, entry->at.id, type);
    lanepool_i_key_set_hash(&wanted, hash);
    return make_lane(pool, record, &wanted);
}

static uint32_t owner_type(uintptr_t owner)
{
    return (uint32_t)(owner >> LANEPOOL_I_OWNER_TYPE_SHIFT) & 3u;
}

/* Adds a claim to the task's stamp on the lane: the stamp's number says that the task has met the
 * lane, its mode is that of the task's claims of it so far. Returns true for the first one. */
static bool add_to_stamp(lanepool_i_lane *lane, uint64_t number, lanepool_mode mode)
{
    bool is_first = lanepool_i_mode_stamp_number(lane->use.stamp) != number;
    if (!is_first)
        mode = lanepool_i_mode_merge(mode, lanepool_i_mode_at(lane->use.stamp, 0));
    lane->use.stamp = lanepool_i_mode_stamp(number, mode);
    return is_first;
}

/* `numbers`, if not NULL, receives the number of each entry's claim. */
static inline uint32_t resolve_claims(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *task, uint32_t *numbers)
{
    uint64_t number = ++pool->router.last_stamp;
    uint32_t count = 0;
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        const lanepool_i_wide_entry *claim = lanepool_i_pool_entry(pool, task, i);
        lanepool_mode mode = lanepool_i_mode_of_owner(claim->owner);
        lanepool_i_lane *lane = lanepool_i_lane_table_lane_of_entry(
            pool, &pool->lane_table, record, &claim->entry, owner_type(claim->owner));
        if (!add_to_stamp(lane, number, mode))
            continue;
        lanepool_i_pool_entry(pool, task, count)->entry.at.lane = lane;
        if (numbers != NULL)
            numbers[count] = i;
        count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        lanepool_i_wide_entry *entry = lanepool_i_pool_entry(pool, task, i);
        lanepool_mode merged = lanepool_i_mode_at(entry->entry.at.lane->use.stamp, 0);
        entry->owner = lanepool_i_mode_owner(task, merged);
    }
    task->as.wide.count = count & LANEPOOL_I_WIDE_COUNT_MASK;
    return count;
}

uint32_t lanepool_i_lane_table_resolve_claims(lanepool_pool *pool, lanepool_i_thread_record *record,
                                              lanepool_i_task *task)
{
    return resolve_claims(pool, record, task, NULL);
}

uint32_t lanepool_i_lane_table_resolve_numbered(lanepool_pool *pool,
                                                lanepool_i_thread_record *record,
                                                lanepool_i_task *task, uint32_t *numbers)
{
    return resolve_claims(pool, record, task, numbers);
}

static lanepool_i_key *find_key(const lanepool_i_lane_table *table, const lanepool_i_entry *entry,
                                uint32_t type)
{
    if (type == LANEPOOL_I_TYPE_LANE)
        return lanepool_i_key_index_find(&table->index, &entry->at.handle->key);
    if (type != LANEPOOL_I_TYPE_BYTES)
        return lanepool_i_key_index_find_word(&table->index, entry->at.id, type);
    lanepool_i_key wanted = { .type = type & 3u, .value.bytes = entry->at.bytes };
    lanepool_i_key_set_hash(&wanted, entry->at.bytes->hash);
    return lanepool_i_key_index_find(&table->index, &wanted);
}

const lanepool_i_lane *lanepool_i_lane_table_find_claimed(const lanepool_pool *pool,
                                                          const lanepool_i_task *task, size_t i)
{
    uint64_t word = load_relaxed(&task->word);
    const lanepool_i_wide_entry *entry = lanepool_i_pool_entry(pool, task, i);
    if ((word & LANEPOOL_I_WIDE) != 0)
        return (const lanepool_i_lane *)find_key(&pool->lane_table, &entry->entry,
                                                 owner_type(entry->owner));
    return (const lanepool_i_lane *)find_key(&pool->lane_table, &task->as.plain[i],
                                             (uint32_t)(word >> (LANEPOOL_I_TYPE_SHIFT + 2 * i)) &
                                                 3u);
}

/* --- sweeping --- */

static void remove_idle_lanes(lanepool_pool *pool, lanepool_i_thread_record *record,
                              size_t bucket_count, bool all)
{
    lanepool_i_lane_table *table = &pool->lane_table;
    lanepool_i_key *removed = NULL;
    lanepool_i_key_index_sweep(&table->index, bucket_count, all, table->is_idle, pool, &removed);
    while (removed != NULL) {
        lanepool_i_key *next = removed->next;
        if (removed->type == LANEPOOL_I_TYPE_BYTES)
            lanepool_i_key_bytes_give(pool, record, removed->value.bytes);
        lanepool_i_lane_memory_return(&table->store, (lanepool_i_lane *)removed);
        removed = next;
    }
}

/* Lets submitters see how many reservations are settled, and statistics how many lanes there are.
 */
static void publish_lane_counts(lanepool_pool *pool)
{
    lanepool_i_lane_memory_publish(&pool->lane_table.store);
    store_relaxed(&pool->router.lanes_live, pool->lane_table.index.key_count);
}

void lanepool_i_lane_table_sweep(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_lane_table *table = &pool->lane_table;
    if (table->created > 0) {
        if (table->index.key_count > LANEPOOL_I_RESERVE_LANES)
            remove_idle_lanes(pool, record, SWEPT_FOR_EACH_CREATED * table->created, false);
        table->created = 0;
    }
    publish_lane_counts(pool);
}

static void trim_buckets(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_lane_table *table = &pool->lane_table;
    size_t count =
        table->untrimmed < LANEPOOL_I_TRIM_BUCKETS ? table->untrimmed : LANEPOOL_I_TRIM_BUCKETS;
    remove_idle_lanes(pool, record, count, true);
    publish_lane_counts(pool);
    table->untrimmed -= count;
}

static void begin_lane_trim(lanepool_i_lane_table *table)
{
    table->is_trimming = true;
    table->untrimmed = table->index.bucket_count;
    table->trim_worked_ns = 0;
}

static void end_lane_trim(lanepool_i_lane_table *table)
{
    table->is_trimming = false;
    lanepool_i_lane_memory_end_trim(&table->store, table->trim_worked_ns);
}

bool lanepool_i_lane_table_trim_some(lanepool_pool *pool, lanepool_i_thread_record *record)
{
    lanepool_i_lane_table *table = &pool->lane_table;
    uint64_t start_ns = lanepool_i_clock_now();
    if (!table->is_trimming)
        begin_lane_trim(table);
    if (table->untrimmed > 0)
        trim_buckets(pool, record);
    else if (!lanepool_i_key_index_shrink(&table->index, LANEPOOL_I_TRIM_BUCKETS) &&
             !lanepool_i_lane_memory_trim_one(&table->store))
        end_lane_trim(table);
    table->trim_worked_ns += lanepool_i_clock_now() - start_ns;
    return table->is_trimming;
}
