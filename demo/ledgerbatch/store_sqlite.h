/*
 * The SQLite store's own parts: store_sqlite.c opens and writes, store_sqlite_read.c reads.
 */
#ifndef LEDGERBATCH_STORE_SQLITE_H
#define LEDGERBATCH_STORE_SQLITE_H

#include <sqlite3.h>

#include "store.h"

enum store_statement {
    PUT_META,
    PUT_LANE,
    PUT_ACCOUNT,
    PUT_COMMODITY,
    PUT_BALANCE,
    PUT_TRANSACTION,
    PUT_POSTING,
    PUT_CLOSING,
    PUT_REFUSAL,
    PUT_HELD,
    SET_BALANCE,
    SET_PROGRESS,
    STATEMENT_COUNT
};

struct store {
    sqlite3 *connection;
    char *path;
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared on first use */
};

/* Says what SQLite's last call complained of; always false. */
bool store_i_fail(struct store *store, struct problem *problem);

#endif
