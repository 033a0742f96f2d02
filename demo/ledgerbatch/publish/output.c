/*
 * Owns the pass over the store that makes all outputs: goes through the transactions in the order
 * of seq, each with its postings, closing balances or refusal.
 */
#include "publish/output.h"

#include <stdlib.h>

#include "memory.h"
#include "publish/output_scan.h"
#include "publish/publication.h"
#include "store/entry.h"

/* The journal is written to the file in pieces of at least this size. */
#define PIECE_SIZE ((size_t)1 << 20)

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
        if (commodity->scale == 0) {
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

static bool publish_post(struct output_scan *scan, const struct stored_transaction *transaction,
                         struct problem *problem)
{
    entry_header(&scan->journal, transaction);
    if (!scan_postings(scan, transaction, problem)) {
        return false;
    }
    buffer_add_byte(&scan->journal, '\n');
    return true;
}

/* Writes a refused transaction, each line as a comment. */
static bool publish_refused(struct output_scan *scan, const struct stored_transaction *transaction,
                            struct problem *problem)
{
    if (!scan->has_refusal || scan->refusal.seq != transaction->seq) {
        return stored_book_damaged(problem, "a refusal is missing");
    }
    struct slice entry = scan->refusal.entry;
    buffer_add_text(&scan->journal, "; refused: ");
    buffer_add(&scan->journal, scan->refusal.reason);
    buffer_add_byte(&scan->journal, '\n');
    while (entry.size > 0) {
        const char *newline = memchr(entry.data, '\n', entry.size);
        size_t size = newline ? (size_t)(newline - entry.data) + 1 : entry.size;
        buffer_add_text(&scan->journal, "; ");
        buffer_add(&scan->journal, (struct slice){ entry.data, size });
        entry.data += size;
        entry.size -= size;
    }
    buffer_add_byte(&scan->journal, '\n');
    scan_refusal_line(scan, transaction);
    return scan_next_refusal(scan, problem);
}

static bool publish_transaction(struct output_scan *scan,
                                const struct stored_transaction *transaction,
                                struct problem *problem)
{
    bool follows = transaction->seq == scan_next_seq(scan);
    scan->seq = transaction->seq;
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
    while (step == STORE_ROW) {
        step = store_cursor_next(scan->transactions, &transaction, problem);
        if (step == STORE_ROW && (!publish_transaction(scan, &transaction, problem) ||
                                  !flush_journal(scan, PIECE_SIZE, problem))) {
            return false;
        }
    }
    return step == STORE_END && flush_journal(scan, 0, problem) && scan_check_end(scan, problem);
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
           (options->is_partial || write_tables(scan, problem)) &&
           publication_finish(&scan->publication, problem);
}

bool output_write(struct store *store, const struct output_options *options,
                  struct problem *problem)
{
    struct output_scan scan;
    bool written =
        scan_begin(&scan, store, options, problem) && publish_all(&scan, options, problem);
    scan_fini(&scan);
    return written;
}
