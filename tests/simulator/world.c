/* Implements property/world.h on the simulator. */
#include "property/world.h"

#include "platform/platform.h"
#include "simulator/memory.h"
#include "simulator/state.h"
#if defined(SIM_WEAK)
#include "simulator/weak.h"
#endif

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

void world_show_all(void)
{
#if defined(SIM_WEAK)
    sim_weak_let_time_pass();
#endif
}

bool world_waits_again(void)
{
    return false;
}
