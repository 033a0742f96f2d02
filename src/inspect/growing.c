/* Owns arrays that grow, and a hash table with linear probing; see growing.h. */
#include "inspect/growing.h"

#include "inspect/memory.h"

#define CAPACITY_MIN ((size_t)16)

struct lanepool_i_table_slot {
    uint64_t number;
    size_t index; /* NO_INDEX: the slot is free */
    uint8_t type;
};

bool lanepool_i_inspect_grow(void *array, size_t *capacity, size_t count, size_t item_size)
{
    if (count <= *capacity)
        return true;
    size_t doubled = *capacity < CAPACITY_MIN ? CAPACITY_MIN : 2 * *capacity;
    size_t larger = count > doubled ? count : doubled;
    void *old;
    memcpy(&old, array, sizeof old);
    void *items = lanepool_i_inspect_alloc(larger * item_size);
    if (items == NULL)
        return false;
    if (*capacity > 0)
        memcpy(items, old, *capacity * item_size);
    lanepool_i_inspect_free(old);
    memcpy(array, &items, sizeof items);
    *capacity = larger;
    return true;
}

static size_t home_slot(const lanepool_i_table *table, uint8_t type, uint64_t number)
{
    uint64_t hash = (number ^ (uint64_t)type << 56) * UINT64_C(0x9E3779B97F4A7C15);
    return (size_t)(hash ^ hash >> 29) & (table->slot_count - 1);
}

/* Returns the slot of a pair, or the free slot for it. */
static struct lanepool_i_table_slot *find_slot(const lanepool_i_table *table, uint8_t type,
                                               uint64_t number)
{
    size_t at = home_slot(table, type, number);
    while (table->slots[at].index != LANEPOOL_I_NO_INDEX &&
           (table->slots[at].number != number || table->slots[at].type != type))
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

size_t lanepool_i_table_get(const lanepool_i_table *table, uint8_t type, uint64_t number)
{
    return table->slot_count == 0 ? LANEPOOL_I_NO_INDEX : find_slot(table, type, number)->index;
}

bool lanepool_i_table_reserve(lanepool_i_table *table, size_t more)
{
    if (2 * (table->count + more) <= table->slot_count)
        return true;
    lanepool_i_table larger = { .slot_count = table->slot_count < 64 ? 64 : 2 * table->slot_count,
                                .count = table->count };
    larger.slots = lanepool_i_inspect_alloc(larger.slot_count * sizeof *larger.slots);
    if (larger.slots == NULL)
        return false;
    for (size_t i = 0; i < larger.slot_count; i++)
        larger.slots[i].index = LANEPOOL_I_NO_INDEX;
    for (size_t i = 0; i < table->slot_count; i++)
        if (table->slots[i].index != LANEPOOL_I_NO_INDEX)
            *find_slot(&larger, table->slots[i].type, table->slots[i].number) = table->slots[i];
    lanepool_i_inspect_free(table->slots);
    *table = larger;
    return true;
}

void lanepool_i_table_set(lanepool_i_table *table, uint8_t type, uint64_t number, size_t index)
{
    struct lanepool_i_table_slot *slot = find_slot(table, type, number);
    table->count += slot->index == LANEPOOL_I_NO_INDEX;
    *slot = (struct lanepool_i_table_slot){ number, index, type };
}

/* Moves the pairs behind it up, but none in front of its home slot. */
void lanepool_i_table_remove(lanepool_i_table *table, uint8_t type, uint64_t number, size_t index)
{
    if (table->slot_count == 0 || find_slot(table, type, number)->index != index)
        return;
    struct lanepool_i_table_slot *slots = table->slots;
    size_t mask = table->slot_count - 1;
    size_t hole = (size_t)(find_slot(table, type, number) - slots);
    for (size_t at = (hole + 1) & mask; slots[at].index != LANEPOOL_I_NO_INDEX;
         at = (at + 1) & mask) {
        size_t home = home_slot(table, slots[at].type, slots[at].number);
        if (((at - home) & mask) < ((at - hole) & mask))
            continue;
        slots[hole] = slots[at];
        hole = at;
    }
    slots[hole].index = LANEPOOL_I_NO_INDEX;
    table->count--;
}

void lanepool_i_table_clear(lanepool_i_table *table)
{
    for (size_t i = 0; i < table->slot_count; i++)
        table->slots[i].index = LANEPOOL_I_NO_INDEX;
    table->count = 0;
}

void lanepool_i_table_fini(lanepool_i_table *table)
{
    lanepool_i_inspect_free(table->slots);
    *table = (lanepool_i_table){ 0 };
}

/* FNV-1a, by Fowler, Noll and Vo. */
uint64_t lanepool_i_number_of_bytes(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t hash = UINT64_C(0xCBF29CE484222325);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001B3);
    return hash;
}
