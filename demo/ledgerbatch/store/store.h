/*
 * The store: the database of a batch, behind an interface without SQL. store/sqlite.c implements
 * it.
 *
 * One thread at a time uses a store. All rows that are put between store_begin() and store_commit()
 * become durable together, or none does. To put a row that is already there is an error, so that
 * nothing is posted twice.
 *
 * Functions that return a bool return false after a problem, and set it.
 */
#ifndef LEDGERBATCH_STORE_STORE_H
#define LEDGERBATCH_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/amount.h"
#include "base/sha256.h"
#include "base/slice.h"
#include "problem.h"

struct store;

/* A closed batch has only deferred transactions left. */
enum store_state { STORE_EMPTY, STORE_UNFINISHED, STORE_CLOSED, STORE_FINISHED };

/* Facts about the last batch in a store: a run, or one of the days that follow one another. */
struct store_facts {
    enum store_state state;
    uint32_t number;               /* from 1 */
    bool is_day;                   /* it was made by the command day */
    uint32_t date;                 /* of a day; of a run, the date of its last task */
    char digest[SHA256_TEXT_SIZE]; /* of input and rules */
    uint32_t base_seq;             /* the seq of each of its tasks is larger */
    uint32_t task_count, transaction_count;
};

struct stored_lane {
    uint32_t number;
    struct slice client, group;
    uint32_t last_seq;
};

struct stored_account {
    uint32_t number;
    struct slice name;
    bool has_lane; /* false: a house account */
    uint32_t lane;
};

struct stored_commodity {
    uint32_t number;
    struct slice symbol;
    uint32_t scale, storage_scale;
    bool symbol_first, spaced;
};

struct stored_balance {
    uint32_t account, commodity;
    int64_t amount;
};

struct stored_transaction {
    uint32_t seq, date;
    struct slice kind; /* post, refused, statement, accrual, close, fees */
    char status;       /* '*', '!' or 0 */
    bool has_code;
    struct slice code, text;
    uint32_t value_date; /* the date that it is about, if it was booked later; else 0 */
};

struct stored_posting {
    uint32_t seq, number; /* counted from 1 within its transaction */
    uint32_t account, commodity;
    int64_t amount;
    bool has_balance;   /* false: of a house account */
    int64_t balance;    /* after this posting */
    struct slice price; /* a decimal, or empty */
    uint32_t price_commodity;
    bool price_is_total;
};

/* The sums of the input in one commodity. */
struct stored_input_total {
    uint32_t batch;                   /* set when it is put */
    uint32_t commodity, transactions; /* how many transactions have a posting in it */
    wide debits, credits;             /* the sums of the positive and of the negative amounts */
};

/* A posting of a transaction that has not been posted. */
struct stored_unposted {
    uint32_t seq, number; /* counted from 1 within its transaction */
    uint32_t account, commodity;
    int64_t amount;
};

/* A transaction of the input that was rejected. */
struct stored_reject {
    uint32_t batch, number; /* of the batch; its place among the rejected ones, from 1 */
    struct slice file;      /* the SHA-256 of its file */
    uint32_t line;
    struct slice reason, entry; /* begins with the faulty line's number; all lines of the input */
};

/* A closed month that was reopened for transactions of a batch. */
struct stored_reopening {
    uint32_t batch;
    struct slice month; /* YYYY-MM */
    struct slice reason;
};

/* The sums of the rejected transactions whose amounts are known, in one commodity. */
struct stored_reject_total {
    uint32_t batch;
    struct slice symbol;
    uint32_t transactions;
    wide debits, credits; /* in units of 10^-scale */
    uint32_t scale;
};

/* A file that was posted, by what it says. */
struct stored_file {
    char digest[SHA256_TEXT_SIZE];
    uint32_t number; /* of the batch */
};

struct stored_closing {
    uint32_t seq, account, commodity;
    int64_t amount;
};

struct stored_refusal {
    uint32_t seq;
    struct slice reason, entry; /* the refused transaction as journal text */
};

/* The contribution of a client to a user's step that is done for some of its clients only.
 */
struct stored_contribution {
    uint32_t seq, lane;
    struct slice bytes;
};

/* The report of a user's step. */
struct stored_report {
    uint32_t seq;
    struct slice text;
};

/* A user's step of a batch: its name in the rules, and the SHA-256 of its object. */
struct stored_step {
    uint32_t batch, number; /* its place among the month-end steps, from 1 */
    struct slice name, digest;
};

/* The price of one of a commodity in another one, its currency, from a date on. */
struct stored_price {
    uint32_t commodity, currency, date;
    int64_t units;
    uint32_t decimals;
};

/* A rollup that failed because clients were held; it is run again after all other tasks. */
struct stored_failed {
    uint32_t seq;
    struct slice code, reason;
};

/*
 * A transaction that was skipped at its place because a client is held: --on-failure defer. `lane`
 * is that client, and `root_seq` the deferred transaction that it is held since. When it is posted
 * at a retry, this is noted, and the row stays.
 */
struct stored_deferral {
    uint32_t seq, date;
    bool has_lane; /* false: the failure is of a house account, which is not held */
    uint32_t lane, root_seq;
    struct slice reason, entry; /* the transaction as journal text */
    uint32_t done_seq;          /* its seq when it was posted, refused or deferred again; or 0 */
};

/*
 * A lane that is held: its first held task, and the failed task that is the cause, with the reason
 * of the failure.
 */
struct stored_held {
    uint32_t lane, seq, failed_seq;
    struct slice reason;
};

/* A task and one of its lanes. */
struct stored_share {
    uint32_t seq, lane;
};

/*
 * The program that posts into a database, as it describes itself to other programs. Times are in
 * milliseconds since 1970 UTC.
 */
struct store_activity {
    bool is_running;
    bool was_killed; /* none runs, and the last one has not ended by itself */
    bool is_known;   /* the fields below are valid */
    long process;
    int64_t begin_ms, commit_ms;       /* when it began to post, and when it last committed */
    uint32_t done_before, done_now;    /* tasks done of all batches: when it began, and now */
    uint32_t failed_count, held_count; /* tasks that failed or are held, up to that commit */
};

enum store_mode { STORE_READ, STORE_REOPEN, STORE_WRITE };

/*
 * Opens a database. STORE_WRITE creates it if it does not exist, STORE_REOPEN does not. Returns
 * NULL after a problem.
 *
 * With STORE_READ, everything that is read until the store is closed is as it was when the store
 * was opened, whatever another program commits. With the other two no other program can open the
 * database in these modes.
 */
struct store *store_open(const char *path, enum store_mode mode, struct problem *problem);

/*
 * Makes a database in memory: an empty one, or with `is_copy` a copy of the one at `path`. Nothing
 * that is done to it changes a file.
 */
struct store *store_open_memory(const char *path, bool is_copy, struct problem *problem);

/* Returns true if there is a file that may be a database. */
bool store_exists(const char *path);

/*
 * Closes a store, or does nothing if it is NULL. Returns false if the database cannot become one
 * plain file, since another program reads it: see "The database" in docs/ledgerbatch.md.
 */
bool store_close(struct store *store);

/* Returns what a program said that posted when this store was opened with STORE_READ. */
const struct store_activity *store_activity(const struct store *store);

/* Tells other programs, with the next commit, how many tasks failed or are held. */
void store_note_held(struct store *store, size_t failed_count, size_t held_count);

bool store_read_facts(struct store *store, struct store_facts *facts, struct problem *problem);

bool store_begin(struct store *store, struct problem *problem);
bool store_commit(struct store *store, struct problem *problem);
void store_rollback(struct store *store);

/* Creates the tables of an empty store. The caller then begins the first batch. */
bool store_create(struct store *store, struct problem *problem);

/*
 * Begins a batch: the balances become opening balances, and the batch before gets its place in the
 * chain of hashes. `facts->number` is that of the batch before plus 1. The caller then puts what is
 * new of lanes, accounts and commodities.
 */
bool store_begin_batch(struct store *store, const struct store_facts *facts,
                       struct problem *problem);

/*
 * Restricts cursors to a batch. They leave out the tasks of earlier ones, and deferrals that were
 * done before. Opening balances are read in a window only. Without one, cursors read everything.
 */
void store_set_window(struct store *store, const struct store_facts *facts);
/* Moves the begin of the window, for cursors that are opened from now on. */
void store_widen_window(struct store *store, uint32_t base_seq);

/* Finds the largest seq in use. A batch that follows has this as base_seq. */
bool store_read_last_seq(struct store *store, uint32_t *seq, struct problem *problem);
/* Finds the date of the batch before the last one; 0 if there is none. */
bool store_read_earlier_date(struct store *store, uint32_t *date, struct problem *problem);
/* Finds the base_seq of the first batch that ends on a day or later. */
bool store_read_begin_seq(struct store *store, uint32_t date, uint32_t *seq,
                          struct problem *problem);
/* Finds the seq of the last month-end's first statement up to a seq; 0 if there is none. */
bool store_read_statement_seq(struct store *store, uint32_t until, uint32_t *seq,
                              struct problem *problem);

/* Finds whether there is an index of codes. A batch that checks codes creates it, and it stays. */
bool store_has_code_index(struct store *store, bool *has_index, struct problem *problem);
bool store_index_codes(struct store *store, struct problem *problem);
/* Finds the first posted transaction with a code before the window, with the index; *seq is 0 if
 * there is none. */
bool store_find_code(struct store *store, struct slice code, uint32_t *seq, uint32_t *date,
                     struct problem *problem);

bool store_put_file(struct store *store, const struct stored_file *file, struct problem *problem);
/* Finds the date of the batch that a file was posted in; 0 if it was not. */
bool store_find_file(struct store *store, const char *digest, uint32_t *date,
                     struct problem *problem);

/* An output file of a batch. */
struct stored_output {
    uint32_t number; /* of the batch */
    uint32_t date;   /* of a day; 0: of a run */
    struct slice path;
    struct slice digest;
};

/* Removes the output files of the last batch. The caller then puts those that it has written. */
bool store_clear_outputs(struct store *store, struct problem *problem);
bool store_put_output(struct store *store, const struct stored_output *output,
                      struct problem *problem);

/* Removes all lanes. The caller then puts them with their new numbers. */
bool store_clear_lanes(struct store *store, struct problem *problem);
bool store_put_lane(struct store *store, const struct stored_lane *lane, struct problem *problem);
bool store_put_account(struct store *store, const struct stored_account *account,
                       struct problem *problem);
bool store_set_account_lane(struct store *store, const struct stored_account *account,
                            struct problem *problem);
bool store_set_deferral_lane(struct store *store, uint32_t seq, uint32_t lane,
                             struct problem *problem);
bool store_put_commodity(struct store *store, const struct stored_commodity *commodity,
                         struct problem *problem);

bool store_put_input_total(struct store *store, const struct stored_input_total *total,
                           struct problem *problem);

bool store_put_reject(struct store *store, const struct stored_reject *reject,
                      struct problem *problem);
/* Records that a closed month was reopened for transactions of a batch. */
bool store_put_reopening(struct store *store, const struct stored_reopening *reopening,
                         struct problem *problem);
bool store_put_reject_total(struct store *store, const struct stored_reject_total *total,
                            struct problem *problem);

bool store_put_transaction(struct store *store, const struct stored_transaction *transaction,
                           struct problem *problem);
bool store_put_posting(struct store *store, const struct stored_posting *posting,
                       struct problem *problem);
bool store_put_unposted(struct store *store, const struct stored_unposted *posting,
                        struct problem *problem);
bool store_put_closing(struct store *store, const struct stored_closing *closing,
                       struct problem *problem);
bool store_put_refusal(struct store *store, const struct stored_refusal *refusal,
                       struct problem *problem);
bool store_put_balance(struct store *store, const struct stored_balance *balance,
                       struct problem *problem);
bool store_put_held(struct store *store, const struct stored_held *held, struct problem *problem);
bool store_put_held_task(struct store *store, const struct stored_transaction *task,
                         struct problem *problem);
/* Records that a held task waits for a lane that was held before. */
bool store_put_holder(struct store *store, const struct stored_share *holder,
                      struct problem *problem);
/* Records that a rollup was done without a client of its group. */
bool store_put_missing(struct store *store, const struct stored_share *missing,
                       struct problem *problem);

bool store_put_contribution(struct store *store, const struct stored_contribution *contribution,
                            struct problem *problem);
/* Removes the contributions to a step whose `group` was called. */
bool store_remove_contributions(struct store *store, uint32_t seq, struct problem *problem);
bool store_put_report(struct store *store, const struct stored_report *report,
                      struct problem *problem);
bool store_put_step(struct store *store, const struct stored_step *step, struct problem *problem);
/* Removes all prices. The caller then puts those that later batches need. */
bool store_clear_prices(struct store *store, struct problem *problem);
bool store_put_price(struct store *store, const struct stored_price *price,
                     struct problem *problem);

bool store_put_deferral(struct store *store, const struct stored_deferral *deferral,
                        struct problem *problem);
/* Notes that a deferred transaction is done as the task `done_seq`, and removes its unposted
 * postings. */
bool store_set_deferral_done(struct store *store, uint32_t seq, uint32_t done_seq,
                             struct problem *problem);

/* Records that a posted transaction is reversed by the task `seq`. */
bool store_put_reversal(struct store *store, uint32_t reversed_seq, uint32_t seq,
                        struct problem *problem);
/* Finds the task that has reversed a transaction; 0: none has. */
bool store_find_reversal(struct store *store, uint32_t reversed_seq, uint32_t *seq,
                         struct problem *problem);

bool store_put_failed(struct store *store, const struct stored_failed *failed,
                      struct problem *problem);

/* Change a row; it is a problem if there is no such row. */
bool store_set_balance(struct store *store, const struct stored_balance *balance,
                       struct problem *problem);
bool store_set_progress(struct store *store, uint32_t lane, uint32_t last_seq,
                        struct problem *problem);

/* Removes a row of store_put_missing(): the rollup has now been done for that client. */
bool store_remove_missing(struct store *store, const struct stored_share *missing,
                          struct problem *problem);

/* Remove the held tasks; store_clear_held() removes the held lanes, too. */
bool store_clear_held_tasks(struct store *store, struct problem *problem);
bool store_clear_held(struct store *store, struct problem *problem);
/*
 * Creates the index for the postings of one account, unless it is there. To keep it while a batch
 * is posted would take a sixth of the time, so it comes at the end. A next batch removes it.
 */
bool store_index_postings(struct store *store, struct problem *problem);
/* Sets the state of the last batch. */
bool store_set_state(struct store *store, enum store_state state, struct problem *problem);

/* The kinds of rows. A cursor reads the rows of one kind in the order of their key. */
enum store_rows {
    STORE_LANES,
    STORE_ACCOUNTS,
    STORE_COMMODITIES,
    STORE_INPUT_TOTALS,
    STORE_REJECTS,
    STORE_REJECT_TOTALS,
    STORE_REOPENINGS,
    STORE_BALANCES,
    STORE_TRANSACTIONS,
    STORE_EARLIER_CODES, /* struct stored_transaction: posted before the window, with a code */
    STORE_POSTINGS,
    STORE_UNPOSTED,
    STORE_CLOSINGS,
    STORE_REFUSALS,
    STORE_HELD,
    STORE_HELD_TASKS, /* read into a struct stored_transaction */
    STORE_HOLDERS,
    STORE_MISSING,
    STORE_FAILED_ROLLUPS,
    STORE_DEFERRALS,
    STORE_CARRIED,  /* struct stored_share: deferred before the window, not done, and its lanes */
    STORE_OUTPUTS,  /* of all batches */
    STORE_OPENINGS, /* read into a struct stored_balance */
    STORE_CONTRIBUTIONS,
    STORE_REPORTS,
    STORE_STEPS, /* of all batches */
    STORE_PRICES
};

#define STORE_ROW_KINDS ((size_t)STORE_PRICES + 1)

struct store_cursor;

enum store_step { STORE_ROW, STORE_END, STORE_FAILED };

struct store_cursor *store_cursor_open(struct store *store, enum store_rows rows,
                                       struct problem *problem);
/* Opens a cursor for the rows of one seq: of transactions or postings of any batch. */
struct store_cursor *store_cursor_open_at(struct store *store, enum store_rows rows, uint32_t seq,
                                          struct problem *problem);
void store_cursor_close(struct store_cursor *cursor);

/*
 * Reads the next row into `row`, whose type fits the kind of the cursor. The slices in it are valid
 * until the next step.
 */
enum store_step store_cursor_next(struct store_cursor *cursor, void *row, struct problem *problem);

/* A posting with its transaction. The transaction's seq is 0 if it is missing. */
struct stored_register_row {
    struct stored_posting posting;
    struct stored_transaction transaction;
};

/* Opens a cursor for the postings of one account, in the order of seq. */
struct store_cursor *store_register_open(struct store *store, uint32_t account,
                                         struct problem *problem);
/* Reads the next row, as store_cursor_next() does. */
enum store_step store_register_next(struct store_cursor *cursor, struct stored_register_row *row,
                                    struct problem *problem);

/*
 * Hashes the schema and every column of every row. Two stores have the same head only if they say
 * the same; the places of the rows in the file do not matter. Rows of earlier batches enter by the
 * chain of hashes, so the cost is that of the last batch.
 */
bool store_read_head(struct store *store, char head[SHA256_TEXT_SIZE], struct problem *problem);

/* Checks the chain against the rows of all earlier batches. */
bool store_check_chain(struct store *store, struct problem *problem);

/* Checks the structure of the file, and that no row breaks a constraint. */
bool store_check_file(struct store *store, struct problem *problem);

#endif
