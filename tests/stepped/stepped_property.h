/* The property that every workload must have in a pool without threads, under every seed. */
#ifndef TESTS_STEPPED_STEPPED_PROPERTY_H
#define TESTS_STEPPED_STEPPED_PROPERTY_H

#include "property/oracle.h"

struct stepped_report {
    bool failed;
    char why[256];
    uint64_t hash; /* of all that the run did: each call, when, in which order, with what result */
    uint64_t time_ns; /* virtual time that has passed */
};

/* Draws a workload, and makes it one that such a pool can run. */
void stepped_draw(struct workload *workload, uint64_t seed);

/* Runs the workload with the step_seed in its parameters, and has the run judged. Returns true if
 * the property holds; otherwise the report says why it does not. */
bool stepped_holds(const struct workload *workload, struct stepped_report *report);

/* Searches for a smaller failing case: leaves tasks out, trying some seeds each time, and then ends
 * the draws as early as possible (step_plain_from). Stores it in `workload` and `report`. */
void stepped_shrink(struct workload *workload, struct stepped_report *report);

/* Returns the counts of all judged runs so far. */
const struct oracle_counts *stepped_counts(void);

#endif
