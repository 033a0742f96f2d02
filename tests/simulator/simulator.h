/*
 * A scheduler that runs threads as fibers, one at a time, and chooses at every step which fiber
 * runs next. Equal seeds give equal schedules.
 *
 * Time is virtual. It passes when no fiber is ready; in eager runs, also whenever the schedule says
 * so, and with `step_ns` at every step. If no fiber is ready and none waits for a time, the run has
 * failed.
 *
 * A run belongs to the thread that calls sim_run(). Processes may run simulations side by side.
 */
#ifndef TESTS_SIMULATOR_SIMULATOR_H
#define TESTS_SIMULATOR_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sim_strategy {
    SIM_RANDOM,     /* any fiber at each step */
    SIM_BURSTS,     /* any fiber, for some steps */
    SIM_PRIORITIES, /* the highest priority, which falls at a few random steps (PCT) */
    SIM_PARTIAL,    /* random priorities of steps, drawn anew after conflicts (POS) */
    SIM_STRATEGIES,
    SIM_EXHAUSTIVE, /* every schedule with few preemptions: see sim_explore() */
    SIM_BYTES       /* a given string of bytes decides: for fuzzers */
};

struct sim_options {
    uint64_t seed;
    enum sim_strategy strategy;
    bool buffers;         /* stores are delayed, as on x86 */
    bool slow_buffers;    /* they are delayed for longer */
    bool weak;            /* loads may get old values; then `buffers` delays no store */
    uint32_t old_one_in;  /* with `weak`: one load in so many may */
    bool eager;           /* time may pass while fibers are ready */
    uint64_t step_ns;     /* each step takes so much time; 0: time passes between steps only */
    uint64_t steps_max;   /* a run with more steps fails as endless; 0: a million */
    uint64_t fault;       /* the number of the fault point that fails, from 1; 0: none */
    bool faults_stay;     /* every later fault point fails, too */
    const uint8_t *bytes; /* for SIM_BYTES */
    size_t byte_count;
    /* Called when no fiber is ready, before time passes, on any fiber's stack. Must not make a
     * step. */
    void (*quiet)(void *context);
    void *context;
};

struct sim_report {
    bool failed;
    char why[256];
    uint64_t schedule; /* a hash of which fiber made each step */
    uint64_t steps;
    uint64_t fault_points; /* operations that could have failed, e.g. allocations */
    uint64_t faults;       /* those that did fail */
};

/* Draws strategy, buffers and eagerness from the seed. */
struct sim_options sim_options_draw(uint64_t seed);
const char *sim_strategy_name(enum sim_strategy strategy);

/* Runs `body` as the first thread, until all threads have ended. Returns true if nothing failed. */
bool sim_run(const struct sim_options *options, void (*body)(void *argument), void *argument,
             struct sim_report *report);

/* Ends the run as failed. To be called in a run. */
__attribute__((noreturn, format(printf, 1, 2))) void sim_fail(const char *format, ...);

/* Waits until `ns` of virtual time have passed. To be called in a run. */
void sim_sleep(uint64_t ns);
uint64_t sim_now(void);
/* Returns how many steps the run has made. */
uint64_t sim_steps(void);
/* Returns true if, in the current or last run, time passes only when no fiber is ready, and every
 * store is visible at once. */
bool sim_is_strict(void);
/* Returns the calling fiber's number: from 0, in the order in which fibers were started. */
uint32_t sim_self(void);
/* Returns the name that the running thread has set for itself; "" if none. */
const char *sim_thread_name(void);
/* Returns true in a run. */
bool sim_is_running(void);

/* --- every schedule --- */

struct sim_exploration {
    uint64_t runs;
    uint64_t steps;
    uint64_t choices_most; /* how many choices the run with the most had */
    bool exhausted;
    struct sim_report report; /* of the first run that failed, or of the last run */
};

/*
 * Runs `body` under every schedule with at most `preemptions_max` preemptions. A preemption is a
 * switch away from a ready fiber. A preemption before an access to an object that only one fiber
 * accesses, or that fibers only read, changes nothing and is left out.
 *
 * Stops at the first failure or after `runs_max` runs. Uses `buffers`, `steps_max` and `quiet` of
 * `options`. With `buffers`, a store becomes visible as late as possible.
 */
void sim_explore(const struct sim_options *options, uint32_t preemptions_max, uint64_t runs_max,
                 void (*body)(void *argument), void *argument, struct sim_exploration *exploration);
/* Limit an exploration to the steps between these two calls. The other steps run without
 * preemptions. */
void sim_explore_from_here(void);
void sim_explore_to_here(void);

#endif
