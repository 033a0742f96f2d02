/*
 * How a scenario is written. The program plays all scenarios that are linked into it, by name.
 *
 *     SCENARIO(scenario_99_what_meets_what, RANDOM) { scene_open(NULL); ... }
 */
#ifndef TESTS_SIMULATED_SCENARIOS_H
#define TESTS_SIMULATED_SCENARIOS_H

#include <stddef.h>

enum scenario_kind {
    SCENARIO_RANDOM,     /* under random schedules */
    SCENARIO_EXHAUSTIVE, /* small enough for every schedule with few preemptions, too */
    SCENARIO_FAULTS      /* under random schedules; in each of them a fault point fails */
};

struct scenario {
    const char *name;
    void (*play)(void);
    enum scenario_kind kind;
    void (*play_cell)(size_t cell); /* for cells of a matrix; then `play` is NULL */
    size_t cell;
    struct scenario *next;
};

/* Adds a scenario to the list, which is sorted by name. Call it before main() begins. */
void scenario_register(struct scenario *scenario);

#define SCENARIO(function, how)                                              \
    static void function(void);                                              \
    static struct scenario function##_scenario = { .name = #function,        \
                                                   .play = function,         \
                                                   .kind = SCENARIO_##how }; \
    __attribute__((constructor)) static void function##_enrol(void)          \
    {                                                                        \
        scenario_register(&function##_scenario);                             \
    }                                                                        \
    static void function(void)

#endif
