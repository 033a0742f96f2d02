/* Owns the sums of the input; see commit/input_totals.h. */
#include "commit/input_totals.h"

#include <stdlib.h>

#include "memory.h"

/* Adds the postings of a transaction. `seen` has the last transaction of each commodity. */
static void add_transaction(const struct plan *plan, uint32_t number,
                            struct stored_input_total *totals, uint32_t *seen)
{
    const struct transaction *transaction = &plan->book.transactions[number];
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        const struct posting *posting = &plan->book.postings[transaction->first_posting + i];
        uint32_t commodity = plan->clients.cells[posting->cell].commodity;
        *(posting->amount < 0 ? &totals[commodity].credits : &totals[commodity].debits) +=
            posting->amount;
        totals[commodity].transactions += seen[commodity] != number + 1;
        seen[commodity] = number + 1;
    }
}

bool input_totals_put(struct store *store, const struct plan *plan, struct problem *problem)
{
    size_t count = plan->book.commodity_names.count;
    struct stored_input_total *totals = memory_zeroed(count, sizeof *totals);
    uint32_t *seen = memory_zeroed(count, sizeof *seen);
    bool put = true;
    for (uint32_t i = 0; i < plan->book.transaction_count; i++) {
        add_transaction(plan, i, totals, seen);
    }
    for (uint32_t i = 0; put && i < count; i++) {
        totals[i].commodity = i;
        totals[i].batch = plan->has_opening ? plan->opening.number : 1;
        put = store_put_input_total(store, &totals[i], problem);
    }
    free(totals);
    free(seen);
    return put;
}
