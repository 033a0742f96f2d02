/*
 * The lane table: finds the lane of a key, for both layouts of a pool whose tasks have claims.
 *
 * The router makes a lane when a claim first needs it, from memory that the submit has reserved. An
 * idle lane stays for a while, since making and removing one for each task costs time. When there
 * are many lanes, a clock hand passes some buckets for each lane made. It removes lanes that are
 * idle and were not used since it last passed. A trim removes all idle lanes.
 *
 * The table is swept after a batch, never between the look-up and the use of a task's lanes.
 */
#ifndef LANEPOOL_SRC_ROUTE_LANE_TABLE_H
#define LANEPOOL_SRC_ROUTE_LANE_TABLE_H

#include "lane/lane_memory.h"
#include "sched/thread_record.h"

/* Guards: I immutable, R role's holder. */
typedef struct lanepool_i_lane_table {
    lanepool_i_lane_memory store;
    lanepool_i_key_index index; /* R */
    /* I: returns true if the lane may be removed */
    bool (*is_idle)(const lanepool_i_lane *lane, const void *pool);
    size_t created;          /* R: lanes made since the last sweep */
    size_t untrimmed;        /* R: buckets that a trim has still to sweep */
    bool is_trimming;        /* R */
    uint64_t trim_worked_ns; /* R: by this trim so far */
    lanepool_i_lane *frozen; /* R: lanes that the current walk has frozen */
    lanepool_i_list gates;   /* R: gates that are granted, or will be */
} lanepool_i_lane_table;

bool lanepool_i_lane_table_init(lanepool_i_lane_table *table,
                                bool (*is_idle)(const lanepool_i_lane *lane, const void *pool),
                                const lanepool_allocator *allocator, bool has_room_beside);
void lanepool_i_lane_table_fini(lanepool_i_lane_table *table);

/* The next function for byte strings and handles, and for other keys without a lane. */
lanepool_i_lane *lanepool_i_lane_table_lane_of_entry_slowly(lanepool_pool *pool,
                                                            lanepool_i_thread_record *record,
                                                            const lanepool_i_entry *entry,
                                                            uint32_t type);
/* Role's holder: returns the lane of an entry that is not routed yet, whose key has this type. Uses
 * the claim's reservation to make the lane if needed. */
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
/* Role's holder: returns the lane of a key whose hash is set, made if needed. A new lane takes over
 * the key's bytes. */
lanepool_i_lane *lanepool_i_lane_table_resolve(lanepool_pool *pool,
                                               lanepool_i_thread_record *record,
                                               const lanepool_i_key *wanted, bool *is_new);

/* Role's holder: finds the lane of each claim of a wide task. Of several claims of one lane the
 * first becomes the entry, in the merged mode. Sets the entries' owners. Returns their number. */
uint32_t lanepool_i_lane_table_resolve_claims(lanepool_pool *pool, lanepool_i_thread_record *record,
                                              lanepool_i_task *task);
/* Likewise, and `numbers` receives the number of each entry's claim. */
uint32_t lanepool_i_lane_table_resolve_numbered(lanepool_pool *pool,
                                                lanepool_i_thread_record *record,
                                                lanepool_i_task *task, uint32_t *numbers);

/* Role's holder: returns the lane that the i-th claim of a task names that is not routed yet; NULL
 * if there is no such lane. */
const lanepool_i_lane *lanepool_i_lane_table_find_claimed(const lanepool_pool *pool,
                                                          const lanepool_i_task *task, size_t i);

/* Role's holder: returns the gate that pauses the lane, or NULL. */
lanepool_i_gate *lanepool_i_lane_table_gate(const lanepool_i_lane_table *table,
                                            const lanepool_i_lane *lane);

/* Role's holder, after a batch: moves the clock hand if there are many lanes. */
void lanepool_i_lane_table_sweep(lanepool_pool *pool, lanepool_i_thread_record *record);
/* Role's holder: does a part of a trim, or begins one. A trim removes idle lanes, joins buckets,
 * and gives memory back to the system. Returns false once it is done. O(1), if keys are spread
 * well. */
bool lanepool_i_lane_table_trim_some(lanepool_pool *pool, lanepool_i_thread_record *record);

#endif
