/*
 * The parts of the SQLite store: store/sqlite.c opens the database, store/sqlite_write.c writes
 * rows, store/sqlite_read.c reads them, store/sqlite_head.c hashes them. Only these files use this
 * header.
 */
#ifndef LEDGERBATCH_STORE_SQLITE_H
#define LEDGERBATCH_STORE_SQLITE_H

#include <sqlite3.h>

#include "store/store.h"

/* "LBAT": the application ID of this program's databases. */
#define STORE_I_APPLICATION_ID 0x4c424154
#define STORE_I_FORMAT_VERSION 3

enum store_statement {
    PUT_META,
    PUT_LANE,
    PUT_ACCOUNT,
    PUT_COMMODITY,
    PUT_INPUT_TOTAL,
    PUT_UNPOSTED,
    PUT_BALANCE,
    PUT_TRANSACTION,
    PUT_POSTING,
    PUT_CLOSING,
    PUT_REFUSAL,
    PUT_HELD,
    PUT_HELD_TASK,
    PUT_HOLDER,
    PUT_MISSING,
    PUT_FAILED,
    PUT_DEFERRAL,
    SET_DEFERRAL_DONE,
    REMOVE_UNPOSTED,
    SET_BALANCE,
    SET_PROGRESS,
    REMOVE_MISSING,
    STATEMENT_COUNT
};

struct store {
    sqlite3 *connection;
    char *path;
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared on first use */
};

/* Reads all columns of the rows of one kind, in the order of their key. */
extern const char *const store_i_queries[STORE_ROW_KINDS];

/* Sets the problem to the error of SQLite's last call. Always returns false. */
bool store_i_fail(struct store *store, struct problem *problem);

/* Runs SQL without parameters and results. */
bool store_i_execute(struct store *store, const char *text, struct problem *problem);

#endif
