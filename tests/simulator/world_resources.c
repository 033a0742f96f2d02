/* Implements what every world on the simulator shares: memory, refusals, the thread's number. */
#include <string.h>

#include "platform/platform.h"
#include "property/world.h"
#include "simulator/memory.h"
#include "simulator/state.h"

uint64_t world_thread(void)
{
    return sim_self();
}

bool world_thread_is_named(const char *name)
{
    return strcmp(sim_thread_name(), name) == 0;
}

static size_t whole_lines(size_t size)
{
    return (size + LANEPOOL_I_CACHE_LINE - 1) & ~(size_t)(LANEPOOL_I_CACHE_LINE - 1);
}

void *world_memory_get(size_t size, size_t alignment)
{
    size_t whole = whole_lines(size);

    if (sim_fault())
        return NULL;
    sim.held++;
    return sim_memory_get(whole,
                          alignment > LANEPOOL_I_CACHE_LINE ? alignment : LANEPOOL_I_CACHE_LINE);
}

void world_memory_put(void *memory, size_t size)
{
    sim_empty_buffer();
    sim_memory_put(memory, whole_lines(size));
    sim.held--;
}

bool world_has_refused(void)
{
    return sim.faults > 0;
}

void world_stop_refusing(void)
{
    sim.options.fault = 0;
}
