/* Owns what the pool keeps of the program's keys; see program_key.h. */
#include "route/program_key.h"

#include "route/lane_handle.h"
#include "route/pool.h"

#include <string.h>

/* --- byte strings --- */

lanepool_i_key_bytes *lanepool_i_key_bytes_copy(lanepool_pool *pool,
                                                lanepool_i_thread_record *record, const void *data,
                                                size_t size)
{
    size_t whole = sizeof(lanepool_i_key_bytes) + size;
    size_t class = lanepool_i_slab_class_of(whole);
    lanepool_i_key_bytes *bytes = lanepool_i_slab_take(&pool->slab, &record->cache, class, whole);
    if (bytes == NULL)
        return NULL;
    bytes->size = (uint32_t)size;
    if (size > 0)
        memcpy(bytes->data, data, size);
    bytes->hash = lanepool_i_key_index_hash_bytes(pool->lane_table.index.seed, bytes->data, size);
    return bytes;
}

void lanepool_i_key_bytes_give(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_i_key_bytes *bytes)
{
    size_t class = lanepool_i_slab_class_of(sizeof *bytes + bytes->size);
    lanepool_i_slab_give(&pool->slab, &record->cache, class, bytes);
}

void lanepool_i_key_bytes_end(lanepool_i_key_bytes *bytes)
{
    if (lanepool_i_slab_class_of(sizeof *bytes + bytes->size) == LANEPOOL_I_SLAB_SYSTEM)
        lanepool_i_memory_free(bytes);
}

bool lanepool_i_key_of_program(lanepool_pool *pool, lanepool_i_thread_record *record,
                               lanepool_key source, lanepool_i_key *key)
{
    if (source.type == LANEPOOL_KEY_BYTES) {
        memset(key, 0, sizeof *key);
        key->type = LANEPOOL_I_TYPE_BYTES;
        key->value.bytes = lanepool_i_key_bytes_copy(pool, record, source.bytes, source.size);
        if (key->value.bytes == NULL)
            return false;
        lanepool_i_key_set_hash(key, key->value.bytes->hash);
        return true;
    }
    bool is_id = source.type == LANEPOOL_KEY_ID;
    uint64_t value = is_id ? source.id : (uintptr_t)source.pointer;
    *key = lanepool_i_key_of_word(pool->lane_table.index.seed, value,
                                  is_id ? LANEPOOL_I_TYPE_ID : LANEPOOL_I_TYPE_POINTER);
    return true;
}

lanepool_key lanepool_i_key_for_program(const lanepool_i_key *key)
{
    switch (key->type) {
    case LANEPOOL_I_TYPE_BYTES:
        return lanepool_key_bytes(key->value.bytes->data, key->value.bytes->size);
    case LANEPOOL_I_TYPE_POINTER:
        return lanepool_key_pointer(key->value.pointer);
    default:
        return lanepool_key_id(key->value.id);
    }
}

/* Returns the key that a handle stands for; any other key unchanged. */
static lanepool_key behind_handle(const lanepool_pool *pool, lanepool_key key)
{
    if (key.type != LANEPOOL_KEY_LANE)
        return key;
    if (key.lane == NULL || key.lane->pool != pool)
        return lanepool_key_none();
    return lanepool_i_key_for_program(&key.lane->key);
}

bool lanepool_i_program_keys_are_equal(const lanepool_pool *pool, lanepool_key a, lanepool_key b)
{
    a = behind_handle(pool, a);
    b = behind_handle(pool, b);
    if (a.type != b.type)
        return false;
    switch (a.type) {
    case LANEPOOL_KEY_ID:
        return a.id == b.id;
    case LANEPOOL_KEY_POINTER:
        return a.pointer == b.pointer;
    case LANEPOOL_KEY_BYTES:
        return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
    default:
        return false;
    }
}

bool lanepool_i_lane_is_named_by(const lanepool_pool *pool, const lanepool_i_lane *lane,
                                 lanepool_key name)
{
    return lanepool_i_program_keys_are_equal(pool, lanepool_i_key_for_program(&lane->key), name);
}

/* --- names --- */

size_t lanepool_i_key_name(lanepool_pool *pool, lanepool_i_thread_record *record,
                           const lanepool_i_key *key, char *text, size_t size)
{
    lanepool_key named = lanepool_i_key_for_program(key);
    if (pool->options.key_name != NULL) {
        record->callbacks++;
        size_t used = pool->options.key_name(pool->options.user, named, text, size);
        record->callbacks--;
        return used < size ? used : size;
    }
    if (named.type != LANEPOOL_KEY_BYTES)
        return 0;
    size_t used = named.size < size ? named.size : size;
    memcpy(text, named.bytes, used);
    return used;
}
