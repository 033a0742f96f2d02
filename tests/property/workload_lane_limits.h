/* A thread that changes lane limits. */
#ifndef TESTS_PROPERTY_WORKLOAD_LANE_LIMITS_H
#define TESTS_PROPERTY_WORKLOAD_LANE_LIMITS_H

#include "property/workload_tasks.h"

/* Makes all changes, one after the other. */
void workload_limit_lanes(struct run *run);

#endif
