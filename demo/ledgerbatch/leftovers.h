/*
 * What earlier runs have left undone of rollups: the parts of clients that they
 * went without. Each is made up by a task of its own, in the client's order.
 */
#ifndef LEDGERBATCH_LEFTOVERS_H
#define LEDGERBATCH_LEFTOVERS_H

#include "plan.h"
#include "store.h"

struct leftovers {
    struct task *parts; /* by seq, then by member */
    size_t part_count, part_capacity;
};

/* Reads them from the store; their tasks belong to the batch. */
bool leftovers_load(struct leftovers *leftovers, struct store *store, const struct plan *plan,
                    struct batch *batch, struct problem *problem);
void leftovers_fini(struct leftovers *leftovers);

#endif
