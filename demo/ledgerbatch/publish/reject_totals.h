/*
 * The totals of rejected transactions. They are no part of what was read, so nothing has to tie
 * with them.
 */
#ifndef LEDGERBATCH_PUBLISH_REJECT_TOTALS_H
#define LEDGERBATCH_PUBLISH_REJECT_TOTALS_H

#include "base/buffer.h"
#include "store/store.h"

/* The sums in one commodity, of those whose amounts are known. */
struct reject_total {
    struct stored_commodity commodity; /* how its amounts are written; owns its symbol */
    size_t transactions;
    wide debits, credits;
};

struct reject_totals {
    size_t count; /* of all rejected transactions of the batch */
    struct reject_total *items;
    size_t item_count, capacity;
};

bool reject_totals_load(struct reject_totals *totals, struct store *store, struct problem *problem);
void reject_totals_fini(struct reject_totals *totals);

#endif
