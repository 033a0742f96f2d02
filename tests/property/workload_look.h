/* A thread that takes a snapshot of the pool beside the others, and judges what it sees. */
#ifndef TESTS_PROPERTY_WORKLOAD_LOOK_H
#define TESTS_PROPERTY_WORKLOAD_LOOK_H

#include "property/workload_tasks.h"

/* Takes snapshots when the workload says. What is wrong with it goes to the log. */
void workload_look(struct run *run);

/* How many waiting tasks have been explained, by all lookers of this process so far. */
uint64_t workload_explained(void);

#endif
