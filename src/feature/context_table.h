/*
 * The records of contexts: finding, making and dropping them, and the lists
 * that they stand in. Who may call what is said in context.h; nothing here calls
 * the program.
 */
#ifndef LANEPOOL_SRC_FEATURE_CONTEXT_TABLE_H
#define LANEPOOL_SRC_FEATURE_CONTEXT_TABLE_H

#include "feature/context.h"

/* The key's record with the lock held, made if there is none; NULL without it: memory is lacking.
 */
lanepool_i_context *lanepool_i_contexts_lock_record(lanepool_pool *pool, const lanepool_i_key *key);

/* L: at the end of a list. */
void lanepool_i_context_enter(lanepool_i_context_list *list, lanepool_i_context *context);
/* L: out of the list that it is in, if any. */
void lanepool_i_context_leave_list(lanepool_i_context *context);

/* The keeper has come to a context's timer. */
void lanepool_i_context_fire(lanepool_i_timer *timer);
/* What else the keeper does; see timer_heap.h. */
extern const lanepool_i_clock_work lanepool_i_work_of_keeper;

/* L: takes out what is remembered in vain, and chains it through `later`. */
lanepool_i_context *lanepool_i_contexts_drop(lanepool_i_contexts *contexts, uint64_t now_ns);
/* Without the lock: frees such a chain. */
void lanepool_i_contexts_free(lanepool_i_context *chain);

#endif
