/*
 * Owns the tables of interned names: an open-addressing hash table over an array of slices. The
 * bytes of the names are in blocks that never move.
 */
#include "base/names.h"

#include <stdlib.h>

#include "memory.h"

#define NAME_BLOCK_SIZE ((size_t)1 << 16)

struct name_block {
    struct name_block *next;
    size_t used, size;
    char bytes[];
};

/* Hashes eight bytes at a time: names are long, and each posting needs a hash. */
static uint64_t hash_name(struct slice text)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t hash = text.size * factor;
    size_t left = text.size;
    const char *at = text.data;
    while (left >= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
        at += 8;
        left -= 8;
    }
    uint64_t tail = 0;
    for (size_t i = 0; i < left; i++) {
        tail = tail << 8 | (unsigned char)at[i];
    }
    hash = (hash ^ tail) * factor;
    return hash ^ hash >> 29;
}

static size_t find_name_slot(const struct names *names, struct slice text, uint64_t hash)
{
    size_t mask = names->slot_count - 1;
    size_t slot = (size_t)hash & mask;
    for (;;) {
        uint32_t number = names->slots[slot];
        if (number == NAME_NONE ||
            (names->hashes[number] == hash && slice_equal(names->items[number], text))) {
            return slot;
        }
        slot = (slot + 1) & mask;
    }
}

static void grow_name_slots(struct names *names)
{
    size_t slot_count = names->slot_count ? names->slot_count * 2 : 64;
    free(names->slots);
    names->slots = memory_zeroed(slot_count, sizeof *names->slots);
    memset(names->slots, 0xff, slot_count * sizeof *names->slots);
    names->slot_count = slot_count;
    for (size_t i = 0; i < names->count; i++) {
        names->slots[find_name_slot(names, names->items[i], names->hashes[i])] = (uint32_t)i;
    }
}

static struct slice copy_bytes(struct names *names, struct slice text)
{
    struct name_block *block = names->blocks;
    size_t needed = text.size + 1; /* zeroed memory ends the name */
    if (!block || block->size - block->used < needed) {
        size_t size = needed > NAME_BLOCK_SIZE ? needed : NAME_BLOCK_SIZE;
        block = memory_zeroed(1, sizeof *block + size);
        block->size = size;
        block->next = names->blocks;
        names->blocks = block;
    }
    char *copy = block->bytes + block->used;
    if (text.size) {
        memcpy(copy, text.data, text.size);
    }
    block->used += needed;
    return (struct slice){ copy, text.size };
}

uint32_t names_find(const struct names *names, struct slice text)
{
    return names->slot_count ? names->slots[find_name_slot(names, text, hash_name(text))]
                             : NAME_NONE;
}

uint32_t names_intern(struct names *names, struct slice text)
{
    if (names->count * 2 >= names->slot_count) {
        grow_name_slots(names);
    }
    uint64_t hash = hash_name(text);
    size_t slot = find_name_slot(names, text, hash);
    if (names->slots[slot] != NAME_NONE) {
        return names->slots[slot];
    }
    size_t number = names->count;
    names->items = memory_grow(names->items, &names->capacity, number + 1, sizeof *names->items);
    names->hashes =
        memory_grow(names->hashes, &names->hash_capacity, number + 1, sizeof *names->hashes);
    names->items[number] = copy_bytes(names, text);
    names->hashes[number] = hash;
    names->slots[slot] = (uint32_t)number;
    names->count++;
    return (uint32_t)number;
}

void names_fini(struct names *names)
{
    while (names->blocks) {
        struct name_block *next = names->blocks->next;
        free(names->blocks);
        names->blocks = next;
    }
    free(names->items);
    free(names->hashes);
    free(names->slots);
    *names = (struct names){ 0 };
}
