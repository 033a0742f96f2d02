/*
 * From keys to lanes, for every layout with the default rule.
 *
 * Lanes are made when a claim first needs them, from memory that its submit has
 * reserved, and stay for a while when they are idle, so that a cool key does not
 * cost an insertion and a removal for every task. When there are many, a clock
 * hand passes some buckets for each lane made and removes what is idle and was
 * not used since it last passed; a quiesce removes all that is idle.
 *
 * Sweeping comes after a batch, never between the look-up and the use of a
 * task's lanes.
 */
#ifndef LANEPOOL_SRC_ROUTE_LANE_TABLE_H
#define LANEPOOL_SRC_ROUTE_LANE_TABLE_H

#include "lane/lane_memory.h"
#include "sched/thread_record.h"

/* Guards: I immutable, R role's holder. */
typedef struct lanepool_i_lane_table {
    lanepool_i_lane_memory store;
    lanepool_i_key_index index;                   /* R */
    bool (*is_idle)(const lanepool_i_lane *lane); /* I: whether a lane may go */
    size_t created;                               /* R: lanes made since the last sweep */
    lanepool_i_lane *frozen;                      /* R: the lanes of the walk that is going on */
    lanepool_i_gate *gates;                       /* R: that hold lanes up, or are on their way */
} lanepool_i_lane_table;

bool lanepool_i_lane_table_init(lanepool_i_lane_table *table,
                                bool (*is_idle)(const lanepool_i_lane *lane),
                                const lanepool_allocator *allocator, bool has_room_beside);
void lanepool_i_lane_table_fini(lanepool_i_lane_table *table);

/* As below, for a number or an address that is not there, a byte string, or a held lane. */
lanepool_i_lane *lanepool_i_lane_table_lane_of_entry_slowly(lanepool_pool *pool,
                                                            lanepool_i_thread_record *record,
                                                            const lanepool_i_entry *entry,
                                                            uint32_t type);
/* Role's holder: the lane of an entry that is not routed yet, by its key's type; made if needed
 * from the claim's reservation. */
static inline lanepool_i_lane *lanepool_i_lane_table_lane_of_entry(lanepool_pool *pool,
                                                                   lanepool_i_lane_table *table,
                                                                   lanepool_i_thread_record *record,
                                                                   const lanepool_i_entry *entry,
                                                                   uint32_t type)
{
    if (type == LANEPOOL_I_TYPE_ID || type == LANEPOOL_I_TYPE_POINTER) {
        lanepool_i_key *key = lanepool_i_key_index_find_word(&table->index, entry->at.id, type);
        if (key != NULL) {
            lanepool_i_lane_memory_settle(&table->store, 1);
            return (lanepool_i_lane *)key;
        }
    }
    return lanepool_i_lane_table_lane_of_entry_slowly(pool, record, entry, type);
}
/* Role's holder: the same for a wanted key (its hash set). A lane that is new takes the key's bytes
 * over. */
lanepool_i_lane *lanepool_i_lane_table_resolve(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               const lanepool_i_key *wanted, bool *is_new);

/* Role's holder: whether one of the claims of a task that is not routed yet names the lane. */
bool lanepool_i_lane_table_is_claimed(const lanepool_pool *pool, const lanepool_i_task *task,
                                      const lanepool_i_lane *lane);

/* Role's holder: the gate that pauses the lane, or NULL. */
lanepool_i_gate *lanepool_i_lane_table_gate(const lanepool_i_lane_table *table,
                                            const lanepool_i_lane *lane);

/* Role's holder, after a batch. */
void lanepool_i_lane_table_sweep(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Role's holder: sweeps everything and gives memory back to the system. */
void lanepool_i_lane_table_trim(lanepool_pool *pool, lanepool_i_thread_record *record);

/* Any thread: a copy of a byte string, hashed; NULL: memory is lacking. */
lanepool_i_key_bytes *lanepool_i_key_bytes_copy(lanepool_pool *pool,
                                                lanepool_i_thread_record *record, const void *data,
                                                size_t size);
void lanepool_i_key_bytes_give(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_key_bytes *bytes);
/* When the pool is at its end: frees what the slab does not. */
void lanepool_i_key_bytes_end(lanepool_i_key_bytes *bytes);
/* Any thread: the key that a claim names, of any type but a held lane; it owns its bytes. False:
 * memory is lacking. */
bool lanepool_i_key_of_claim(lanepool_pool *pool, lanepool_i_thread_record *record,
                             const lanepool_claim *claim, lanepool_i_key *key);
/* What a key is called, without a final zero; 0: it has no name. */
size_t lanepool_i_key_name(lanepool_pool *pool, lanepool_i_thread_record *record,
                           const lanepool_i_key *key, char *text, size_t size);
/* Whether a claim names the lane. Of whom a task stands in, on its thread: a lane's key and a
 * handle's do not change. */
bool lanepool_i_lane_is_named_by(const lanepool_pool *pool, const lanepool_i_lane *lane,
                                 const lanepool_claim *claim);
/* A lane's key as a claim; the bytes stay the lane's. */
void lanepool_i_key_to_claim(const lanepool_i_key *key, lanepool_claim *claim);

#endif
