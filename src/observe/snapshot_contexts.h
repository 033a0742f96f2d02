/* The contexts of keys in a snapshot. */
#ifndef LANEPOOL_SRC_OBSERVE_SNAPSHOT_CONTEXTS_H
#define LANEPOOL_SRC_OBSERVE_SNAPSHOT_CONTEXTS_H

#include "lanepool/snapshot.h"

typedef struct lanepool_i_snapshot_contexts {
    lanepool_snapshot_context *each;
    size_t count;
    char *names;
} lanepool_i_snapshot_contexts;

/* On the caller's thread, which holds nothing and has a record of the pool. Also notes in the
 * snapshot's tasks which of them wait for a context. False: memory is lacking, nothing is left
 * behind. */
bool lanepool_i_snapshot_contexts_take(lanepool_pool *pool, const lanepool_snapshot *snapshot,
                                       lanepool_snapshot_task *tasks,
                                       lanepool_i_snapshot_contexts *contexts);
void lanepool_i_snapshot_contexts_free(lanepool_i_snapshot_contexts *contexts);

#endif
