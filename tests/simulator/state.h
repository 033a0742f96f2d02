/* What the parts of the simulator share: the fibers of the run that goes on. */
#ifndef TESTS_SIMULATOR_STATE_H
#define TESTS_SIMULATOR_STATE_H

#include "simulator/fiber.h"
#include "simulator/simulated.h"
#include "simulator/simulator.h"

enum { SIM_FIBERS_MAX = 48, SIM_STORES_MAX = 6 };

struct sim_delayed {
    volatile void *object;
    uint64_t value;
    uint32_t size;
};

/* States: in `ready` (can go on), waiting for `waits_for` or a time, or ended. */
struct sim_fiber {
    struct fiber flow;
    uint32_t index;
    uint32_t ready_at; /* its place in sim.ready; UINT32_MAX: not there */
    const void *waits_for;
    uint64_t wakes_at; /* UINT64_MAX: never by itself */
    bool timed_out;
    bool ended;
    enum sim_access access; /* what it does next, or did last */
    const volatile void *object;
    uint64_t priority;
    struct sim_delayed stores[SIM_STORES_MAX]; /* oldest first */
    uint32_t store_count;
    void *slot;
    void *drains;
    void *(*main)(void *argument);
    void *argument;
    void *joined_by; /* what a join waits for: any address of this fiber's own */
};

struct sim {
    struct sim_options options;
    struct sim_fiber fibers[SIM_FIBERS_MAX];
    uint32_t fiber_count;
    struct sim_fiber *ready[SIM_FIBERS_MAX];
    uint32_t ready_count;
    struct sim_fiber *current; /* NULL: no run */
    struct sim_fiber host;
    uint64_t now;
    uint64_t random;
    uint64_t steps;
    uint64_t schedule;
    uint64_t fault_points;
    uint64_t faults;
    int64_t held;     /* memory, pages, locks, semaphores not given back */
    bool stores_wait; /* some fiber's buffer is not empty */
    bool failed;
    char why[256];
    void (*slot_at_exit)(void *value);
};

extern struct sim sim;

/* SplitMix64: the schedule's own numbers. */
static inline uint64_t sim_random(void)
{
    sim.random += 0x9e3779b97f4a7c15u;
    uint64_t value = sim.random;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static inline uint32_t sim_random_below(uint32_t bound)
{
    return (uint32_t)(((sim_random() >> 32) * bound) >> 32);
}

/* --- scheduler.c --- */

struct sim_fiber *sim_start(void *(*main)(void *argument), void *argument);
void sim_join(struct sim_fiber *fiber);
/* Waits until someone calls sim_wake() with the same address, or for the time. False: the time. */
bool sim_wait(const void *on, uint64_t wakes_at);
void sim_wake(const void *on);
/* Whether the fault point that the run has come to fails. */
bool sim_fault(void);

/* --- choice.c --- */

void sim_choice_begin(void);
/* Who goes on: `self` is about to make a step, and may; NULL: nobody runs. Never called with
 * nobody ready. */
struct sim_fiber *sim_choose(struct sim_fiber *self);
/* A fiber has become ready. */
void sim_choice_joins(struct sim_fiber *fiber);

/* --- explore.c --- */

struct sim_fiber *sim_explore_choose(struct sim_fiber *self);

/* --- buffer.c --- */

void sim_buffer_empty(struct sim_fiber *fiber);
/* All fibers'. */
void sim_buffers_empty_all(void);
/* Lets some delayed stores become visible, as the schedule says. */
void sim_buffers_drain_some(void);

#endif
