/* Runs a workload on a pool of its own, and leaves the log to the oracle. */
#ifndef TESTS_SUPPORT_WORKLOAD_RUN_H
#define TESTS_SUPPORT_WORKLOAD_RUN_H

#include "support/oracle.h"
#include "support/workload.h"

/*
 * Returns once every task has been called and the pool is gone. LANEPOOL_OK, or the first status
 * that a call of the library gave unexpectedly; log can be judged only after LANEPOOL_OK.
 */
lanepool_status workload_run(const struct workload *workload, struct oracle_log *log);

#endif
