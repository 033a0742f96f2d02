/*
 * The outputs of a batch, written from its store.
 */
#ifndef LEDGERBATCH_PUBLISH_OUTPUT_H
#define LEDGERBATCH_PUBLISH_OUTPUT_H

#include "base/buffer.h"
#include "plan/plan.h"
#include "publish/publication.h"
#include "publish/totals.h"
#include "store/store.h"
#include "store/stored_book.h"

/* Finds the place of a transaction in the input, which the store does not know. */
struct output_places {
    void (*find)(const void *context, uint32_t seq, struct slice *file, uint32_t *line);
    const void *context;
};

/* Which statements share a file: --statements. */
enum statement_files {
    STATEMENT_FILES_GROUP, /* those of a group's clients, with the client in the first column */
    STATEMENT_FILES_CLIENT /* none: each client has a folder */
};

struct output_options {
    const char *folder;
    uint32_t day;                    /* the date of a day; 0: of a run, which ends with its tasks */
    uint32_t first_month, end_month; /* the months that end */
    bool statements;                 /* the plan has month-end statements */
    const struct trial_place *trials; /* in the planned order */
    size_t trial_count;
    bool is_partial; /* some clients are held: see output_write() */
    enum statement_files statement_files;
    struct output_places places;
};

/* The control totals as a table for the user. */
struct output_report {
    size_t counts[TOTAL_KINDS];
    size_t carried;                     /* deferred by earlier batches */
    size_t held_clients, other_clients; /* of deferred transactions */
    struct buffer text;                 /* a table */
    struct published_file *files;       /* what output_write() has written */
    size_t file_count;
};

void output_report_fini(struct output_report *report);

/*
 * Writes what the store's window has. A day with month-end statements reads back to the statements
 * before it, too.
 *
 * Writes balances.csv, posted.journal, refused.csv, totals.csv, statements/, close/ and
 * trial-balance/ into the folder. Adds everything up again while it reads the store; if a sum is
 * wrong, it is a problem, and no output is changed.
 *
 * If some clients are held, writes only the outputs of the rollups so far. These name the missing
 * clients. balances.csv, refused.csv and trial-balance/ are left out: they could not say that they
 * are incomplete.
 */
bool output_write(struct store *store, const struct output_options *options,
                  struct output_report *report, struct problem *problem);

/* Makes the same report, and writes nothing. */
bool output_report(struct store *store, bool is_partial, const char *held_word,
                   struct output_report *report, struct problem *problem);

/* Adds a header, a line kind,group,account,commodity,debit,credit for each account by its sum so
 * far, and the sums of the groups and of the book. */
void output_trial_balance(const struct stored_book *book, struct buffer *text);

/* Adds a header and a line account,commodity,amount for each balance that is not zero, sorted. */
void output_balances(const struct stored_book *book, struct buffer *text);

#endif
