/* The program's keys: copies of their byte strings, and their names. */
#ifndef LANEPOOL_SRC_ROUTE_PROGRAM_KEY_H
#define LANEPOOL_SRC_ROUTE_PROGRAM_KEY_H

#include "sched/thread_record.h"

/* Any thread: returns a copy of a byte string with its hash; NULL if memory cannot be allocated. */
lanepool_i_key_bytes *lanepool_i_key_bytes_copy(lanepool_pool *pool,
                                                lanepool_i_thread_record *record, const void *data,
                                                size_t size);
/* Any thread: gives the copy's block back to the slab. */
void lanepool_i_key_bytes_give(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_key_bytes *bytes);
/* At the end of the pool: frees a copy that the slab does not free. */
void lanepool_i_key_bytes_end(lanepool_i_key_bytes *bytes);
/* Any thread: makes a key from the program's, which is not a handle. The key owns its bytes.
 * Returns false if memory cannot be allocated. */
bool lanepool_i_key_of_program(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_key source, lanepool_i_key *key);
/* Writes the key's name, without a final zero. Returns its length; 0 if the key has no name. */
size_t lanepool_i_key_name(lanepool_pool *pool, lanepool_i_thread_record *record,
                           const lanepool_i_key *key, char *text, size_t size);
/* Returns true if two keys of the program are the same key. A handle stands for its key; one of
 * another pool is none. */
bool lanepool_i_program_keys_are_equal(const lanepool_pool *pool, lanepool_key a, lanepool_key b);
/* Returns true if the key names the lane. A task with an entry in the lane may ask on its own
 * thread: the keys of the lane and of a handle do not change. */
bool lanepool_i_lane_is_named_by(const lanepool_pool *pool, const lanepool_i_lane *lane,
                                 lanepool_key name);
/* Returns a lane's key as the program sees it. The bytes stay the lane's. */
lanepool_key lanepool_i_key_for_program(const lanepool_i_key *key);

#endif
