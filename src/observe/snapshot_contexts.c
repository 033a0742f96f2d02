/* Owns what a snapshot says of contexts. */
#include "observe/snapshot_contexts.h"

#include "feature/context.h"
#include "route/pool.h"

#define NAME_SIZE 72 /* with the final zero, as a lane's */

/* One look. */
struct look {
    lanepool_pool *pool;
    const lanepool_snapshot *snapshot; /* its tasks: who runs and waits for a context */
    lanepool_snapshot_task *tasks;     /* the same, to be completed */
    lanepool_i_context **pinned;       /* whose keys stay until they are unpinned; `most` */
    size_t most;
    lanepool_i_snapshot_contexts *contexts;
};

void lanepool_i_snapshot_contexts_free(lanepool_i_snapshot_contexts *contexts)
{
    lanepool_i_memory_free(contexts->each);
    lanepool_i_memory_free(contexts->names);
    *contexts = (lanepool_i_snapshot_contexts){ NULL, 0, NULL };
}

/* --- describing --- */

/* A task has begun since the snapshot was taken: it is left as it was. */
static size_t note_task(const struct look *look, uint64_t ticket, size_t context)
{
    size_t task = ticket != LANEPOOL_I_CONTEXT_KEEPER
                      ? lanepool_snapshot_find(look->snapshot, ticket)
                      : LANEPOOL_SNAPSHOT_NONE;
    if (task == LANEPOOL_SNAPSHOT_NONE || look->tasks[task].state != LANEPOOL_SNAPSHOT_RUNNING)
        return LANEPOOL_SNAPSHOT_NONE;
    look->tasks[task].busy_context = context;
    return task;
}

static lanepool_snapshot_context describe_key(const lanepool_i_key *key)
{
    bool has_bytes = key->type == LANEPOOL_I_TYPE_BYTES;
    return (lanepool_snapshot_context){
        .number = has_bytes ? 0 : key->value.id,
        .type = (uint32_t)key->type + LANEPOOL_EVENT_LANE_ID,
        .task = LANEPOOL_SNAPSHOT_NONE,
    };
}

/* The value is the caller's meanwhile. */
static void describe_busy_locked(const struct look *look, const lanepool_i_context *context,
                                 size_t index)
{
    lanepool_snapshot_context *described = &look->contexts->each[index];
    described->busy = true;
    described->closing = context->caller == LANEPOOL_I_CONTEXT_KEEPER;
    described->task = note_task(look, context->caller, index);
    for (const lanepool_i_context_waiter *waiter = context->waiters; waiter != NULL;
         waiter = waiter->next) {
        (void)note_task(look, waiter->ticket, index);
        described->waiting++;
    }
}

static void describe_open_locked(const struct look *look, const lanepool_i_context *context,
                                 size_t index)
{
    lanepool_snapshot_context *described = &look->contexts->each[index];
    described->context = context->value;
    described->users = context->uses;
    described->idle_since_ns = context->uses == 0 ? context->idle_since_ns : 0;
    described->due_ns = context->uses == 0 ? context->due_ns : 0;
}

/* --- looking at each --- */

/* Calls `found` for each that is open, or BUSY. */
static void each_locked(lanepool_i_contexts *contexts,
                        void (*found)(struct look *look, lanepool_i_context *context),
                        struct look *look)
{
    for (size_t i = 0; i < contexts->bucket_count; i++)
        for (lanepool_i_context *context = contexts->buckets[i]; context != NULL;
             context = context->chained)
            if (context->state != LANEPOOL_I_CONTEXT_ABSENT)
                found(look, context);
}

static void count_one(struct look *look, lanepool_i_context *context)
{
    (void)context;
    look->most++;
}

static void count_most(struct look *look)
{
    lanepool_i_contexts *contexts = look->pool->contexts;
    lanepool_i_mutex_lock(&contexts->lock);
    each_locked(contexts, count_one, look);
    lanepool_i_mutex_unlock(&contexts->lock);
}

/* More than were counted have come meanwhile: the rest is left out. */
static void pin_one(struct look *look, lanepool_i_context *context)
{
    size_t index = look->contexts->count;
    if (index == look->most)
        return;
    context->pins++;
    look->pinned[index] = context;
    look->contexts->each[index] = describe_key(&context->key);
    if (context->state == LANEPOOL_I_CONTEXT_BUSY)
        describe_busy_locked(look, context, index);
    else
        describe_open_locked(look, context, index);
    look->contexts->count++;
}

static void pin(struct look *look)
{
    lanepool_i_contexts *contexts = look->pool->contexts;
    lanepool_i_mutex_lock(&contexts->lock);
    each_locked(contexts, pin_one, look);
    lanepool_i_mutex_unlock(&contexts->lock);
}

static void unpin(struct look *look)
{
    lanepool_i_mutex_lock(&look->pool->contexts->lock);
    for (size_t i = 0; i < look->contexts->count; i++)
        look->pinned[i]->pins--;
    lanepool_i_mutex_unlock(&look->pool->contexts->lock);
}

/* The program says how keys are called, so that is asked without the lock. */
static void name_each(const struct look *look)
{
    lanepool_i_thread_record *record = lanepool_i_pool_local(look->pool);
    for (size_t i = 0; i < look->contexts->count; i++) {
        char *name = look->contexts->names + i * NAME_SIZE;
        const lanepool_i_key *key = &look->pinned[i]->key;
        name[lanepool_i_key_name(look->pool, record, key, name, NAME_SIZE - 1)] = '\0';
        look->contexts->each[i].name = name;
    }
}

static bool make_room(struct look *look)
{
    look->pinned = lanepool_i_memory_alloc(look->most * sizeof(lanepool_i_context *));
    look->contexts->each = lanepool_i_memory_alloc(look->most * sizeof *look->contexts->each);
    look->contexts->names = lanepool_i_memory_alloc(look->most * NAME_SIZE);
    return look->pinned != NULL && look->contexts->each != NULL && look->contexts->names != NULL;
}

bool lanepool_i_snapshot_contexts_take(lanepool_pool *pool, const lanepool_snapshot *snapshot,
                                       lanepool_snapshot_task *tasks,
                                       lanepool_i_snapshot_contexts *contexts)
{
    struct look look = { pool, snapshot, tasks, NULL, 0, contexts };
    if (pool->contexts->buckets == NULL)
        return true;
    count_most(&look);
    if (look.most == 0)
        return true;
    bool has_room = make_room(&look);
    if (has_room) {
        pin(&look);
        name_each(&look);
        unpin(&look);
    } else {
        lanepool_i_snapshot_contexts_free(contexts);
    }
    lanepool_i_memory_free(look.pinned);
    return has_room;
}
