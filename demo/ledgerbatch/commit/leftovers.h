/*
 * What earlier runs have left undone of rollups: the parts of clients that they
 * went without, and those that failed because of such clients. A part is made up by
 * a task of its own, in the client's order. A rollup that failed is done late.
 */
#ifndef LEDGERBATCH_COMMIT_LEFTOVERS_H
#define LEDGERBATCH_COMMIT_LEFTOVERS_H

#include "plan/plan.h"
#include "store/store.h"

struct leftovers {
    struct task *parts; /* by seq, then by member */
    struct task *late;  /* by seq */
    size_t part_count, part_capacity, late_count, late_capacity;
};

/* Reads them from the store; their tasks belong to the batch. */
bool leftovers_load(struct leftovers *leftovers, struct store *store, const struct plan *plan,
                    struct batch *batch, struct problem *problem);
void leftovers_fini(struct leftovers *leftovers);

#endif
