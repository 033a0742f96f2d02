/* The oracle's part. */
#ifndef TESTS_FEATURE_DELAY_WORKLOAD_H
#define TESTS_FEATURE_DELAY_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_tasks.h"

/* Judges due times, the order of delayed tasks, and periodic tasks. */
void judge_delays(struct judge *judge);

#endif
