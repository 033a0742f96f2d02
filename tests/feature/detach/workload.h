/* The oracle's part. */
#ifndef TESTS_FEATURE_DETACH_WORKLOAD_H
#define TESTS_FEATURE_DETACH_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_tasks.h"

/* Judges receivers, and lanes that are given up. */
void judge_held(struct judge *judge);

#endif
