/* Owns lists of keys; see key_list.h. */
#include "inspect/key_list.h"

#include "inspect/memory.h"

#define NONE LANEPOOL_I_NO_INDEX

bool lanepool_i_key_is_plain(const lanepool_key *key)
{
    if (key->type == LANEPOOL_KEY_BYTES)
        return key->size <= LANEPOOL_KEY_BYTES_MAX && (key->bytes != NULL || key->size == 0);
    return key->type == LANEPOOL_KEY_ID || key->type == LANEPOOL_KEY_POINTER;
}

static size_t size_of_key(const lanepool_key *key)
{
    return key->type == LANEPOOL_KEY_BYTES ? key->size : 0;
}

/* Returns what the table knows a key by. */
static uint64_t number_of_key(const lanepool_key *key)
{
    if (key->type == LANEPOOL_KEY_ID)
        return key->id;
    if (key->type == LANEPOOL_KEY_POINTER)
        return (uintptr_t)key->pointer;
    return lanepool_i_number_of_bytes(key->bytes, key->size);
}

static bool has_same_bytes(const lanepool_i_listed_key *listed, const lanepool_key *key)
{
    size_t size = size_of_key(key);
    return listed->size == size && (size == 0 || memcmp(listed->bytes, key->bytes, size) == 0);
}

/* Adds a key in front of `next`. Returns NONE if memory cannot be allocated. */
static size_t add_key(lanepool_i_key_list *list, const lanepool_key *key, uint64_t number,
                      size_t next)
{
    if (!lanepool_i_inspect_grow(&list->keys, &list->capacity, list->count + 1,
                                 sizeof *list->keys) ||
        !lanepool_i_table_reserve(&list->table, 1))
        return NONE;
    lanepool_i_listed_key listed = { .size = size_of_key(key), .next = next };
    if (listed.size > 0) {
        listed.bytes = lanepool_i_inspect_alloc(listed.size);
        if (listed.bytes == NULL)
            return NONE;
        memcpy(listed.bytes, key->bytes, listed.size);
    }
    list->keys[list->count] = listed;
    lanepool_i_table_set(&list->table, (uint8_t)key->type, number, list->count);
    return list->count++;
}

size_t lanepool_i_key_list_require(lanepool_i_key_list *list, const lanepool_key *key)
{
    uint64_t number = number_of_key(key);
    size_t first = lanepool_i_table_get(&list->table, (uint8_t)key->type, number);
    size_t index = first;
    while (index != NONE && !has_same_bytes(&list->keys[index], key))
        index = list->keys[index].next;
    return index != NONE ? index : add_key(list, key, number, first);
}

void lanepool_i_key_list_fini(lanepool_i_key_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        lanepool_i_inspect_free(list->keys[i].bytes);
    lanepool_i_inspect_free(list->keys);
    lanepool_i_table_fini(&list->table);
}
