/* The contexts of keys in a snapshot. */
#ifndef LANEPOOL_SRC_OBSERVE_SNAPSHOT_CONTEXTS_H
#define LANEPOOL_SRC_OBSERVE_SNAPSHOT_CONTEXTS_H

#include "lanepool/inspect.h"

typedef struct lanepool_i_snapshot_contexts {
    lanepool_snapshot_context *each;
    size_t count;
    char *names;
} lanepool_i_snapshot_contexts;

/* Describes the pool's contexts, and notes in `tasks` which of them wait for one. The calling
 * thread has a record of the pool and holds no lock. Returns false if memory cannot be allocated;
 * then nothing stays allocated. */
bool lanepool_i_snapshot_contexts_take(lanepool_pool *pool, const lanepool_snapshot *snapshot,
                                       lanepool_snapshot_task *tasks,
                                       lanepool_i_snapshot_contexts *contexts);
void lanepool_i_snapshot_contexts_free(lanepool_i_snapshot_contexts *contexts);

#endif
