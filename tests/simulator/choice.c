/*
 * Owns the strategies, which decide which fiber runs at each step.
 *
 * * Random: any fiber at each step.
 * * Bursts: any fiber, for a random number of steps.
 * * Priorities: Burckhardt et al., A randomized scheduler with probabilistic guarantees of finding
 *   bugs, 2010 (PCT). Each fiber has a random priority. At a few random steps the priority of the
 *   running fiber falls below all others.
 * * Partial: Yuan et al., Partial order aware concurrency sampling, 2018 (POS). Each step has a
 *   random priority, drawn anew when a conflicting step was made first.
 */
#include "simulator/state.h"

enum { FALLS_MAX = 2, STEPS_GUESS = 3000 };

/* The strategy's state in the current run. */
static struct {
    uint32_t burst_left;
    uint32_t burst_mean;
    uint64_t falls[FALLS_MAX]; /* steps at which a priority falls */
    uint64_t lowest;           /* priorities given below all others, counted down */
    size_t bytes_used;
} plan;

static uint64_t any_priority(void)
{
    return (sim_random() >> 8) + ((uint64_t)1 << 32);
}

void sim_choice_begin(void)
{
    static const uint32_t means[] = { 3, 10, 40, 200 };
    uint32_t falls = 1 + sim_random_below(FALLS_MAX);

    plan.burst_left = 0;
    plan.burst_mean = means[sim_random_below(sizeof means / sizeof means[0])];
    plan.lowest = (uint64_t)1 << 32;
    plan.bytes_used = 0;
    for (uint32_t i = 0; i < FALLS_MAX; i++)
        plan.falls[i] = i < falls ? 1 + sim_random_below(STEPS_GUESS) : 0;
}

void sim_choice_joins(struct sim_fiber *fiber)
{
    if (sim.options.strategy == SIM_PARTIAL || fiber->priority == 0)
        fiber->priority = any_priority();
}

static struct sim_fiber *anyone(void)
{
    return sim.ready[sim_random_below(sim.ready_count)];
}

static struct sim_fiber *anyone_else(const struct sim_fiber *self)
{
    uint32_t at = sim_random_below(sim.ready_count - 1);

    return sim.ready[at < self->ready_at ? at : at + 1];
}

static struct sim_fiber *highest(void)
{
    struct sim_fiber *best = sim.ready[0];

    for (uint32_t i = 1; i < sim.ready_count; i++)
        if (sim.ready[i]->priority > best->priority)
            best = sim.ready[i];
    return best;
}

/* --- the strategies --- */

static struct sim_fiber *choose_by_bursts(struct sim_fiber *self)
{
    if (self != NULL && plan.burst_left > 0) {
        plan.burst_left--;
        return self;
    }
    plan.burst_left = sim_random_below(2 * plan.burst_mean);
    return anyone();
}

static struct sim_fiber *choose_by_priority(struct sim_fiber *self)
{
    for (uint32_t i = 0; self != NULL && i < FALLS_MAX; i++)
        if (plan.falls[i] == sim.steps)
            self->priority = --plan.lowest;
    return highest();
}

static bool conflicts(const struct sim_fiber *a, const struct sim_fiber *b)
{
    return a->object == b->object && (a->access != SIM_LOAD || b->access != SIM_LOAD);
}

/* Chooses the step with the highest priority. Draws new priorities for the steps that conflict with
 * it, and for the next step of its fiber. */
static struct sim_fiber *choose_by_partial_order(void)
{
    struct sim_fiber *best = highest();

    for (uint32_t i = 0; i < sim.ready_count; i++)
        if (sim.ready[i] != best && conflicts(sim.ready[i], best))
            sim.ready[i]->priority = any_priority();
    best->priority = any_priority();
    return best;
}

/* Takes one byte for each choice: its high bits say how many steps the chosen fiber runs, its
 * low bits which fiber is chosen. When all bytes are used, the running fiber continues until it
 * waits. */
static struct sim_fiber *choose_by_bytes(struct sim_fiber *self)
{
    if (self != NULL && plan.burst_left > 0) {
        plan.burst_left--;
        return self;
    }
    if (plan.bytes_used == sim.options.byte_count) {
        plan.burst_left = UINT32_MAX;
        return self != NULL ? self : sim.ready[0];
    }
    uint8_t byte = sim.options.bytes[plan.bytes_used++];
    uint32_t length = byte >> 3;
    plan.burst_left = length * length / 4;
    return sim.ready[(byte & 7u) % sim.ready_count];
}

struct sim_fiber *sim_choose(struct sim_fiber *self)
{
    if (sim.options.strategy == SIM_EXHAUSTIVE)
        return sim_explore_choose(self);
    if (sim.ready_count == 1)
        return sim.ready[0];
    /* A fiber that yields waits for a step of another fiber. */
    if (self != NULL && self->access == SIM_YIELD) {
        self->priority = --plan.lowest;
        return sim.options.strategy == SIM_PRIORITIES ? highest() : anyone_else(self);
    }
    switch (sim.options.strategy) {
    case SIM_BURSTS:
        return choose_by_bursts(self);
    case SIM_PRIORITIES:
        return choose_by_priority(self);
    case SIM_PARTIAL:
        return choose_by_partial_order();
    case SIM_BYTES:
        return choose_by_bytes(self);
    default:
        return anyone();
    }
}

/* In an exhaustive search a nap ends early only by a preemption. If bytes decide, it does not. */
bool sim_choose_short_nap(void)
{
    return sim.options.strategy < SIM_STRATEGIES && sim_random_below(2) == 0;
}

struct sim_options sim_options_draw(uint64_t seed)
{
    sim.random = ~seed;
    struct sim_options options = { .seed = seed,
                                   .strategy = (enum sim_strategy)sim_random_below(SIM_STRATEGIES),
                                   .buffers = sim_random_below(2) != 0,
                                   .eager = sim_random_below(4) == 0,
                                   .slow_buffers = sim_random_below(2) != 0 };
#if defined(SIM_WEAK)
    options.weak = true;
    options.old_one_in = 1 + sim_random_below(4);
#endif
    return options;
}

const char *sim_strategy_name(enum sim_strategy strategy)
{
    static const char *const names[] = { "random", "bursts",     "priorities", "partial orders",
                                         "",       "exhaustive", "bytes" };

    return names[strategy];
}
