/*
 * A scheduler that runs threads as fibers, one at a time, and decides at every
 * step of theirs who goes on. The same seed gives the same schedule.
 *
 * Time is virtual: it passes only when no fiber can go on, or, in eager runs,
 * whenever the schedule says so. When nobody can go on and nobody waits for a
 * time, the run has failed.
 *
 * A run belongs to the thread that calls sim_run(); other threads may have
 * runs of their own, in processes of their own.
 */
#ifndef TESTS_SIMULATOR_SIMULATOR_H
#define TESTS_SIMULATOR_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_strategy {
    SIM_RANDOM,     /* anyone at each step */
    SIM_BURSTS,     /* anyone, for some steps */
    SIM_PRIORITIES, /* the highest priority; at a few random steps it falls (PCT) */
    SIM_PARTIAL,    /* random priorities of steps, drawn anew after conflicts (POS) */
    SIM_STRATEGIES,
    SIM_EXHAUSTIVE, /* every schedule with few preemptions: see sim_explore() */
    SIM_BYTES       /* a given string decides: for fuzzers */
};

struct sim_options {
    uint64_t seed;
    enum sim_strategy strategy;
    bool buffers;         /* stores are delayed, as x86 may */
    bool eager;           /* time may pass while fibers could go on */
    uint64_t steps_max;   /* more are taken for a run that does not end; 0: a million */
    uint64_t fault;       /* which fault point fails, from 1; 0: none */
    bool faults_stay;     /* and every one after it */
    const uint8_t *bytes; /* SIM_BYTES */
    size_t byte_count;
    /* No fiber can go on: called before time passes, on any fiber's stack; must not step. */
    void (*quiet)(void *context);
    void *context;
};

struct sim_report {
    bool failed;
    char why[256];
    uint64_t schedule; /* a hash of who made each step */
    uint64_t steps;
    uint64_t fault_points; /* what could have failed: memory, threads, locks, semaphores */
    uint64_t faults;       /* what did */
};

/* Draws strategy, buffers and eagerness from the seed. */
struct sim_options sim_options_draw(uint64_t seed);
const char *sim_strategy_name(enum sim_strategy strategy);

/* Runs `body` as the first thread, until all threads have ended. True: nothing failed. */
bool sim_run(const struct sim_options *options, void (*body)(void *argument), void *argument,
             struct sim_report *report);

/* In a run: it has failed, and ends here. */
__attribute__((noreturn, format(printf, 1, 2))) void sim_fail(const char *format, ...);

/* In a run: waits until so much virtual time has passed. */
void sim_sleep(uint64_t ns);
uint64_t sim_now(void);
/* Of the run that goes on, or was the last: whether time passes only when no fiber can go on, and
 * what is stored is seen at once. */
bool sim_is_strict(void);
/* A number for the calling fiber, from 0 in the order of their starts. */
uint32_t sim_self(void);
/* Whether a run is going on. */
bool sim_is_running(void);

/* --- every schedule --- */

struct sim_exploration {
    uint64_t runs;
    uint64_t steps;
    uint64_t choices_most; /* the most choices that one run had */
    bool exhausted;
    struct sim_report report; /* of the first run that failed, or of the last */
};

/*
 * Runs `body` under every schedule with at most so many preemptions: switches
 * away from a fiber that could go on. Preemptions before accesses to what only
 * one fiber ever accesses, or only reads, change nothing and are left out.
 * Stops at the first failure or after `runs_max`. `options` gives buffers
 * (a store then becomes visible as late as it can), steps_max and quiet.
 */
void sim_explore(const struct sim_options *options, uint32_t preemptions_max, uint64_t runs_max,
                 void (*body)(void *argument), void *argument, struct sim_exploration *exploration);
/* In an exploration: only what lies between these is explored; the rest runs undisturbed. */
void sim_explore_from_here(void);
void sim_explore_to_here(void);

#endif
