/* Owns the memory of effects. */
#include "batch/effect.h"

#include <stdlib.h>

#include "memory.h"

struct effect *effect_create(void)
{
    return memory_zeroed(1, sizeof(struct effect));
}

void effect_add(struct effect *effect, struct effect_entry entry)
{
    effect->entries =
        memory_grow(effect->entries, &effect->capacity, effect->count + 1, sizeof *effect->entries);
    effect->entries[effect->count++] = entry;
}

void effect_destroy(struct effect *effect)
{
    if (effect) {
        free(effect->missing.items);
        buffer_fini(&effect->contribution);
        buffer_fini(&effect->report);
        free(effect->entries);
        free(effect);
    }
}

void effect_drop(struct task *tasks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        effect_destroy(tasks[i].effect);
        tasks[i].effect = NULL;
    }
}
