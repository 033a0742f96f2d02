/* Runs a workload on a pool of its own, in the world that the program is built for (world.h). */
#ifndef TESTS_PROPERTY_WORKLOAD_RUN_H
#define TESTS_PROPERTY_WORKLOAD_RUN_H

#include "property/oracle.h"
#include "property/workload.h"

/*
 * Submits every task, ends the pool as the workload says, and records the run. Returns OK; or the
 * status of a call that must not fail, and then the log must not be judged. `pool`, if not NULL, is
 * set while the pool exists.
 */
lanepool_status workload_run(const struct workload *workload, struct oracle_log *log,
                             lanepool_pool **pool);

#endif
