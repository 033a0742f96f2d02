/* Groups and pumps of a run. */
#ifndef TESTS_PROPERTY_WORKLOAD_GROUPS_H
#define TESTS_PROPERTY_WORKLOAD_GROUPS_H

#include "property/workload_tasks.h"

/* Create the groups and pumps, before the first task is submitted. */
void workload_make_groups(struct run *run);
void workload_make_pumps(struct run *run);

/* Closes every group. Called when the last task has settled. */
void workload_close_groups(struct run *run);

/* Inside a task: waits for the group that the workload names. */
void workload_wait_for_group(const struct task_context *self);

/* Makes the calls of one thread for groups, one after the other. */
void workload_visit_all_of_one(struct run *run, uint32_t visitor);
/* Runs one pump until it can get no more tasks. */
void workload_run_pump(struct run *run, uint32_t pump);

/* To be called when every task has ended. */
void workload_end_pumps(struct run *run);
void workload_end_groups(struct run *run);

#endif
