/* The tables of scenarios, one for each file of scenarios. */
#ifndef TESTS_SIMULATED_SCENARIOS_H
#define TESTS_SIMULATED_SCENARIOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
};

struct scenario_table {
    const struct scenario *scenarios;
    size_t count;
};

#define SCENARIO(function, kind)                      \
    {                                                 \
#function, function, SCENARIO_##kind, NULL, 0 \
    }
#define SCENARIO_TABLE(name, ...)                                 \
    static const struct scenario name##_list[] = { __VA_ARGS__ }; \
    const struct scenario_table name = { name##_list, sizeof name##_list / sizeof name##_list[0] }

extern const struct scenario_table scenarios_submits;
extern const struct scenario_table scenarios_lanes;
extern const struct scenario_table scenarios_lane_limits;
extern const struct scenario_table scenarios_fairness;
extern const struct scenario_table scenarios_waits;
extern const struct scenario_table scenarios_ends;
extern const struct scenario_table scenarios_halts;
extern const struct scenario_table scenarios_elastic;
extern const struct scenario_table scenarios_periodic;
extern const struct scenario_table scenarios_delays;
extern const struct scenario_table scenarios_rules;
extern const struct scenario_table scenarios_deadlines;
extern const struct scenario_table scenarios_seeing;
extern const struct scenario_table scenarios_timers;
extern const struct scenario_table scenarios_groups;
extern const struct scenario_table scenarios_pumps;
extern const struct scenario_table scenarios_failures;
extern const struct scenario_table scenarios_poison;
extern const struct scenario_table scenarios_priorities;
extern const struct scenario_table scenarios_sequences;
extern const struct scenario_table scenarios_sequences_periodic;
extern const struct scenario_table scenarios_sequences_waits;
extern const struct scenario_table scenarios_regressions;
extern const struct scenario_table scenarios_regressions_routing;
extern const struct scenario_table scenarios_regressions_cancels;
extern const struct scenario_table scenarios_regressions_destroy;
extern const struct scenario_table scenarios_regressions_held;
extern const struct scenario_table scenarios_cancels;
extern const struct scenario_table scenarios_barriers;
extern const struct scenario_table scenarios_watchdog;
extern const struct scenario_table scenarios_contexts;

#endif
