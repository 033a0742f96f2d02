/* The state that the parts of the simulator share: the fibers of the current run. */
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

/* A fiber is ready (it is in `ready`), waits for `waits_for` or a time, or has ended. */
struct sim_fiber {
    struct fiber flow;
    uint32_t index;
    uint32_t ready_at; /* its index in sim.ready; UINT32_MAX: not ready */
    const void *waits_for;
    uint64_t wakes_at; /* UINT64_MAX: no time */
    bool timed_out;
    bool ended;
    enum sim_access access; /* of the next step, or of the last one */
    const volatile void *object;
    uint64_t priority;
    struct sim_delayed stores[SIM_STORES_MAX]; /* oldest first */
    uint32_t store_count;
    void *slot;
    void *drains;
    char name[16];               /* as the thread has set it; "": it has not */
    lanepool_i_mutex *last_lock; /* that it has taken and not released; see door.c */
    void *(*main)(void *argument);
    void *argument;
    void *joined_by; /* only its address is used: sim_join() waits for it */
};

struct sim {
    struct sim_options options;
    struct sim_fiber fibers[SIM_FIBERS_MAX];
    uint32_t fiber_count;
    struct sim_fiber *ready[SIM_FIBERS_MAX];
    uint32_t ready_count;
    struct sim_fiber *current; /* NULL outside of a run */
    struct sim_fiber host;
    uint64_t now;
    uint64_t random;
    uint64_t steps;
    uint64_t schedule;
    uint64_t fault_points;
    uint64_t faults;
    int64_t held; /* pieces of memory, pages, locks and semaphores that are not given back yet */
    bool stores_wait; /* at least one fiber's buffer is not empty */
    bool failed;
    char why[256];
    void (*slot_at_exit)(void *value);
};

extern struct sim sim;

/* SplitMix64, the source of the schedule's random numbers. */
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
/* Waits until another fiber calls sim_wake() with the same address, or until the time. Returns
 * false if the time came first. */
bool sim_wait(const void *on, uint64_t wakes_at);
void sim_wake(const void *on);
/* Waits for a short while, whose length the schedule chooses. */
void sim_nap(uint64_t ns);
/* Returns how many fibers nap. */
uint32_t sim_nap_count(void);
/* Ends the nap of one of these fibers, counted from 0, and returns the fiber. */
struct sim_fiber *sim_end_nap(uint32_t number);
/* Counts a fault point. Returns true if it is to fail. */
bool sim_fault(void);

/* --- choice.c --- */

void sim_choice_begin(void);
/* Chooses the fiber that runs next. `self` is the ready fiber that is about to make a step; NULL if
 * the caller must wait. At least one fiber must be ready. */
struct sim_fiber *sim_choose(struct sim_fiber *self);
/* Returns true if the calling fiber is to yield instead of napping until no fiber is ready. */
bool sim_choose_short_nap(void);
/* Prepares a fiber that has just become ready. */
void sim_choice_joins(struct sim_fiber *fiber);

/* --- explore.c --- */

struct sim_fiber *sim_explore_choose(struct sim_fiber *self);

/* --- buffer.c --- */

void sim_buffer_empty(struct sim_fiber *fiber);
/* Empties the buffers of all fibers. */
void sim_buffers_empty_all(void);
/* Makes some delayed stores visible, as the schedule says. */
void sim_buffers_drain_some(void);

#endif
