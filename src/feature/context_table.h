/*
 * The table of context records, and the lists that they are in. context.h says which threads may
 * call what. Nothing here calls the program.
 */
#ifndef LANEPOOL_SRC_FEATURE_CONTEXT_TABLE_H
#define LANEPOOL_SRC_FEATURE_CONTEXT_TABLE_H

#include "feature/context.h"

/* Returns the key's record with the lock held; creates it if necessary. NULL, without the lock, if
 * memory cannot be allocated. */
lanepool_i_context *lanepool_i_contexts_lock_record(lanepool_pool *pool, const lanepool_i_key *key);

/* L: appends a record to a list. */
void lanepool_i_context_append_to_list(lanepool_i_context_list *list, lanepool_i_context *context);
/* L: removes a record from the list that it is in, if any. */
void lanepool_i_context_remove_from_list(lanepool_i_context *context);

/* Fires the timer of a context; on the keeper. */
void lanepool_i_context_fire(lanepool_i_timer *timer);
/* The keeper's other work; see timer_heap.h. */
extern const lanepool_i_clock_work lanepool_i_work_of_keeper;

/* In a pool without threads, after the last task has ended: closes all contexts. */
void lanepool_i_contexts_end_without_keeper(lanepool_pool *pool);

/* L: moves records that are too many or too old to an empty list. */
void lanepool_i_contexts_drop_remembered(lanepool_i_contexts *contexts, uint64_t now_ns,
                                         lanepool_i_list *dropped);
/* Frees these records; called without the lock. */
void lanepool_i_contexts_free_dropped(const lanepool_i_list *dropped);

#endif
