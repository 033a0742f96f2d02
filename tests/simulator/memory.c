/*
 * Owns the memory that the engine gets in a simulated run.
 *
 * The memory is one arena that starts anew with each run, so that the same schedule sees the same
 * addresses. The piece that was freed last is used first. Under a sanitizer, the sanitizer's
 * allocator is used instead, because it finds more errors.
 */
#include "simulator/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(SIM_WEAK)
#include "simulator/weak.h"
#else
#define sim_shadow_forget(memory, size) ((void)0)
#endif

static void *must_have(void *memory)
{
    if (memory == NULL || memory == MAP_FAILED) {
        fprintf(stderr, "no memory for a simulated run\n");
        exit(EXIT_FAILURE);
    }
    return memory;
}

#if defined(SIM_SANITIZER)

void *sim_memory_get(size_t size, size_t alignment)
{
    return must_have(aligned_alloc(alignment, size));
}

void sim_memory_put(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

void sim_memory_reset(void)
{
}

#else

enum { ARENA_SIZE = 256 << 20, SIZES_MAX = 32 };

struct piece {
    struct piece *next;
};

static char *arena;
static size_t used;
static unsigned spoiled;
/* Free pieces by size: one list for each size that was requested in this run. A piece may be used
 * again for any request of its size. So its alignment follows from its size alone: a power of two
 * is aligned to itself. */
static struct {
    size_t size;
    struct piece *first;
} free_pieces[SIZES_MAX];

/* Fills memory that nobody may read. Each bit is set in every second piece. */
static void spoil(void *memory, size_t size)
{
    static const unsigned char patterns[] = { 0xa5, 0x5a };

    memset(memory, patterns[spoiled++ % 2], size);
}

static struct piece **list_of(size_t size)
{
    for (size_t i = 0; i < SIZES_MAX; i++) {
        if (free_pieces[i].size == 0)
            free_pieces[i].size = size;
        if (free_pieces[i].size == size)
            return &free_pieces[i].first;
    }
    return NULL;
}

void *sim_memory_get(size_t size, size_t alignment)
{
    struct piece **list = list_of(size);
    void *memory;

    if (arena == NULL)
        arena = must_have(mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (list != NULL && *list != NULL) {
        memory = *list;
        *list = (*list)->next;
    } else {
        if ((size & (size - 1)) == 0 && alignment < size)
            alignment = size;
        uintptr_t at = ((uintptr_t)arena + used + alignment - 1) & ~(uintptr_t)(alignment - 1);
        used = at + size - (uintptr_t)arena;
        if (used > ARENA_SIZE)
            must_have(NULL);
        memory = (void *)at;
    }
    spoil(memory, size);
    sim_shadow_forget(memory, size);
    return memory;
}

void sim_memory_put(void *memory, size_t size)
{
    struct piece **list = list_of(size);
    struct piece *piece = memory;

    spoil(memory, size);
    if (list == NULL)
        return;
    piece->next = *list;
    *list = piece;
}

void sim_memory_reset(void)
{
    used = 0;
    spoiled = 0;
    memset(free_pieces, 0, sizeof free_pieces);
}

#endif
