/* Owns a snapshot's description of contexts. */
#include "observe/snapshot_contexts.h"

#include "feature/context.h"
#include "route/pool.h"
#include "route/program_key.h"

#define NAME_SIZE 72 /* with the final zero, like a lane's name */

struct contexts_call {
    lanepool_pool *pool;
    const lanepool_snapshot *snapshot; /* finds tasks by ticket */
    lanepool_snapshot_task *tasks;     /* its tasks, writable */
    lanepool_i_context **pinned;       /* `capacity`; their keys stay */
    size_t capacity;
    lanepool_i_snapshot_contexts *contexts;
};

void lanepool_i_snapshot_contexts_free(lanepool_i_snapshot_contexts *contexts)
{
    lanepool_i_memory_free(contexts->each);
    lanepool_i_memory_free(contexts->names);
    *contexts = (lanepool_i_snapshot_contexts){ NULL, 0, NULL };
}

/* --- description --- */

/* Returns the task's index; NONE for the keeper, and for a task that started after the snapshot. */
static size_t note_busy_context(const struct contexts_call *call, uint64_t ticket, size_t context)
{
    size_t task = ticket != LANEPOOL_I_CONTEXT_KEEPER
                      ? lanepool_snapshot_find(call->snapshot, ticket)
                      : LANEPOOL_SNAPSHOT_NONE;
    if (task == LANEPOOL_SNAPSHOT_NONE || call->tasks[task].state != LANEPOOL_SNAPSHOT_RUNNING)
        return LANEPOOL_SNAPSHOT_NONE;
    call->tasks[task].busy_context = context;
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

/* The value of a busy context is not read: it belongs to the caller. */
static void describe_busy_locked(const struct contexts_call *call,
                                 const lanepool_i_context *context, size_t index)
{
    lanepool_snapshot_context *described = &call->contexts->each[index];
    described->busy = true;
    described->closing = context->caller == LANEPOOL_I_CONTEXT_KEEPER;
    described->task = note_busy_context(call, context->caller, index);
    LANEPOOL_I_EACH(const lanepool_i_context_waiter, waiter, &context->waiters, waiter.link) {
        (void)note_busy_context(call, waiter->ticket, index);
        described->waiting++;
    }
}

static void describe_open_locked(const struct contexts_call *call,
                                 const lanepool_i_context *context, size_t index)
{
    lanepool_snapshot_context *described = &call->contexts->each[index];
    described->context = context->value;
    described->users = context->uses;
    described->idle_since_ns = context->uses == 0 ? context->idle_since_ns : 0;
    described->due_ns = context->uses == 0 ? context->due_ns : 0;
}

/* --- all contexts --- */

/* Calls `found` for each context that is OPEN or BUSY. */
static void each_context_locked(lanepool_i_contexts *contexts,
                                void (*found)(struct contexts_call *call,
                                              lanepool_i_context *context),
                                struct contexts_call *call)
{
    for (size_t i = 0; i < contexts->bucket_count; i++)
        LANEPOOL_I_EACH(lanepool_i_context, context, &contexts->buckets[i], chained)
            if (context->state != LANEPOOL_I_CONTEXT_ABSENT)
                found(call, context);
}

static void count_context(struct contexts_call *call, lanepool_i_context *context)
{
    (void)context;
    call->capacity++;
}

static void count_contexts(struct contexts_call *call)
{
    lanepool_i_contexts *contexts = call->pool->contexts;
    lanepool_i_mutex_lock(&contexts->lock);
    each_context_locked(contexts, count_context, call);
    lanepool_i_mutex_unlock(&contexts->lock);
}

/* Leaves out contexts opened since the count, if they do not fit. */
static void pin_context(struct contexts_call *call, lanepool_i_context *context)
{
    size_t index = call->contexts->count;
    if (index == call->capacity)
        return;
    context->pins++;
    call->pinned[index] = context;
    call->contexts->each[index] = describe_key(&context->key);
    if (context->state == LANEPOOL_I_CONTEXT_BUSY)
        describe_busy_locked(call, context, index);
    else
        describe_open_locked(call, context, index);
    call->contexts->count++;
}

static void pin_contexts(struct contexts_call *call)
{
    lanepool_i_contexts *contexts = call->pool->contexts;
    lanepool_i_mutex_lock(&contexts->lock);
    each_context_locked(contexts, pin_context, call);
    lanepool_i_mutex_unlock(&contexts->lock);
}

static void unpin_contexts(struct contexts_call *call)
{
    lanepool_i_mutex_lock(&call->pool->contexts->lock);
    for (size_t i = 0; i < call->contexts->count; i++)
        call->pinned[i]->pins--;
    lanepool_i_mutex_unlock(&call->pool->contexts->lock);
}

/* Called without the lock, because the program is called to name keys. */
static void name_contexts(const struct contexts_call *call)
{
    lanepool_i_thread_record *record = lanepool_i_pool_thread_record(call->pool);
    for (size_t i = 0; i < call->contexts->count; i++) {
        char *name = call->contexts->names + i * NAME_SIZE;
        const lanepool_i_key *key = &call->pinned[i]->key;
        name[lanepool_i_key_name(call->pool, record, key, name, NAME_SIZE - 1)] = '\0';
        call->contexts->each[i].name = name;
    }
}

static bool allocate_contexts(struct contexts_call *call)
{
    call->pinned = lanepool_i_memory_alloc(call->capacity * sizeof(lanepool_i_context *));
    call->contexts->each = lanepool_i_memory_alloc(call->capacity * sizeof *call->contexts->each);
    call->contexts->names = lanepool_i_memory_alloc(call->capacity * NAME_SIZE);
    return call->pinned != NULL && call->contexts->each != NULL && call->contexts->names != NULL;
}

bool lanepool_i_snapshot_contexts_take(lanepool_pool *pool, const lanepool_snapshot *snapshot,
                                       lanepool_snapshot_task *tasks,
                                       lanepool_i_snapshot_contexts *contexts)
{
    struct contexts_call call = { pool, snapshot, tasks, NULL, 0, contexts };
    if (pool->contexts->buckets == NULL)
        return true;
    count_contexts(&call);
    if (call.capacity == 0)
        return true;
    bool has_room = allocate_contexts(&call);
    if (has_room) {
        pin_contexts(&call);
        name_contexts(&call);
        unpin_contexts(&call);
    } else {
        lanepool_i_snapshot_contexts_free(contexts);
    }
    lanepool_i_memory_free(call.pinned);
    return has_room;
}
