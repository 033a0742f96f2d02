/* The property that every workload must have under every schedule, checked on the simulator. */
#ifndef TESTS_SIMULATOR_SIMULATED_PROPERTY_H
#define TESTS_SIMULATOR_SIMULATED_PROPERTY_H

#include "property/oracle.h"
#include "simulator/simulator.h"

/*
 * Runs the workload under the schedule and judges the run. Returns true if the property holds;
 * otherwise the report says why it does not. If fault points fail, a refused call must have had no
 * effect, an accepted task must be called once, and nothing may be left behind.
 */
bool property_holds(const struct workload *workload, const struct sim_options *schedule,
                    struct sim_report *report);

/* Returns the counts of all judged runs so far. */
const struct oracle_counts *property_counts(void);

/*
 * Searches for a smaller failing case. Leaves tasks out of the workload, and tries each smaller
 * workload under several schedules, because its steps differ. Stores the smallest case found in
 * `workload` and `schedule`, and its report in `report`.
 */
void property_shrink(struct workload *workload, struct sim_options *schedule,
                     struct sim_report *report);

#endif
