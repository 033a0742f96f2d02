/* Owns what a snapshot says of contexts. */
#include "snapshot_contexts.h"

#include "context.h"
#include "pool.h"

#define NAME_SIZE 72 /* with the final zero, as a lane's */

void lanepool_i_snapshot_contexts_free(lanepool_i_snapshot_contexts *contexts)
{
    lanepool_i_memory_free(contexts->each);
    lanepool_i_memory_free(contexts->names);
    *contexts = (lanepool_i_snapshot_contexts){ NULL, 0, NULL };
}

/* The program says how keys are called, so that is asked without the lock. */
static void name_each(lanepool_pool *pool, lanepool_i_context *const *pinned,
                      lanepool_i_snapshot_contexts *contexts)
{
    lanepool_i_local *local = lanepool_i_pool_local(pool);
    for (size_t i = 0; i < contexts->count; i++) {
        char *name = contexts->names + i * NAME_SIZE;
        name[lanepool_i_key_name(pool, local, &pinned[i]->key, name, NAME_SIZE - 1)] = '\0';
        contexts->each[i].name = name;
    }
}

bool lanepool_i_snapshot_contexts_take(lanepool_pool *pool, lanepool_i_snapshot_contexts *contexts)
{
    size_t most = lanepool_i_contexts_count(pool);
    if (most == 0)
        return true;
    lanepool_i_context **pinned = lanepool_i_memory_alloc(most * sizeof(lanepool_i_context *));
    contexts->each = lanepool_i_memory_alloc(most * sizeof *contexts->each);
    contexts->names = lanepool_i_memory_alloc(most * NAME_SIZE);
    bool has_memory = pinned != NULL && contexts->each != NULL && contexts->names != NULL;
    if (has_memory) {
        contexts->count = lanepool_i_contexts_pin(pool, contexts->each, pinned, most);
        name_each(pool, pinned, contexts);
        lanepool_i_contexts_unpin(pool, pinned, contexts->count);
    } else {
        lanepool_i_snapshot_contexts_free(contexts);
    }
    lanepool_i_memory_free(pinned);
    return has_memory;
}
