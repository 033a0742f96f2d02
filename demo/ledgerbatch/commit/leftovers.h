/*
 * The rollups that earlier runs have left undone, wholly or in part.
 *
 * A rollup that was done without a held client lacks the part for this client. A task of its own
 * makes up for the part, in the order of the client's lane. A rollup that failed because clients
 * were held is run late.
 */
#ifndef LEDGERBATCH_COMMIT_LEFTOVERS_H
#define LEDGERBATCH_COMMIT_LEFTOVERS_H

#include "plan/plan.h"
#include "store/store.h"

struct leftovers {
    struct task *parts; /* by seq, then by client */
    struct task *late;  /* by seq */
    size_t part_count, part_capacity, late_count, late_capacity;
    size_t deferred_count; /* of the late tasks: transactions */
    size_t deferral_count; /* all that were deferred in this batch, done or not */
    size_t carried_count;  /* of earlier batches, and not tried again in this one */
};

/*
 * Reads the leftovers from the store. Their tasks point to the batch. Deferred transactions are
 * leftovers of a retry only. In another run they stay deferred, and their clients are held. Those
 * of earlier batches stay deferred, too, unless the plan has them.
 */
bool leftovers_load(struct leftovers *leftovers, struct store *store, const struct plan *plan,
                    struct batch *batch, bool is_retry, struct problem *problem);
void leftovers_fini(struct leftovers *leftovers);

#endif
