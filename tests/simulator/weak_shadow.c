/*
 * Owns the shadow of the memory: for each eight bytes their last accesses, and which atomic object
 * and which lock is there. Entries of earlier runs are free.
 */
#include "simulator/weak.h"

#include <string.h>

enum { GRANULE = 8, CELLS = 4, ENTRIES_BITS = 18, ENTRIES = 1 << ENTRIES_BITS };

/* One access. */
struct cell {
    const void *place;
    uint32_t clock; /* of the fiber; 0: no access */
    uint8_t fiber;
    uint8_t bytes; /* a set */
    uint8_t kind;
};

struct entry {
    uintptr_t granule;
    uint32_t run;
    uint32_t knowledge;
    uint32_t objects[GRANULE]; /* by the byte at which they begin; 0: none */
    uint32_t oldest_cell;
    struct cell cells[CELLS];
};

static struct {
    uint32_t run;
    uint32_t used;
    struct entry entries[ENTRIES];
} shadow;

void sim_shadow_begin_run(void)
{
    shadow.run++;
    shadow.used = 0;
}

static struct entry *entry_of(uintptr_t granule)
{
    size_t at = (granule * 0x9e3779b97f4a7c15u) >> (64 - ENTRIES_BITS);

    while (shadow.entries[at].run == shadow.run && shadow.entries[at].granule != granule)
        at = (at + 1) % ENTRIES;
    return &shadow.entries[at];
}

static struct entry *get_entry(uintptr_t granule)
{
    struct entry *entry = entry_of(granule);

    if (entry->run == shadow.run)
        return entry;
    if (++shadow.used > ENTRIES / 2)
        sim_fail("a run accesses too much memory");
    memset(entry, 0, sizeof *entry);
    entry->granule = granule;
    entry->run = shadow.run;
    return entry;
}

static uintptr_t granule_of(const volatile void *at)
{
    return (uintptr_t)at / GRANULE;
}

uint32_t *sim_shadow_object(const volatile void *at)
{
    return &get_entry(granule_of(at))->objects[(uintptr_t)at % GRANULE];
}

uint32_t *sim_shadow_knowledge(const volatile void *at)
{
    return &get_entry(granule_of(at))->knowledge;
}

/* --- races --- */

static bool writes(uint8_t kind)
{
    return kind == SIM_PLAIN_WRITE || kind == SIM_ATOMIC_WRITE;
}

static bool is_atomic(uint8_t kind)
{
    return kind >= SIM_ATOMIC_READ;
}

static bool races(const struct cell *a, const struct cell *b)
{
    return a->clock != 0 && a->fiber != b->fiber && (a->bytes & b->bytes) != 0 &&
           (writes(a->kind) || writes(b->kind)) && !(is_atomic(a->kind) && is_atomic(b->kind)) &&
           !sim_weak_knows(a->fiber, a->clock);
}

/* Returns true if no later access can race with `old` without racing with `new`, too. */
static bool replaces(const struct cell *new, const struct cell *old)
{
    bool covers = (old->bytes & ~new->bytes) == 0;
    bool as_strict = (writes(new->kind) || !writes(old->kind)) &&
                     (!is_atomic(new->kind) || is_atomic(old->kind));

    return old->clock == 0 ||
           (covers && as_strict &&
            (old->fiber == new->fiber || sim_weak_knows(old->fiber, old->clock)));
}

static void record(struct entry *entry, const struct cell *access)
{
    struct cell *to = NULL;

    for (uint32_t i = 0; i < CELLS; i++) {
        struct cell *old = &entry->cells[i];
        if (races(old, access))
            sim_fail("data race: thread %u at %p, after thread %u at %p", access->fiber,
                     access->place, old->fiber, old->place);
        if (!replaces(access, old))
            continue;
        if (to != NULL)
            old->clock = 0;
        else
            to = old;
    }
    if (to == NULL)
        to = &entry->cells[entry->oldest_cell++ % CELLS];
    *to = *access;
}

void sim_shadow_access(const volatile void *at, size_t size, enum sim_access_kind kind,
                       const void *place)
{
    uintptr_t from = (uintptr_t)at;
    uintptr_t end = from + size;
    struct cell access = { .place = place,
                           .clock = sim_weak_now(),
                           .fiber = (uint8_t)sim.current->index,
                           .kind = (uint8_t)kind };

    while (from < end) {
        uintptr_t first = from % GRANULE;
        uintptr_t count = GRANULE - first < end - from ? GRANULE - first : end - from;
        struct entry *entry = get_entry(from / GRANULE);
        access.bytes = (uint8_t)(((1u << count) - 1) << first);
        record(entry, &access);
        if (kind == SIM_PLAIN_WRITE) /* the memory is used for something else now */
            memset(entry->objects + first, 0, count * sizeof entry->objects[0]);
        from += count;
    }
}

void sim_shadow_forget(const volatile void *at, size_t size)
{
    uintptr_t end = ((uintptr_t)at + size + GRANULE - 1) / GRANULE;

    for (uintptr_t granule = granule_of(at); granule < end; granule++) {
        struct entry *entry = entry_of(granule);
        if (entry->run != shadow.run)
            continue;
        entry->knowledge = 0;
        memset(entry->objects, 0, sizeof entry->objects);
        memset(entry->cells, 0, sizeof entry->cells);
    }
}
