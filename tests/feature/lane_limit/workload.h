/* The oracle's part. */
#ifndef TESTS_FEATURE_LANE_LIMIT_WORKLOAD_H
#define TESTS_FEATURE_LANE_LIMIT_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_tasks.h"

/* Judges that a submitter that waits for room is admitted into no full lane. */
void judge_lane_limits(struct judge *judge);

#endif
