/* Implements property/world.h on the simulator. */
#include "property/world.h"

#include "platform/platform.h"
#include "simulator/memory.h"
#include "simulator/state.h"

struct thread {
    void (*main)(void *argument);
    void *argument;
};

static void *thread_main(void *argument)
{
    const struct thread *thread = argument;

    thread->main(thread->argument);
    return NULL;
}

void world_run_threads(void (*main)(void *argument), void *const *arguments, uint32_t count)
{
    struct thread threads[SIM_FIBERS_MAX];
    struct sim_fiber *fibers[SIM_FIBERS_MAX];

    for (uint32_t i = 0; i < count; i++) {
        threads[i] = (struct thread){ main, arguments[i] };
        fibers[i] = sim_start(thread_main, &threads[i]);
    }
    for (uint32_t i = 0; i < count; i++)
        sim_join(fibers[i]);
}

void world_pass(uint64_t ns)
{
    sim_sleep(ns);
}

void world_sleep(uint64_t ns)
{
    sim_sleep(ns);
}

void world_rest(uint64_t ns)
{
    sim_sleep(ns);
}

uint64_t world_now(void)
{
    return sim_now();
}

bool world_is_strict(void)
{
    return sim_is_strict();
}

uint64_t world_thread(void)
{
    return sim_self();
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
