/* A thread that takes snapshots of the pool during the run, and judges them. */
#ifndef TESTS_PROPERTY_WORKLOAD_LOOK_H
#define TESTS_PROPERTY_WORKLOAD_LOOK_H

#include "property/workload_tasks.h"

/* Takes snapshots when the workload says. Stores a violation in the log. */
void workload_look(struct run *run);

/* Returns how many waiting tasks have been explained in this process so far. */
uint64_t workload_explained(void);

#endif
