/* Owns the few rows about the input of a batch; see commit/input_rows.h. */
#include "commit/input_rows.h"

#include "base/syntax.h"

/* The stored reason has no path, since the database depends on contents only. */
static struct slice reason_without_path(const struct reject *reject, const struct source *source)
{
    size_t path = strlen(source->name) + 1;
    return path <= reject->reason_size
               ? (struct slice){ reject->reason + path, reject->reason_size - path }
               : slice_of("");
}

static bool put_sum(struct store *store, uint32_t batch, const struct reject_sum *sum,
                    struct problem *problem)
{
    struct stored_reject_total total = { .batch = batch,
                                         .symbol = slice_of(sum->symbol),
                                         .transactions = (uint32_t)sum->transactions,
                                         .debits = sum->debits.units,
                                         .credits = sum->credits.units,
                                         .scale = sum->debits.scale };
    return store_put_reject_total(store, &total, problem);
}

bool input_rows_put_rejects(struct store *store, const struct plan *plan, struct problem *problem)
{
    const struct rejects *rejects = &plan->book.rejects;
    uint32_t batch = plan->has_opening ? plan->opening.number : 1;
    bool put = true;
    for (uint32_t i = 0; put && i < rejects->count; i++) {
        char digest[SHA256_TEXT_SIZE];
        const struct reject *reject = &rejects->items[i];
        const struct source *source = plan->book.sources.items[reject->source];
        sha256_write_text(source->digest, digest);
        struct stored_reject row = { .batch = batch,
                                     .number = i + 1,
                                     .file = slice_of(digest),
                                     .line = reject->line,
                                     .reason = reason_without_path(reject, source),
                                     .entry = reject->text };
        put = store_put_reject(store, &row, problem);
    }
    for (size_t i = 0; put && i < rejects->sum_count; i++) {
        put = put_sum(store, batch, &rejects->sums[i], problem);
    }
    return put;
}

bool input_rows_put_months(struct store *store, const struct plan *plan, struct problem *problem)
{
    bool put = true;
    for (size_t i = 0; put && i < plan->opening.month_count; i++) {
        char month[MONTH_SIZE];
        const struct opening_month *reopened = &plan->opening.months[i];
        date_write_month(month, reopened->month);
        struct stored_reopening row = { .batch = plan->opening.number,
                                        .month = { month, MONTH_SIZE },
                                        .reason = slice_of(reopened->reason) };
        put = store_put_reopening(store, &row, problem);
    }
    return put;
}
