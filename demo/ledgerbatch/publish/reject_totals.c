/* Owns the totals of rejected transactions; see publish/reject_totals.h. */
#include "publish/reject_totals.h"

#include <stdlib.h>

#include "memory.h"
#include "store/stored_book.h"

static bool add_total(struct reject_totals *totals, const struct stored_reject_total *row,
                      struct problem *problem)
{
    if (row->scale > AMOUNT_SCALE_MAX) {
        return stored_book_damaged(problem, "a sum of rejected transactions has no such decimals");
    }
    totals->items = memory_grow(totals->items, &totals->capacity, totals->item_count + 1,
                                sizeof *totals->items);
    char *symbol = memory_zeroed(row->symbol.size, 1);
    memcpy(symbol, row->symbol.data, row->symbol.size);
    struct reject_total total = { .transactions = row->transactions,
                                  .debits = row->debits,
                                  .credits = row->credits };
    total.commodity = (struct stored_commodity){ .symbol = { symbol, row->symbol.size },
                                                 .scale = row->scale,
                                                 .storage_scale = row->scale };
    totals->items[totals->item_count++] = total;
    return true;
}

static bool count_rejects(struct reject_totals *totals, struct store *store,
                          struct problem *problem)
{
    struct stored_reject reject;
    struct store_cursor *cursor = store_cursor_open(store, STORE_REJECTS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &reject, problem);
        totals->count += step == STORE_ROW;
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

bool reject_totals_load(struct reject_totals *totals, struct store *store, struct problem *problem)
{
    struct stored_reject_total row;
    if (!count_rejects(totals, store, problem)) {
        return false;
    }
    struct store_cursor *cursor = store_cursor_open(store, STORE_REJECT_TOTALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &row, problem);
        if (step == STORE_ROW && !add_total(totals, &row, problem)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

void reject_totals_fini(struct reject_totals *totals)
{
    for (size_t i = 0; i < totals->item_count; i++) {
        free((void *)totals->items[i].commodity.symbol.data);
    }
    free(totals->items);
    *totals = (struct reject_totals){ 0 };
}
