/* Owns the cursors of a pass, and the sums that check the store. */
#include "publish/output_scan.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "publish/statement_line.h"
#include "store/entry.h"

bool scan_next_posting(struct output_scan *scan, struct problem *problem)
{
    enum store_step step = store_cursor_next(scan->postings, &scan->posting, problem);
    scan->has_posting = step == STORE_ROW;
    return step != STORE_FAILED;
}

bool scan_next_closing(struct output_scan *scan, struct problem *problem)
{
    enum store_step step = store_cursor_next(scan->closings, &scan->closing, problem);
    scan->has_closing = step == STORE_ROW;
    return step != STORE_FAILED;
}

bool scan_next_refusal(struct output_scan *scan, struct problem *problem)
{
    enum store_step step = store_cursor_next(scan->refusals, &scan->refusal, problem);
    scan->has_refusal = step == STORE_ROW;
    return step != STORE_FAILED;
}

bool scan_next_report(struct output_scan *scan, struct problem *problem)
{
    enum store_step step = store_cursor_next(scan->reports, &scan->report, problem);
    scan->has_report = step == STORE_ROW;
    return step != STORE_FAILED;
}

static bool scan_next_missing(struct output_scan *scan, struct problem *problem)
{
    enum store_step step = store_cursor_next(scan->missing, &scan->missing_client, problem);
    scan->has_missing = step == STORE_ROW;
    return step != STORE_FAILED;
}

bool scan_missing_lanes(struct output_scan *scan, uint32_t seq, struct problem *problem)
{
    scan->missing_lanes.count = 0;
    while (scan->has_missing && scan->missing_client.seq == seq) {
        if (scan->missing_client.lane >= scan->book.lane_count) {
            return stored_book_damaged(problem, "a rollup lacks a client that does not exist");
        }
        lane_list_add(&scan->missing_lanes, scan->missing_client.lane);
        if (!scan_next_missing(scan, problem)) {
            return false;
        }
    }
    return true;
}

/* Passes those of earlier batches. */
bool scan_next_deferral(struct output_scan *scan, struct problem *problem)
{
    enum store_step step = STORE_ROW;
    do {
        step = store_cursor_next(scan->deferrals, &scan->deferral, problem);
    } while (step == STORE_ROW && scan->deferral.seq <= scan->base_seq);
    scan->has_deferral = step == STORE_ROW;
    return step != STORE_FAILED;
}

static void add_skipped(struct output_scan *scan, uint32_t seq)
{
    scan->skipped_seqs = memory_grow(scan->skipped_seqs, &scan->skipped_capacity,
                                     scan->skipped_count + 1, sizeof seq);
    scan->skipped_seqs[scan->skipped_count++] = seq;
}

static void add_late(struct output_scan *scan, uint32_t seq)
{
    scan->late_seqs =
        memory_grow(scan->late_seqs, &scan->late_capacity, scan->late_count + 1, sizeof seq);
    scan->late_seqs[scan->late_count++] = seq;
}

static void add_deferral(struct output_scan *scan, const struct stored_deferral *deferral)
{
    scan->deferral_count++;
    if (deferral->seq <= scan->base_seq) {
        return; /* of an earlier batch; when it is tried again, it is a task of this one */
    }
    add_skipped(scan, deferral->seq);
    if (deferral->done_seq != 0) {
        add_late(scan, deferral->seq);
    }
}

/*
 * Loads the failed rollups and the deferred transactions, in the order of seq. A retry ends all of
 * the rollups, and those of the transactions that it marks as done.
 */
static bool load_skipped(struct output_scan *scan, struct store *store, struct problem *problem)
{
    struct stored_failed failed;
    struct stored_deferral deferral;
    struct store_cursor *rollups = store_cursor_open(store, STORE_FAILED_ROLLUPS, problem);
    struct store_cursor *deferrals = store_cursor_open(store, STORE_DEFERRALS, problem);
    bool good = rollups && deferrals;
    enum store_step rollup = good ? store_cursor_next(rollups, &failed, problem) : STORE_FAILED;
    enum store_step next = good ? store_cursor_next(deferrals, &deferral, problem) : STORE_FAILED;
    while ((rollup == STORE_ROW || next == STORE_ROW) && rollup != STORE_FAILED &&
           next != STORE_FAILED) {
        if (next != STORE_ROW || (rollup == STORE_ROW && failed.seq < deferral.seq)) {
            add_skipped(scan, failed.seq);
            add_late(scan, failed.seq);
            rollup = store_cursor_next(rollups, &failed, problem);
            continue;
        }
        add_deferral(scan, &deferral);
        next = store_cursor_next(deferrals, &deferral, problem);
    }
    store_cursor_close(rollups);
    store_cursor_close(deferrals);
    return rollup == STORE_END && next == STORE_END;
}

static bool load_facts(struct output_scan *scan, struct store *store, struct problem *problem)
{
    struct store_facts facts;
    if (!store_read_facts(store, &facts, problem)) {
        return false;
    }
    scan->base_seq = facts.base_seq;
    scan->task_count = facts.task_count;
    scan->seq = facts.base_seq;
    return load_skipped(scan, store, problem);
}

/* Takes the postings of earlier batches in the window out of the running balances. */
static bool take_back(struct output_scan *scan, struct problem *problem)
{
    struct stored_posting posting;
    struct stored_cell *cell;
    struct store_cursor *cursor = store_cursor_open(scan->store, STORE_POSTINGS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &posting, problem);
        if (step == STORE_ROW && posting.seq > scan->base_seq) {
            break;
        }
        posting.amount = -posting.amount;
        if (step == STORE_ROW && !stored_book_add_posting(&scan->book, &posting, &cell, problem)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step != STORE_FAILED;
}

/* If the batch has month-end statements, also reads what was posted since the ones before. */
static bool begin_statements(struct output_scan *scan, struct problem *problem)
{
    uint32_t seq;
    if (!scan->options->statements || scan->options->first_month == scan->options->end_month) {
        return true;
    }
    scan->statements = memory_zeroed(scan->book.lane_count + 1, sizeof *scan->statements);
    if (scan->base_seq == 0) {
        return true;
    }
    if (!store_read_statement_seq(scan->store, scan->base_seq, &seq, problem)) {
        return false;
    }
    store_widen_window(scan->store, seq > 0 ? seq - 1 : 0);
    return take_back(scan, problem);
}

uint32_t scan_next_seq(struct output_scan *scan)
{
    uint32_t seq = scan->seq + 1;
    while (scan->passed_count < scan->skipped_count &&
           scan->skipped_seqs[scan->passed_count] == seq) {
        scan->passed_count++;
        seq++;
    }
    if (seq > scan->base_seq + scan->task_count && scan->late_passed_count < scan->late_count) {
        seq = scan->task_count + scan->late_seqs[scan->late_passed_count++];
    }
    return seq;
}

bool scan_begin(struct output_scan *scan, struct store *store, const struct output_options *options,
                struct problem *problem)
{
    *scan =
        (struct output_scan){ .options = options, .store = store, .file = { .descriptor = -1 } };
    if (!stored_book_load(&scan->book, store, problem) || !load_facts(scan, store, problem) ||
        !begin_statements(scan, problem)) {
        return false;
    }
    totals_begin(&scan->totals, &scan->book);
    scan->trial_passed_count = options->is_partial ? options->trial_count : 0;
    scan->transactions = store_cursor_open(store, STORE_TRANSACTIONS, problem);
    scan->postings = store_cursor_open(store, STORE_POSTINGS, problem);
    scan->closings = store_cursor_open(store, STORE_CLOSINGS, problem);
    scan->refusals = store_cursor_open(store, STORE_REFUSALS, problem);
    scan->missing = store_cursor_open(store, STORE_MISSING, problem);
    scan->deferrals = store_cursor_open(store, STORE_DEFERRALS, problem);
    scan->reports = store_cursor_open(store, STORE_REPORTS, problem);
    store_widen_window(store, scan->base_seq);
    return scan->transactions && scan->postings && scan->closings && scan->refusals &&
           scan->missing && scan->deferrals && scan->reports && scan_next_deferral(scan, problem) &&
           scan_next_report(scan, problem) && scan_next_posting(scan, problem) &&
           scan_next_closing(scan, problem) && scan_next_refusal(scan, problem) &&
           scan_next_missing(scan, problem);
}

void scan_fini(struct output_scan *scan)
{
    struct problem ignored; /* if the file is still open, an earlier problem has been reported */
    for (size_t i = 0; scan->statements && i <= scan->book.lane_count; i++) {
        buffer_fini(&scan->statements[i]);
    }
    free(scan->statements);
    store_cursor_close(scan->transactions);
    store_cursor_close(scan->postings);
    store_cursor_close(scan->closings);
    store_cursor_close(scan->refusals);
    store_cursor_close(scan->missing);
    store_cursor_close(scan->deferrals);
    store_cursor_close(scan->reports);
    free(scan->missing_lanes.items);
    free(scan->skipped_seqs);
    free(scan->late_seqs);
    (void)publication_close(&scan->file, &ignored);
    publication_fini(&scan->publication);
    buffer_fini(&scan->journal);
    buffer_fini(&scan->refused);
    buffer_fini(&scan->page);
    buffer_fini(&scan->path);
    totals_fini(&scan->totals);
    stored_book_fini(&scan->book);
}

/*
 * Adds a line to the page of a close for the first of two postings: this one empties an account,
 * and the second one posts to the retained earnings.
 */
static void add_close_line(struct output_scan *scan, const struct stored_posting *posting)
{
    const struct stored_account *account = &scan->book.accounts[posting->account];
    const struct stored_commodity *commodity = &scan->book.commodities[posting->commodity];
    if (posting->number % 2 == 0 || !account->has_lane) {
        return;
    }
    buffer_add_field(&scan->page, scan->book.lanes[account->lane].client);
    buffer_add_byte(&scan->page, ',');
    buffer_add_field(&scan->page, account->name);
    buffer_add_byte(&scan->page, ',');
    buffer_add_field(&scan->page, commodity->symbol);
    buffer_add_byte(&scan->page, ',');
    entry_number(&scan->page, commodity, -posting->amount);
    buffer_add_byte(&scan->page, '\n');
}

/* Checks the posting, and completes it: the store has no running balances of house accounts, since
 * their postings end in any order. Here they are in the order of seq. */
static bool check_posting(struct output_scan *scan, struct problem *problem)
{
    struct stored_posting *posting = &scan->posting;
    struct stored_cell *cell;
    if (posting->price.size > 0 && posting->price_commodity >= scan->book.commodity_count) {
        return stored_book_damaged(problem, "a posting is of no account or commodity");
    }
    if (!amount_fits(posting->amount)) {
        return stored_book_damaged(problem, "a posting has more digits than an amount has");
    }
    if (!stored_book_add_posting(&scan->book, posting, &cell, problem)) {
        return false;
    }
    if (posting->has_balance && cell->running != posting->balance) {
        return stored_book_damaged(problem, "a running balance does not add up");
    }
    posting->balance = cell->running;
    posting->has_balance = true;
    return true;
}

bool scan_postings(struct output_scan *scan, const struct stored_transaction *transaction,
                   struct problem *problem)
{
    bool is_close = slice_equal(transaction->kind, slice_of("close"));
    bool is_post = slice_equal(transaction->kind, slice_of("post"));
    for (uint32_t number = 1; scan->has_posting && scan->posting.seq == transaction->seq;
         number++) {
        const struct stored_posting *posting = &scan->posting;
        if (!check_posting(scan, problem)) {
            return false;
        }
        /* The numbers of a rollup have gaps, where there was nothing to post. */
        if (is_post && posting->number != number) {
            return stored_book_damaged(problem, "a posting is missing");
        }
        if (!scan->is_quiet) {
            totals_add_posting(&scan->totals, transaction, posting);
        }
        const struct stored_account *account = &scan->book.accounts[posting->account];
        const struct stored_commodity *commodities = scan->book.commodities;
        entry_posting(&scan->journal, account->name, &commodities[posting->commodity], posting,
                      &commodities[posting->price_commodity]);
        if (scan->statements) {
            uint32_t lane = account->has_lane ? account->lane : (uint32_t)scan->book.lane_count;
            statement_line_posting(&scan->statements[lane], &scan->book,
                                   scan_statement_client(scan, lane), transaction, posting,
                                   posting->balance);
        }
        if (is_close) {
            add_close_line(scan, posting);
        }
        if (!scan_next_posting(scan, problem)) {
            return false;
        }
    }
    return true;
}

void scan_place_fields(const struct output_scan *scan, struct buffer *text, uint32_t seq,
                       uint32_t date)
{
    struct slice file = { "", 0 };
    uint32_t line = 0;
    scan->options->places.find(scan->options->places.context, seq, &file, &line);
    entry_place(text, seq, date);
    buffer_add_field(text, file);
    buffer_add_byte(text, ',');
    if (line != 0) {
        buffer_add_number(text, line);
    }
    buffer_add_byte(text, ',');
}

void scan_refusal_line(struct output_scan *scan, const struct stored_transaction *transaction)
{
    struct buffer *text = &scan->refused;
    scan_place_fields(scan, text, transaction->seq, transaction->date);
    buffer_add_field(text, scan->refusal.reason);
    buffer_add_byte(text, '\n');
}

bool scan_check_end(struct output_scan *scan, struct problem *problem)
{
    if (scan->has_posting || scan->has_closing || scan->has_refusal || scan->has_missing ||
        scan->has_report) {
        return stored_book_damaged(problem, "rows of no transaction");
    }
    return stored_book_check_balances(&scan->book, problem) &&
           totals_finish(&scan->totals, scan->store, &scan->book, scan->options->is_partial,
                         problem);
}
