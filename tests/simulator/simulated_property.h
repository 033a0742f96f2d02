/* The property that every workload must have under every schedule, on the simulator. */
#ifndef TESTS_SIMULATOR_SIMULATED_PROPERTY_H
#define TESTS_SIMULATOR_SIMULATED_PROPERTY_H

#include "property/oracle.h"
#include "simulator/simulator.h"

/*
 * Runs the workload under the schedule and judges it; true: it holds. The report also tells what
 * the oracle found. With faults it holds as well: what is refused was not accepted, what was
 * accepted is called once, and nothing is left behind.
 */
bool property_holds(const struct workload *workload, const struct sim_options *schedule,
                    struct sim_report *report);

/* What was counted in all runs so far that were judged. */
const struct oracle_counts *property_counts(void);

/*
 * Looks for a smaller failing case: leaves tasks out of the workload, and tries each smaller one
 * under some other schedules, since its steps are not the same any more. Leaves the smallest case
 * found in both arguments and its report in the third.
 */
void property_shrink(struct workload *workload, struct sim_options *schedule,
                     struct sim_report *report);

#endif
