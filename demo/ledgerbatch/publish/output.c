/*
 * Owns the pass over the store that makes all outputs: goes through the transactions in the order
 * of seq, each with its postings, closing balances or refusal.
 */
#include "publish/output.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "publish/output_scan.h"
#include "publish/publication.h"
#include "store/entry.h"

/* The journal is written to the file in pieces of at least this size. */
#define PIECE_SIZE ((size_t)1 << 20)

static uint32_t later(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

struct balance_line {
    struct slice account, symbol;
    const struct stored_cell *cell;
};

static int compare_lines(const void *left, const void *right)
{
    const struct balance_line *a = left;
    const struct balance_line *b = right;
    int order = slice_compare(a->account, b->account);
    return order ? order : slice_compare(a->symbol, b->symbol);
}

void output_balances(const struct stored_book *book, struct buffer *text)
{
    struct balance_line *lines = memory_zeroed(book->cell_count, sizeof *lines);
    size_t count = 0;
    for (size_t i = 0; i < book->cell_count; i++) {
        const struct stored_cell *cell = &book->cells[i];
        if (cell->balance != 0) {
            lines[count++] =
                (struct balance_line){ book->accounts[cell->account].name,
                                       book->commodities[cell->commodity].symbol, cell };
        }
    }
    qsort(lines, count, sizeof *lines, compare_lines);
    buffer_add_text(text, "account,commodity,amount\n");
    for (size_t i = 0; i < count; i++) {
        buffer_add_field(text, lines[i].account);
        buffer_add_byte(text, ',');
        buffer_add_field(text, lines[i].symbol);
        buffer_add_byte(text, ',');
        entry_number(text, &book->commodities[lines[i].cell->commodity], lines[i].cell->balance);
        buffer_add_byte(text, '\n');
    }
    free(lines);
}

/* Writes the style of each commodity, so that readers need not guess it from the amounts. */
static void add_commodity_formats(struct output_scan *scan)
{
    for (size_t i = 0; i < scan->book.commodity_count; i++) {
        const struct stored_commodity *commodity = &scan->book.commodities[i];
        if (commodity->scale == 0 || commodity->symbol.size == 0) {
            continue;
        }
        buffer_add_text(&scan->journal, "commodity ");
        entry_symbol(&scan->journal, commodity->symbol);
        buffer_add_text(&scan->journal, "\n    format ");
        entry_sample(&scan->journal, commodity);
        buffer_add_text(&scan->journal, "\n\n");
    }
}

static bool flush_journal(struct output_scan *scan, size_t at_least, struct problem *problem)
{
    if (scan->journal.size < at_least) {
        return true;
    }
    bool written = publication_append(&scan->file, buffer_slice(&scan->journal), problem);
    scan->journal.size = 0;
    return written;
}

/* Says which day a transaction is about that is booked later. */
static void add_value_date(struct output_scan *scan, const struct stored_transaction *transaction)
{
    if (transaction->value_date != 0) {
        buffer_add_text(&scan->journal, "    ; value date: ");
        date_write(buffer_room(&scan->journal, DATE_SIZE), transaction->value_date);
        scan->journal.size += DATE_SIZE;
        buffer_add_byte(&scan->journal, '\n');
    }
}

static bool publish_post(struct output_scan *scan, const struct stored_transaction *transaction,
                         struct problem *problem)
{
    entry_header(&scan->journal, transaction);
    add_value_date(scan, transaction);
    if (!scan_postings(scan, transaction, problem)) {
        return false;
    }
    buffer_add_byte(&scan->journal, '\n');
    return true;
}

/* Adds a transaction that is not posted, with the reason. Each line is a comment. */
static void add_comment(struct buffer *journal, const char *before, struct slice reason,
                        struct slice entry)
{
    buffer_add_text(journal, before);
    buffer_add(journal, reason);
    buffer_add_byte(journal, '\n');
    while (entry.size > 0) {
        const char *newline = memchr(entry.data, '\n', entry.size);
        size_t size = newline ? (size_t)(newline - entry.data) + 1 : entry.size;
        buffer_add_text(journal, "; ");
        buffer_add(journal, (struct slice){ entry.data, size });
        entry.data += size;
        entry.size -= size;
    }
    buffer_add_byte(journal, '\n');
}

/* Adds the deferred transactions before a seq as comments. They stay when they are posted later. */
static bool publish_deferrals(struct output_scan *scan, uint32_t before, struct problem *problem)
{
    while (scan->has_deferral && scan->deferral.seq < before) {
        add_comment(&scan->journal, "; deferred: ", scan->deferral.reason, scan->deferral.entry);
        scan->last_date = later(scan->last_date, scan->deferral.date);
        if (!scan_next_deferral(scan, problem)) {
            return false;
        }
    }
    return true;
}

/* Writes a refused transaction, each line as a comment. */
static bool publish_refused(struct output_scan *scan, const struct stored_transaction *transaction,
                            struct problem *problem)
{
    if (!scan->has_refusal || scan->refusal.seq != transaction->seq) {
        return stored_book_damaged(problem, "a refusal is missing");
    }
    add_comment(&scan->journal, "; refused: ", scan->refusal.reason, scan->refusal.entry);
    scan_refusal_line(scan, transaction);
    return scan_next_refusal(scan, problem);
}

/* Reads a transaction of an earlier batch, for the statements of this one. */
static bool skim_transaction(struct output_scan *scan, const struct stored_transaction *transaction,
                             struct problem *problem)
{
    if (slice_equal(transaction->kind, slice_of("refused"))) {
        return scan_next_refusal(scan, problem);
    }
    scan->is_quiet = true;
    bool read = slice_equal(transaction->kind, slice_of("post"))
                    ? scan_postings(scan, transaction, problem)
                    : scan_rollup(scan, transaction, problem);
    scan->is_quiet = false;
    scan->journal.size = scan->skimmed_size;
    return read;
}

static bool publish_transaction(struct output_scan *scan,
                                const struct stored_transaction *transaction,
                                struct problem *problem)
{
    if (!scan_house_statement(scan, transaction, problem)) {
        return false;
    }
    if (transaction->seq <= scan->base_seq) {
        return skim_transaction(scan, transaction, problem);
    }
    bool follows = transaction->seq == scan_next_seq(scan);
    scan->seq = transaction->seq;
    scan->last_date = later(scan->last_date, transaction->date);
    totals_add_transaction(&scan->totals, transaction);
    if (!publish_deferrals(scan, transaction->seq, problem) ||
        !scan_write_trials(scan, transaction->seq, problem)) {
        return false;
    }
    if (!follows && !scan->options->is_partial) {
        return stored_book_damaged(problem, "a transaction is missing");
    }
    if (slice_equal(transaction->kind, slice_of("post"))) {
        return publish_post(scan, transaction, problem);
    }
    if (slice_equal(transaction->kind, slice_of("refused"))) {
        return publish_refused(scan, transaction, problem);
    }
    return scan_rollup(scan, transaction, problem);
}

static bool publish_transactions(struct output_scan *scan, struct problem *problem)
{
    struct stored_transaction transaction;
    enum store_step step = STORE_ROW;
    add_commodity_formats(scan);
    scan->skimmed_size = scan->journal.size;
    while (step == STORE_ROW) {
        step = store_cursor_next(scan->transactions, &transaction, problem);
        if (step == STORE_ROW && (!publish_transaction(scan, &transaction, problem) ||
                                  !flush_journal(scan, PIECE_SIZE, problem))) {
            return false;
        }
    }
    return step == STORE_END && scan_house_statement(scan, NULL, problem) &&
           publish_deferrals(scan, UINT32_MAX, problem) &&
           scan_write_trials(scan, UINT32_MAX, problem) && flush_journal(scan, 0, problem) &&
           scan_check_end(scan, problem);
}

static bool write_totals(struct output_scan *scan, struct problem *problem)
{
    struct buffer text = { 0 };
    totals_write(&scan->totals, &scan->book, &text);
    bool written =
        publication_write(&scan->publication, "totals.csv", buffer_slice(&text), problem);
    buffer_fini(&text);
    return written;
}

/* Adds a line SEQ,DATE,FILE,LINE,CLIENT,SINCE,AGE,REASON to deferred.csv. The age is in days. */
static void add_deferred_line(const struct output_scan *scan, struct buffer *text,
                              const struct stored_deferral *deferral)
{
    scan_place_fields(scan, text, deferral->seq, deferral->date);
    if (deferral->has_lane && deferral->lane < scan->book.lane_count) {
        buffer_add_field(text, scan->book.lanes[deferral->lane].client);
    }
    buffer_add_byte(text, ',');
    buffer_add_number(text, deferral->root_seq);
    buffer_add_byte(text, ',');
    buffer_add_number(text, date_days(scan->options->day ? scan->options->day : scan->last_date) -
                                date_days(deferral->date));
    buffer_add_byte(text, ',');
    buffer_add_field(text, deferral->reason);
    buffer_add_byte(text, '\n');
}

/* Writes the transactions that are still deferred, unless none has ever been. */
static bool write_deferred(struct output_scan *scan, struct problem *problem)
{
    struct stored_deferral deferral;
    struct buffer text = { 0 };
    if (scan->deferral_count == 0) {
        return true;
    }
    struct store_cursor *cursor = store_cursor_open(scan->store, STORE_DEFERRALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    buffer_add_text(&text, "seq,date,file,line,client,since,age,reason\n");
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &deferral, problem);
        if (step == STORE_ROW && deferral.done_seq == 0) {
            add_deferred_line(scan, &text, &deferral);
        }
    }
    store_cursor_close(cursor);
    bool written = step == STORE_END && publication_write(&scan->publication, "deferred.csv",
                                                          buffer_slice(&text), problem);
    buffer_fini(&text);
    return written;
}

/* Writes the tables about the whole batch. */
static bool write_tables(struct output_scan *scan, struct problem *problem)
{
    struct buffer balances = { 0 };
    output_balances(&scan->book, &balances);
    bool written =
        publication_write(&scan->publication, "balances.csv", buffer_slice(&balances), problem) &&
        publication_write(&scan->publication, "refused.csv", buffer_slice(&scan->refused), problem);
    buffer_fini(&balances);
    return written;
}

static bool publish_all(struct output_scan *scan, const struct output_options *options,
                        struct problem *problem)
{
    buffer_add_text(&scan->refused, "seq,date,file,line,reason\n");
    if (options->is_partial) {
        buffer_add_text(&scan->journal, "; incomplete: some clients are held\n\n");
    }
    return publication_begin(&scan->publication, options->folder, problem) &&
           publication_open(&scan->publication, &scan->file, "posted.journal", problem) &&
           publish_transactions(scan, problem) && publication_close(&scan->file, problem) &&
           write_totals(scan, problem) && write_deferred(scan, problem) &&
           (options->is_partial || write_tables(scan, problem)) &&
           publication_finish(&scan->publication, problem);
}

static void make_report(const struct totals *totals, const struct stored_book *book,
                        const char *held_word, struct output_report *report)
{
    memcpy(report->counts, totals->counts, sizeof report->counts);
    report->carried = totals->carried_count;
    report->held_clients = totals_count_clients(totals, REACH_HELD);
    report->other_clients = totals_count_clients(totals, REACH_OTHER);
    report->text.size = 0;
    totals_show(totals, book, held_word, &report->text);
}

bool output_report(struct store *store, bool is_partial, const char *held_word,
                   struct output_report *report, struct problem *problem)
{
    struct stored_book book;
    struct totals totals = { 0 };
    bool loaded = stored_book_load(&book, store, problem) &&
                  totals_load(&totals, store, &book, is_partial, problem);
    if (loaded) {
        make_report(&totals, &book, held_word, report);
    }
    totals_fini(&totals);
    stored_book_fini(&book);
    return loaded;
}

bool output_write(struct store *store, const struct output_options *options,
                  struct output_report *report, struct problem *problem)
{
    struct output_scan scan;
    bool written =
        scan_begin(&scan, store, options, problem) && publish_all(&scan, options, problem);
    if (written) {
        make_report(&scan.totals, &scan.book, "held", report);
        published_files_free(report->files, report->file_count);
        report->files = scan.publication.files;
        report->file_count = scan.publication.count;
        scan.publication.files = NULL;
        scan.publication.count = 0;
    }
    scan_fini(&scan);
    return written;
}

void output_report_fini(struct output_report *report)
{
    buffer_fini(&report->text);
    published_files_free(report->files, report->file_count);
}
