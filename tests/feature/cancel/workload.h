/* The cancelling calls of a run, and the oracle's part. */
#ifndef TESTS_FEATURE_CANCEL_WORKLOAD_H
#define TESTS_FEATURE_CANCEL_WORKLOAD_H

#include "property/judge.h"
#include "property/workload_tasks.h"

/* Makes the cancelling calls of a task's body that do not wait. */
void workload_cancel_inside(struct run *run, uint32_t task);

/* Finds out which call cancelled which task; then judges the answers of the calls. */
void judge_find_cancelled(struct judge *judge);
void judge_cancels(struct judge *judge);

#endif
