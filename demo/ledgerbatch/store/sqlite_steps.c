/* Owns the rows about steps of the user's, and prices. */
#include "base/syntax.h"
#include "store/sqlite.h"

bool store_put_contribution(struct store *store, const struct stored_contribution *contribution,
                            struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_CONTRIBUTION, problem);
    if (!statement) {
        return false;
    }
    struct slice bytes = contribution->bytes;
    store_i_bind_number(statement, 1, contribution->seq);
    store_i_bind_number(statement, 2, contribution->lane);
    (void)sqlite3_bind_blob(statement, 3, bytes.size ? bytes.data : "", (int)bytes.size,
                            SQLITE_STATIC);
    return store_i_run(store, statement, problem);
}

bool store_remove_contributions(struct store *store, uint32_t seq, struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, REMOVE_CONTRIBUTIONS, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, seq);
    return store_i_run(store, statement, problem);
}

bool store_put_report(struct store *store, const struct stored_report *report,
                      struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_REPORT, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, report->seq);
    store_i_bind_text(statement, 2, report->text);
    return store_i_run(store, statement, problem);
}

bool store_put_step(struct store *store, const struct stored_step *step, struct problem *problem)
{
    sqlite3_stmt *statement = store_i_prepare(store, PUT_STEP, problem);
    if (!statement) {
        return false;
    }
    store_i_bind_number(statement, 1, step->batch);
    store_i_bind_number(statement, 2, step->number);
    store_i_bind_text(statement, 3, step->name);
    store_i_bind_text(statement, 4, step->digest);
    return store_i_run(store, statement, problem);
}

bool store_clear_prices(struct store *store, struct problem *problem)
{
    return store_i_execute(store, "DELETE FROM prices", problem);
}

bool store_put_price(struct store *store, const struct stored_price *price, struct problem *problem)
{
    char date[DATE_SIZE];
    sqlite3_stmt *statement = store_i_prepare(store, PUT_PRICE, problem);
    if (!statement) {
        return false;
    }
    date_write(date, price->date);
    store_i_bind_number(statement, 1, price->commodity);
    store_i_bind_number(statement, 2, price->currency);
    store_i_bind_text(statement, 3, (struct slice){ date, DATE_SIZE });
    store_i_bind_number(statement, 4, price->units);
    store_i_bind_number(statement, 5, price->decimals);
    return store_i_run(store, statement, problem);
}
