/* Threads that pause the pool or a lane of it, and resume it. */
#ifndef TESTS_PROPERTY_WORKLOAD_PAUSES_H
#define TESTS_PROPERTY_WORKLOAD_PAUSES_H

#include "property/workload_tasks.h"

/* Makes the pauses of one thread, one after the other. */
void workload_pause_all_of_one(struct run *run, uint32_t pauser);

#endif
