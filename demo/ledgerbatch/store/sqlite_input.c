/* Owns the writing of the few rows about the input of a batch. */
#include "store/sqlite.h"

bool store_put_reject(struct store *store, const struct stored_reject *reject,
                      struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_REJECT, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, reject->batch);
    store_i_bind_number(statement, 2, reject->number);
    store_i_bind_text(statement, 3, reject->file);
    store_i_bind_number(statement, 4, reject->line);
    store_i_bind_text(statement, 5, reject->reason);
    store_i_bind_text(statement, 6, reject->entry);
    return store_i_run(store, statement, problem);
}

bool store_put_reject_total(struct store *store, const struct stored_reject_total *total,
                            struct problem *problem)
{
    char debits[AMOUNT_TEXT_SIZE];
    char credits[AMOUNT_TEXT_SIZE];
    sqlite3_stmt *statement = store_i_prepare(store, PUT_REJECT_TOTAL, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, total->batch);
    store_i_bind_text(statement, 2, total->symbol);
    store_i_bind_number(statement, 3, total->transactions);
    store_i_bind_text(statement, 4,
                      (struct slice){ debits, amount_write(debits, total->debits, 0, 0) });
    store_i_bind_text(statement, 5,
                      (struct slice){ credits, amount_write(credits, total->credits, 0, 0) });
    store_i_bind_number(statement, 6, total->scale);
    return store_i_run(store, statement, problem);
}

bool store_put_reopening(struct store *store, const struct stored_reopening *reopening,
                         struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_REOPENING, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, reopening->batch);
    store_i_bind_text(statement, 2, reopening->month);
    store_i_bind_text(statement, 3, reopening->reason);
    return store_i_run(store, statement, problem);
}
