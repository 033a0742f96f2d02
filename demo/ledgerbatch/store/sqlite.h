/*
 * The parts of the SQLite store: store/sqlite.c opens the database, store/sqlite_write.c,
 * store/sqlite_steps.c and store/sqlite_input.c write rows, store/sqlite_read.c reads them,
 * store/sqlite_head.c hashes them. Only these files use this header.
 */
#ifndef LEDGERBATCH_STORE_SQLITE_H
#define LEDGERBATCH_STORE_SQLITE_H

#include <sqlite3.h>

#include "store/run_file.h"
#include "store/store.h"

/* "LBAT": the application ID of this program's databases. */
#define STORE_I_APPLICATION_ID 0x4c424154
#define STORE_I_FORMAT_VERSION 5

enum store_statement {
    PUT_BATCH,
    PUT_FILE,
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
    PUT_OUTPUT,
    PUT_REVERSAL,
    PUT_CONTRIBUTION,
    PUT_REPORT,
    PUT_STEP,
    PUT_PRICE,
    PUT_REJECT,
    PUT_REJECT_TOTAL,
    PUT_REOPENING,
    SET_DEFERRAL_DONE,
    SET_DEFERRAL_LANE,
    SET_ACCOUNT_LANE,
    SET_STATE,
    REMOVE_UNPOSTED,
    SET_BALANCE,
    SET_PROGRESS,
    REMOVE_MISSING,
    REMOVE_CONTRIBUTIONS,
    STATEMENT_COUNT
};

/* Which rows are read: those of batches after `base_seq` and up to `end_seq`. */
struct store_window {
    uint32_t base_seq, end_seq;
    uint32_t number; /* of the batch whose input totals are read */
    bool is_open;    /* has been set: opening balances are read, too */
};

struct store {
    sqlite3 *connection;
    char *path;
    struct store_window window;
    enum store_mode mode;
    bool is_empty;        /* it has no tables yet */
    bool is_own;          /* the file is this program's: it was checked, or is written */
    bool is_prepared;     /* it is written */
    int64_t data_version; /* SQLite's number for what other connections have committed */
    struct run_file run;
    sqlite3_stmt *statements[STATEMENT_COUNT]; /* prepared on first use */
    sqlite3_stmt *find_code;                   /* likewise */
};

/* Prepares the query of one kind of rows, all columns in the order of their key. NULL: failed. */
sqlite3_stmt *store_i_query(struct store *store, const char *text,
                            const struct store_window *window, struct problem *problem);
extern const char *const store_i_queries[STORE_ROW_KINDS];

/* Creates the views, and the indexes that they need. */
extern const char store_i_views[];

/* Returns a date; 0 if it is damaged. Dates are stored as YYYY-MM-DD. */
uint32_t store_i_date_at(sqlite3_stmt *query, int column);

/* Stores the hash of the rows of the last batch, which ends here. */
bool store_i_extend_chain(struct store *store, struct problem *problem);

/* Reads the number that a query answers; NULL is 0. */
bool store_i_read_number(struct store *store, const char *text, int64_t *number,
                         struct problem *problem);

/* Sets the problem to the error of SQLite's last call. Always returns false. */
bool store_i_fail(struct store *store, struct problem *problem);

/* The column `state` of a batch. */
extern const char *const store_i_state_words[];

/* --- store/sqlite_write.c: one statement of each kind --- */

/* Prepares a statement on its first use. Returns NULL after a problem. */
sqlite3_stmt *store_i_prepare(struct store *store, enum store_statement which,
                              struct problem *problem);
/* Runs a statement that answers no rows. */
bool store_i_run(struct store *store, sqlite3_stmt *statement, struct problem *problem);

/* Binding fails only without memory, or at a wrong index; the next step reports both. */
static inline void store_i_bind_number(sqlite3_stmt *statement, int column, int64_t number)
{
    (void)sqlite3_bind_int64(statement, column, number);
}

static inline void store_i_bind_text(sqlite3_stmt *statement, int column, struct slice text)
{
    (void)sqlite3_bind_text(statement, column, text.size ? text.data : "", (int)text.size,
                            SQLITE_STATIC);
}

/* --- store/sqlite_sharing.c: how the database is shared with other programs --- */

/* Reads what a writer says of itself, then begins to read the database as it is at this moment. */
bool store_i_begin_reading(struct store *store, struct problem *problem);
/* Counts what is done by now, if a writer runs. */
bool store_i_note_progress(struct store *store, struct problem *problem);
/* Takes the lock of a writer, unless the database is in memory. */
bool store_i_take_lock(struct store *store, struct problem *problem);
/* Begins a transaction. The first one prepares the database for writing. */
bool store_i_begin_writing(struct store *store, struct problem *problem);
/* Makes the database a plain file. Returns false if a writer cannot, since others read. */
bool store_i_leave_wal(struct store *store);

/* --- store/sqlite.c --- */

/* Refuses the database of another program. Changes nothing in it. */
bool store_i_check_owner(struct store *store, struct problem *problem);

/* Runs SQL without parameters and results. */
bool store_i_execute(struct store *store, const char *text, struct problem *problem);

#endif
