/*
 * Owns the store buffers: what a fiber has stored and other fibers do not see yet.
 *
 * As on x86, the stores of one fiber become visible in their order, and the fiber sees its own
 * stores at once. An operation other than a load or a store first makes all of the fiber's stores
 * visible.
 */
#include <string.h>

#include "simulator/state.h"

/* At each step, one store becomes visible with this chance. */
enum { DRAIN_ONE_IN = 8, DRAIN_ONE_IN_SLOWLY = 256 };

static void write_out(const struct sim_delayed *store)
{
    /* Writes the value with one access of its size. */
    switch (store->size) {
    case 1:
        *(volatile uint8_t *)store->object = (uint8_t)store->value;
        break;
    case 4:
        *(volatile uint32_t *)store->object = (uint32_t)store->value;
        break;
    default:
        *(volatile uint64_t *)store->object = store->value;
        break;
    }
}

static void drain_oldest(struct sim_fiber *fiber)
{
    write_out(&fiber->stores[0]);
    fiber->store_count--;
    memmove(fiber->stores, fiber->stores + 1, fiber->store_count * sizeof *fiber->stores);
}

static void look_for_stores(void)
{
    sim.stores_wait = false;
    for (uint32_t i = 0; i < sim.fiber_count; i++)
        if (sim.fibers[i].store_count > 0)
            sim.stores_wait = true;
}

void sim_buffer_empty(struct sim_fiber *fiber)
{
    if (fiber->store_count == 0)
        return;
    for (uint32_t i = 0; i < fiber->store_count; i++)
        write_out(&fiber->stores[i]);
    fiber->store_count = 0;
    look_for_stores();
}

void sim_buffers_empty_all(void)
{
    for (uint32_t i = 0; i < sim.fiber_count; i++)
        sim_buffer_empty(&sim.fibers[i]);
}

void sim_empty_buffer(void)
{
    if (sim.stores_wait && sim.current != NULL)
        sim_buffer_empty(sim.current);
}

void sim_buffers_drain_some(void)
{
    uint32_t one_in = sim.options.slow_buffers ? DRAIN_ONE_IN_SLOWLY : DRAIN_ONE_IN;
    if (sim.options.strategy == SIM_EXHAUSTIVE || sim_random_below(one_in) != 0)
        return;
    struct sim_fiber *fiber = &sim.fibers[sim_random_below(sim.fiber_count)];
    if (fiber->store_count == 0)
        return;
    drain_oldest(fiber);
    look_for_stores();
}

bool sim_store(volatile void *object, const void *value, size_t size, bool at_once)
{
    struct sim_fiber *self = sim.current;

    if (at_once || self == NULL || !sim.options.buffers || sim.options.weak) {
        sim_step(at_once ? SIM_CHANGE : SIM_STORE, object);
        return false;
    }
    sim_step(SIM_STORE, object);
    if (self->store_count == SIM_STORES_MAX)
        drain_oldest(self);
    struct sim_delayed *store = &self->stores[self->store_count++];
    store->object = object;
    store->value = 0;
    store->size = (uint32_t)size;
    memcpy(&store->value, value, size);
    sim.stores_wait = true;
    return true;
}

void sim_forward(const volatile void *object, void *value, size_t size)
{
    if (!sim.stores_wait || sim.current == NULL)
        return;
    const struct sim_fiber *self = sim.current;
    for (uint32_t i = self->store_count; i-- > 0;) {
        if (self->stores[i].object == object) {
            memcpy(value, &self->stores[i].value, size);
            return;
        }
    }
}

#if defined(SIM_OUT_OF_LINE)

void sim_load(const volatile void *object, void *value, size_t size)
{
    sim_step(SIM_LOAD, object);
    memcpy(value, (const void *)object, size);
    sim_forward(object, value, size);
}

void sim_store_now_or_later(volatile void *object, const void *value, size_t size, bool at_once)
{
    if (!sim_store(object, value, size, at_once))
        memcpy((void *)object, value, size);
}

#endif
