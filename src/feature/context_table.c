/* Owns the context records, and the creation and end of a pool's contexts; see context_table.h. */
#include "feature/context_table.h"

#include "base/versioned.h"
#include "route/offers.h"
#include "route/pool.h"

#include <string.h>

/* --- lists --- */

void lanepool_i_context_append_to_list(lanepool_i_context_list *list, lanepool_i_context *context)
{
    context->list = list;
    lanepool_i_list_add(&list->records, &context->link);
    list->count++;
}

void lanepool_i_context_remove_from_list(lanepool_i_context *context)
{
    if (context->list == NULL)
        return;
    lanepool_i_unlink(&context->link);
    context->list->count--;
    context->list = NULL;
}

/* --- finding and creating --- */

static lanepool_i_list *record_bucket(lanepool_i_contexts *contexts, uint32_t hash)
{
    return &contexts->buckets[hash & (contexts->bucket_count - 1)];
}

/* Records are linked by `chained`; the key's own `next` is not used. */
static lanepool_i_context *find_record(lanepool_i_contexts *contexts, const lanepool_i_key *key)
{
    LANEPOOL_I_EACH(lanepool_i_context, context, record_bucket(contexts, key->hash), chained)
        if (lanepool_i_key_equals(&context->key, key))
            return context;
    return NULL;
}

/* Copies the key's bytes: the lane that owns them may be freed before the record. */
static lanepool_i_context *create_record(lanepool_pool *pool, const lanepool_i_key *key)
{
    bool has_bytes = key->type == LANEPOOL_I_TYPE_BYTES;
    size_t size = has_bytes ? sizeof *key->value.bytes + key->value.bytes->size : 0;
    lanepool_i_context *context = lanepool_i_memory_alloc(sizeof *context + size);
    if (context == NULL)
        return NULL;
    memset(context, 0, sizeof *context);
    context->key.type = key->type;
    lanepool_i_key_set_hash(&context->key, key->hash);
    context->key.value = key->value;
    context->pool = pool;
    context->timer.fire = lanepool_i_context_fire;
    lanepool_i_list_init(&context->waiters);
    if (has_bytes)
        context->key.value.bytes = memcpy(context + 1, key->value.bytes, size);
    return context;
}

/* Allocates without the lock, then searches again: a task that shares the lane may have added the
 * record in between. */
lanepool_i_context *lanepool_i_contexts_lock_record(lanepool_pool *pool, const lanepool_i_key *key)
{
    lanepool_i_contexts *contexts = pool->contexts;
    lanepool_i_context *made = NULL;
    for (;;) {
        lanepool_i_mutex_lock(&contexts->lock);
        lanepool_i_context *found = find_record(contexts, key);
        if (found == NULL && made != NULL)
            lanepool_i_list_add(record_bucket(contexts, key->hash), &made->chained);
        if ((found == NULL) != (made == NULL))
            return found != NULL ? found : made;
        lanepool_i_mutex_unlock(&contexts->lock);
        lanepool_i_memory_free(made);
        made = found == NULL ? create_record(pool, key) : NULL;
        if (found == NULL && made == NULL)
            return NULL;
    }
}

/* --- dropping --- */

/* The pace of a key means nothing after a longer time than a context stays idle. */
static bool is_too_old(const lanepool_i_contexts *contexts, const lanepool_i_context *context,
                       uint64_t now_ns)
{
    return now_ns > context->idle_since_ns &&
           now_ns - context->idle_since_ns > contexts->options.linger_max_ns;
}

void lanepool_i_contexts_drop_remembered(lanepool_i_contexts *contexts, uint64_t now_ns,
                                         lanepool_i_list *dropped)
{
    lanepool_i_list_init(dropped);
    LANEPOOL_I_EACH(lanepool_i_context, context, &contexts->remembered.records, link) {
        bool needed = contexts->remembered.count <= contexts->options.lingering_max &&
                      !is_too_old(contexts, context, now_ns);
        if (needed || context->fires || context->pins > 0)
            break;
        lanepool_i_context_remove_from_list(context);
        lanepool_i_unlink(&context->chained);
        lanepool_i_list_add(dropped, &context->link);
    }
}

void lanepool_i_contexts_free_dropped(const lanepool_i_list *dropped)
{
    LANEPOOL_I_EACH(lanepool_i_context, context, dropped, link)
        lanepool_i_memory_free(context);
}

/* --- for statistics --- */

size_t lanepool_i_contexts_count(lanepool_pool *pool)
{
    lanepool_i_contexts *contexts = pool->contexts;
    if (contexts->buckets == NULL)
        return 0;
    lanepool_i_mutex_lock(&contexts->lock);
    size_t count = contexts->open_count;
    lanepool_i_mutex_unlock(&contexts->lock);
    return count;
}

/* --- creation and end --- */

static void fill_context_defaults(lanepool_context_options *options)
{
    bool has_min = options->linger_min_ns != 0;
    bool has_max = options->linger_max_ns != 0;
    if (!has_min)
        options->linger_min_ns = LANEPOOL_LINGER_MIN_DEFAULT;
    if (!has_max)
        options->linger_max_ns = LANEPOOL_LINGER_MAX_DEFAULT;
    if (!has_min && options->linger_min_ns > options->linger_max_ns)
        options->linger_min_ns = options->linger_max_ns;
    if (!has_max && options->linger_max_ns < options->linger_min_ns)
        options->linger_max_ns = options->linger_min_ns;
    if (options->lingering_max == 0)
        options->lingering_max = LANEPOOL_LINGERING_DEFAULT;
    if (options->contexts_max == 0)
        options->contexts_max = SIZE_MAX;
}

LANEPOOL_I_ASSERT_NO_TAIL(lanepool_context_options, contexts_max);

bool lanepool_i_contexts_read_options(const lanepool_context_options *given,
                                      lanepool_context_options *options)
{
    memset(options, 0, sizeof *options);
    if (given == NULL)
        return true;
    if (!LANEPOOL_I_STRUCT_READ(options, given, lanepool_context_options, contexts_max) ||
        options->open == NULL || options->lingering_max > LANEPOOL_LINGERING_MAX)
        return false;
    fill_context_defaults(options);
    return options->linger_min_ns <= options->linger_max_ns;
}

/* As many buckets as contexts may be idle, so that the table never grows. */
static bool make_buckets(lanepool_i_contexts *contexts)
{
    size_t count = 1;
    while (count < contexts->options.lingering_max)
        count *= 2;
    contexts->buckets = lanepool_i_memory_alloc(count * sizeof *contexts->buckets);
    contexts->bucket_count = count;
    for (size_t i = 0; i < count && contexts->buckets != NULL; i++)
        lanepool_i_list_init(&contexts->buckets[i]);
    return contexts->buckets != NULL;
}

bool lanepool_i_contexts_init(lanepool_pool *pool)
{
    lanepool_i_contexts *contexts = pool->contexts;
    if (contexts->options.open == NULL)
        return true;
    lanepool_i_list_init(&contexts->idle.records);
    lanepool_i_list_init(&contexts->remembered.records);
    lanepool_i_list_init(&contexts->due.records);
    contexts->keeper = lanepool_i_thread_record_create_for_worker(pool, &pool->records, NULL);
    if (contexts->keeper == NULL || !make_buckets(contexts))
        goto retire_keeper;
    if (!lanepool_i_mutex_init(&contexts->lock, LANEPOOL_I_LOCK_CONTEXTS))
        goto free_buckets;
    if (lanepool_i_timers_init(&contexts->timers, pool->driver, &lanepool_i_work_of_keeper, pool))
        return true;
    lanepool_i_mutex_fini(&contexts->lock);
free_buckets:
    lanepool_i_memory_free(contexts->buckets);
retire_keeper:
    if (contexts->keeper != NULL)
        lanepool_i_thread_record_retire(contexts->keeper);
    return false;
}

bool lanepool_i_contexts_start(lanepool_pool *pool)
{
    return pool->contexts->buckets == NULL || lanepool_i_timers_start(&pool->contexts->timers);
}

void lanepool_i_contexts_end(lanepool_pool *pool)
{
    if (pool->contexts->buckets == NULL)
        return;
    lanepool_i_timers_end(&pool->contexts->timers);
    lanepool_i_timers_join(&pool->contexts->timers);
    if (pool->driver != NULL)
        lanepool_i_contexts_end_without_keeper(pool);
}

void lanepool_i_contexts_fini(lanepool_pool *pool)
{
    lanepool_i_contexts *contexts = pool->contexts;
    if (contexts->buckets == NULL)
        return;
    lanepool_i_timers_fini(&contexts->timers);
    for (size_t i = 0; i < contexts->bucket_count; i++)
        LANEPOOL_I_EACH(lanepool_i_context, context, &contexts->buckets[i], chained)
            lanepool_i_memory_free(context);
    lanepool_i_mutex_fini(&contexts->lock);
    lanepool_i_memory_free(contexts->buckets);
    lanepool_i_thread_record_retire(contexts->keeper);
}
