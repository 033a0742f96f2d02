/* Runs a workload on a pool of its own, in whatever world this is built for (world.h). */
#ifndef TESTS_PROPERTY_WORKLOAD_RUN_H
#define TESTS_PROPERTY_WORKLOAD_RUN_H

#include "property/oracle.h"
#include "property/workload.h"

/*
 * Submits every task, ends the pool as the workload says, and records what happens. OK, or what a
 * call answered that must not fail; then the log is not to be judged. `pool`, if not NULL, holds
 * the pool while there is one.
 */
lanepool_status workload_run(const struct workload *workload, struct oracle_log *log,
                             lanepool_pool **pool);

#endif
