/*
 * One pass over a store, in the order of seq. Only the files publish/output*.c use this.
 */
#ifndef LEDGERBATCH_PUBLISH_OUTPUT_SCAN_H
#define LEDGERBATCH_PUBLISH_OUTPUT_SCAN_H

#include "plan/lane_list.h"
#include "publish/output.h"
#include "publish/publication.h"
#include "publish/totals.h"

struct output_scan {
    const struct output_options *options;
    struct store *store;
    struct stored_book book;
    struct totals totals;
    struct store_cursor *transactions, *postings, *closings, *refusals, *missing, *reports;
    uint32_t base_seq, task_count;
    uint32_t seq;  /* of the transaction that is written now */
    bool is_quiet; /* the transaction is of an earlier batch, and is only read for statements */
    /* Tasks that are not done in their place, and those of them that are done late: by seq. */
    uint32_t *skipped_seqs, *late_seqs;
    size_t skipped_count, skipped_capacity, passed_count;
    size_t late_count, late_capacity, late_passed_count;
    struct store_cursor *deferrals;
    struct stored_deferral deferral; /* the next one */
    bool has_deferral;
    size_t deferral_count;     /* how many there are, done or not */
    uint32_t last_date;        /* of all transactions so far */
    size_t trial_passed_count; /* trial balances that are written, or left out */
    /* The next row of each of the other cursors. */
    struct stored_posting posting;
    struct stored_closing closing;
    struct stored_refusal refusal;
    struct stored_share missing_client;
    struct stored_report report;
    bool has_posting, has_closing, has_refusal, has_missing, has_report;
    struct lane_list missing_lanes; /* of the rollup that is written now */
    struct publication publication;
    struct publication_file file; /* posted.journal */
    size_t skimmed_size; /* of the journal, while transactions of earlier batches are read */
    struct buffer journal, refused;
    struct buffer *statements; /* by lane: postings since the last statement; last, the house's */
    char house_month[sizeof "YYYY-MM"]; /* of the house's last statement, or empty */
    bool has_house_month;               /* that statement is not written yet */
    bool is_house_quiet;                /* it is of an earlier batch */
    struct buffer page, path;
};

bool scan_begin(struct output_scan *scan, struct store *store, const struct output_options *options,
                struct problem *problem);
void scan_fini(struct output_scan *scan);

/* Writes the postings of a transaction to the journal and to the statements of its clients. */
bool scan_postings(struct output_scan *scan, const struct stored_transaction *transaction,
                   struct problem *problem);

/*
 * Writes the statements of a group for a month, and checks the closing balances. Only scan_rollup()
 * calls this.
 */
bool scan_statements(struct output_scan *scan, const struct stored_transaction *transaction,
                     struct slice month, struct slice group, struct problem *problem);
/*
 * Writes the statement of the house accounts, if a month has statements and the next transaction is
 * no rollup of that month. `next` is NULL behind the last transaction.
 */
bool scan_house_statement(struct output_scan *scan, const struct stored_transaction *next,
                          struct problem *problem);
/* Returns what is in the client's column of statement lines; NULL if there is no such column. */
const struct slice *scan_statement_client(const struct output_scan *scan, uint32_t lane);

/* Writes the outputs of a month-end rollup: statements, or a generated transaction. */
bool scan_rollup(struct output_scan *scan, const struct stored_transaction *transaction,
                 struct problem *problem);

/* Writes the trial balances that are due before a seq. Late postings are in none. */
bool scan_write_trials(struct output_scan *scan, uint32_t before, struct problem *problem);

/* Adds the first fields of a line about a transaction: SEQ,DATE,FILE,LINE, with a comma behind. */
void scan_place_fields(const struct output_scan *scan, struct buffer *text, uint32_t seq,
                       uint32_t date);
/* Adds a line to refused.csv. */
void scan_refusal_line(struct output_scan *scan, const struct stored_transaction *transaction);
bool scan_next_posting(struct output_scan *scan, struct problem *problem);
bool scan_next_closing(struct output_scan *scan, struct problem *problem);
bool scan_next_report(struct output_scan *scan, struct problem *problem);
bool scan_next_refusal(struct output_scan *scan, struct problem *problem);

/* Returns the next seq: those of the plan without the failed rollups, then the late rollups. */
uint32_t scan_next_seq(struct output_scan *scan);

/* Moves to the next deferral. */
bool scan_next_deferral(struct output_scan *scan, struct problem *problem);

/* Finds the clients that a rollup was done without. */
bool scan_missing_lanes(struct output_scan *scan, uint32_t seq, struct problem *problem);

/* Checks that every row has been used, and that all balances are the sums of their postings. */
bool scan_check_end(struct output_scan *scan, struct problem *problem);

#endif
