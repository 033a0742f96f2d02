/* Owns the control totals; see publish/totals.h. */
#include "publish/totals.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "store/entry.h"

/* The table on the screen has no more commodities than this; totals.csv has all. */
#define SHOWN_MAX 8

/* The columns of that table. */
#define WORD_WIDTH   10
#define COUNT_WIDTH  13
#define AMOUNT_WIDTH 20

static const char *const kind_words[TOTAL_KINDS] = {
    [TOTAL_READ] = "read",         [TOTAL_POSTED] = "posted", [TOTAL_REFUSED] = "refused",
    [TOTAL_DEFERRED] = "deferred", [TOTAL_HELD] = "held",     [TOTAL_GENERATED] = "generated"
};

void totals_begin(struct totals *totals, const struct stored_book *book)
{
    *totals = (struct totals){ .commodity_count = book->commodity_count, .book = book };
    totals->reach = memory_zeroed(book->lane_count, sizeof *totals->reach);
    totals->commodities = memory_zeroed(book->commodity_count, sizeof *totals->commodities);
}

void totals_fini(struct totals *totals)
{
    free(totals->commodities);
    free(totals->deferred_seqs);
    free(totals->reach);
    reject_totals_fini(&totals->rejected);
    *totals = (struct totals){ 0 };
}

static enum total_kind kind_of(const struct stored_transaction *transaction)
{
    if (slice_equal(transaction->kind, slice_of("post"))) {
        return TOTAL_POSTED;
    }
    return slice_equal(transaction->kind, slice_of("refused")) ? TOTAL_REFUSED : TOTAL_GENERATED;
}

static void add_amount(struct total *total, wide amount)
{
    *(amount < 0 ? &total->credits : &total->debits) += amount;
}

static void add_to_kind(struct totals *totals, enum total_kind kind, uint32_t seq,
                        uint32_t commodity, int64_t amount)
{
    struct commodity_totals *sums = &totals->commodities[commodity];
    add_amount(&sums->kinds[kind], amount);
    sums->kinds[kind].transactions += sums->last_seqs[kind] != seq;
    sums->last_seqs[kind] = seq;
}

void totals_add_transaction(struct totals *totals, const struct stored_transaction *transaction)
{
    totals->counts[kind_of(transaction)]++;
}

void totals_add_posting(struct totals *totals, const struct stored_transaction *transaction,
                        const struct stored_posting *posting)
{
    add_to_kind(totals, kind_of(transaction), posting->seq, posting->commodity, posting->amount);
}

/* --- reading the rest --- */

union total_row {
    struct stored_input_total read;
    struct stored_unposted unposted;
};

typedef void (*row_adder)(struct totals *totals, const union total_row *row);

static void add_read(struct totals *totals, const union total_row *row)
{
    totals->commodities[row->read.commodity].kinds[TOTAL_READ] =
        (struct total){ row->read.transactions, row->read.debits, row->read.credits };
}

static int compare_seqs(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

/* Notes that a deferred transaction has a posting of an account. */
static void note_reach(struct totals *totals, uint32_t account)
{
    const struct stored_book *book = totals->book;
    if (account < book->account_count && book->accounts[account].has_lane &&
        book->accounts[account].lane < book->lane_count &&
        totals->reach[book->accounts[account].lane] == REACH_NONE) {
        totals->reach[book->accounts[account].lane] = REACH_OTHER;
    }
}

static void add_unposted(struct totals *totals, const union total_row *row)
{
    bool is_deferred =
        totals->counts[TOTAL_DEFERRED] > 0 &&
        bsearch(&row->unposted.seq, totals->deferred_seqs, totals->counts[TOTAL_DEFERRED],
                sizeof *totals->deferred_seqs, compare_seqs) != NULL;
    if (is_deferred) {
        note_reach(totals, row->unposted.account);
    }
    add_to_kind(totals, is_deferred ? TOTAL_DEFERRED : TOTAL_REFUSED, row->unposted.seq,
                row->unposted.commodity, row->unposted.amount);
}

static uint32_t row_commodity(enum store_rows rows, const union total_row *row)
{
    return rows == STORE_INPUT_TOTALS ? row->read.commodity : row->unposted.commodity;
}

static bool add_rows(struct totals *totals, struct store *store, enum store_rows rows,
                     row_adder add, struct problem *problem)
{
    union total_row row;
    struct store_cursor *cursor = store_cursor_open(store, rows, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &row, problem);
        if (step == STORE_ROW && row_commodity(rows, &row) >= totals->commodity_count) {
            stored_book_damaged(problem, "an amount is of no commodity");
            step = STORE_FAILED;
        } else if (step == STORE_ROW) {
            add(totals, &row);
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static void add_deferred(struct totals *totals, const struct stored_deferral *deferral,
                         uint32_t base_seq)
{
    size_t *count = &totals->counts[TOTAL_DEFERRED];
    if (deferral->done_seq != 0) {
        return;
    }
    if (deferral->has_lane && deferral->lane < totals->book->lane_count) {
        totals->reach[deferral->lane] = REACH_HELD;
    }
    if (deferral->seq <= base_seq) {
        totals->carried_count++;
        return;
    }
    totals->deferred_seqs = memory_grow(totals->deferred_seqs, &totals->deferred_capacity,
                                        *count + 1, sizeof *totals->deferred_seqs);
    totals->deferred_seqs[(*count)++] = deferral->seq;
}

static bool find_deferred(struct totals *totals, struct store *store, uint32_t base_seq,
                          struct problem *problem)
{
    struct stored_deferral deferral;
    struct store_cursor *cursor = store_cursor_open(store, STORE_DEFERRALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &deferral, problem);
        if (step == STORE_ROW) {
            add_deferred(totals, &deferral, base_seq);
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

/* Notes the clients of transactions that earlier batches have deferred. */
static bool find_carried_reach(struct totals *totals, struct store *store, struct problem *problem)
{
    struct stored_share share;
    struct store_cursor *cursor = store_cursor_open(store, STORE_CARRIED, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &share, problem);
        if (step == STORE_ROW && share.lane < totals->book->lane_count &&
            totals->reach[share.lane] == REACH_NONE) {
            totals->reach[share.lane] = REACH_OTHER;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static wide net(const struct total *total)
{
    return total->debits + total->credits;
}

/* Finds the held total of a commodity: the rest of the one that was read. */
static void find_held(struct commodity_totals *sums)
{
    struct total *kinds = sums->kinds;
    struct total *held = &kinds[TOTAL_HELD];
    *held = kinds[TOTAL_READ];
    for (size_t kind = TOTAL_POSTED; kind < TOTAL_HELD; kind++) {
        held->transactions -= kinds[kind].transactions;
        held->debits -= kinds[kind].debits;
        held->credits -= kinds[kind].credits;
    }
}

static bool ties(const struct commodity_totals *sums, bool is_partial)
{
    const struct total *held = &sums->kinds[TOTAL_HELD];
    bool nothing_held = held->transactions == 0 && held->debits == 0 && held->credits == 0;
    bool some_held = held->transactions <= sums->kinds[TOTAL_READ].transactions &&
                     held->debits >= 0 && held->credits <= 0;
    return (is_partial ? some_held : nothing_held) && net(&sums->opening) +
                                                              net(&sums->kinds[TOTAL_POSTED]) +
                                                              net(&sums->kinds[TOTAL_GENERATED]) ==
                                                          net(&sums->closing);
}

static bool check_ties(const struct totals *totals, const struct stored_book *book,
                       struct problem *problem)
{
    for (size_t i = 0; i < totals->commodity_count; i++) {
        if (!ties(&totals->commodities[i], totals->is_partial)) {
            return problem_set(problem, EXIT_CODE_IO,
                               "the database is damaged: the control totals of %.*s do not tie",
                               SLICE_ARGUMENTS(book->commodities[i].symbol));
        }
    }
    return true;
}

bool totals_finish(struct totals *totals, struct store *store, const struct stored_book *book,
                   bool is_partial, struct problem *problem)
{
    struct store_facts facts;
    totals->is_partial = is_partial;
    if (!store_read_facts(store, &facts, problem) ||
        !find_deferred(totals, store, facts.base_seq, problem) ||
        !find_carried_reach(totals, store, problem) ||
        !reject_totals_load(&totals->rejected, store, problem) ||
        !add_rows(totals, store, STORE_INPUT_TOTALS, add_read, problem) ||
        !add_rows(totals, store, STORE_UNPOSTED, add_unposted, problem)) {
        return false;
    }
    for (size_t i = 0; i < book->cell_count; i++) {
        struct commodity_totals *sums = &totals->commodities[book->cells[i].commodity];
        add_amount(&sums->opening, book->cells[i].start);
        add_amount(&sums->closing, book->cells[i].balance);
        sums->closing.transactions++;
    }
    for (size_t i = 0; i < totals->commodity_count; i++) {
        find_held(&totals->commodities[i]);
    }
    totals->counts[TOTAL_READ] = facts.transaction_count;
    totals->counts[TOTAL_HELD] = facts.transaction_count - totals->counts[TOTAL_POSTED] -
                                 totals->counts[TOTAL_REFUSED] - totals->counts[TOTAL_DEFERRED];
    return check_ties(totals, book, problem);
}

/* Adds the postings of a transaction. *step says whether there is a posting. */
static bool add_postings(struct totals *totals, const struct stored_transaction *transaction,
                         struct store_cursor *postings, struct stored_posting *posting,
                         enum store_step *step, struct problem *problem)
{
    while (*step == STORE_ROW && posting->seq <= transaction->seq) {
        if (posting->seq < transaction->seq || posting->commodity >= totals->commodity_count) {
            return stored_book_damaged(problem, "a posting is of no transaction or commodity");
        }
        totals_add_posting(totals, transaction, posting);
        *step = store_cursor_next(postings, posting, problem);
    }
    return *step != STORE_FAILED;
}

static bool add_transactions(struct totals *totals, struct store *store, struct problem *problem)
{
    struct stored_transaction transaction;
    struct stored_posting posting;
    struct store_cursor *cursor = store_cursor_open(store, STORE_TRANSACTIONS, problem);
    struct store_cursor *postings = store_cursor_open(store, STORE_POSTINGS, problem);
    enum store_step step = cursor && postings ? STORE_ROW : STORE_FAILED;
    enum store_step posting_step =
        step == STORE_ROW ? store_cursor_next(postings, &posting, problem) : STORE_FAILED;
    step = posting_step == STORE_FAILED ? STORE_FAILED : step;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &transaction, problem);
        if (step == STORE_ROW) {
            totals_add_transaction(totals, &transaction);
            if (!add_postings(totals, &transaction, postings, &posting, &posting_step, problem)) {
                step = STORE_FAILED;
            }
        }
    }
    store_cursor_close(cursor);
    store_cursor_close(postings);
    return step == STORE_END;
}

bool totals_load(struct totals *totals, struct store *store, const struct stored_book *book,
                 bool is_partial, struct problem *problem)
{
    totals_begin(totals, book);
    return add_transactions(totals, store, problem) &&
           totals_finish(totals, store, book, is_partial, problem);
}

size_t totals_count_clients(const struct totals *totals, enum reach reach)
{
    size_t count = 0;
    for (size_t i = 0; i < totals->book->lane_count; i++) {
        count += totals->reach[i] == reach;
    }
    return count;
}

/* --- writing --- */

static void write_line(struct buffer *text, const char *word,
                       const struct stored_commodity *commodity, const struct total *total,
                       bool has_count)
{
    buffer_add_text(text, word);
    buffer_add_byte(text, ',');
    buffer_add_field(text, commodity->symbol);
    buffer_add_byte(text, ',');
    if (has_count) {
        buffer_add_number(text, total->transactions);
    }
    buffer_add_byte(text, ',');
    entry_number(text, commodity, total->debits);
    buffer_add_byte(text, ',');
    entry_number(text, commodity, total->credits);
    buffer_add_byte(text, ',');
    entry_number(text, commodity, net(total));
    buffer_add_byte(text, '\n');
}

/* Adds a line without a commodity, which counts all, and one for each commodity. */
static void write_rejects(const struct reject_totals *rejected, struct buffer *text)
{
    if (rejected->count > 0) {
        buffer_add_text(text, "rejected,,");
        buffer_add_number(text, rejected->count);
        buffer_add_text(text, ",,,\n");
    }
    for (size_t i = 0; i < rejected->item_count; i++) {
        const struct reject_total *item = &rejected->items[i];
        struct total total = { item->transactions, item->debits, item->credits };
        write_line(text, "rejected", &item->commodity, &total, true);
    }
}

void totals_write(const struct totals *totals, const struct stored_book *book, struct buffer *text)
{
    buffer_add_text(text, "what,commodity,transactions,debits,credits,net\n");
    for (size_t i = 0; i < totals->commodity_count; i++) {
        const struct stored_commodity *commodity = &book->commodities[i];
        for (size_t kind = 0; kind < TOTAL_KINDS; kind++) {
            write_line(text, kind_words[kind], commodity, &totals->commodities[i].kinds[kind],
                       true);
        }
        write_line(text, "opening", commodity, &totals->commodities[i].opening, false);
        write_line(text, "closing", commodity, &totals->commodities[i].closing, false);
    }
    write_rejects(&totals->rejected, text);
}

static void add_padded(struct buffer *text, struct slice word, size_t width, bool is_right)
{
    for (size_t i = word.size; is_right && i < width; i++) {
        buffer_add_byte(text, ' ');
    }
    buffer_add(text, word);
    for (size_t i = word.size; !is_right && i < width; i++) {
        buffer_add_byte(text, ' ');
    }
}

static void show_amount(struct buffer *text, const struct stored_commodity *commodity, wide amount)
{
    char number[AMOUNT_TEXT_SIZE];
    size_t size = amount_write(number, amount, commodity->storage_scale, commodity->scale);
    buffer_add_byte(text, ' ');
    add_padded(text, (struct slice){ number, size }, AMOUNT_WIDTH, true);
}

static void show_line(struct buffer *text, const char *word,
                      const struct stored_commodity *commodity, const struct total *total,
                      bool has_count)
{
    char count[24] = "";
    if (has_count) {
        snprintf(count, sizeof count, "%zu", total->transactions);
    }
    buffer_add_text(text, "  ");
    add_padded(text, slice_of(word), WORD_WIDTH, false);
    add_padded(text, slice_of(count), COUNT_WIDTH, true);
    show_amount(text, commodity, total->debits);
    show_amount(text, commodity, total->credits);
    show_amount(text, commodity, net(total));
    buffer_add_byte(text, '\n');
}

static void show_commodity(struct buffer *text, const struct commodity_totals *sums,
                           const struct stored_commodity *commodity, const char *held_word)
{
    bool is_nameless = commodity->symbol.size == 0;
    buffer_add(text, is_nameless ? slice_of("(no commodity)") : commodity->symbol);
    buffer_add_byte(text, '\n');
    for (size_t kind = 0; kind < TOTAL_KINDS; kind++) {
        const struct total *total = &sums->kinds[kind];
        if (kind <= TOTAL_REFUSED || total->transactions > 0) {
            show_line(text, kind == TOTAL_HELD ? held_word : kind_words[kind], commodity, total,
                      true);
        }
    }
    show_line(text, "opening", commodity, &sums->opening, false);
    show_line(text, "closing", commodity, &sums->closing, false);
}

static void show_heading(struct buffer *text)
{
    static const char *const words[] = { "debits", "credits", "net" };
    buffer_add_text(text, "  ");
    add_padded(text, slice_of("totals"), WORD_WIDTH, false);
    add_padded(text, slice_of("transactions"), COUNT_WIDTH, true);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        buffer_add_byte(text, ' ');
        add_padded(text, slice_of(words[i]), AMOUNT_WIDTH, true);
    }
    buffer_add_byte(text, '\n');
}

/* The amounts of what cannot be read are not known, so a commodity may have fewer transactions. */
static void show_rejects(const struct reject_totals *rejected, struct buffer *text)
{
    size_t shown = rejected->item_count < SHOWN_MAX ? rejected->item_count : SHOWN_MAX;
    if (rejected->count > 0) {
        buffer_add_text(text, "rejected: ");
        buffer_add_number(text, rejected->count);
        buffer_add_text(text, rejected->count == 1 ? " transaction\n" : " transactions\n");
    }
    for (size_t i = 0; i < shown; i++) {
        const struct reject_total *item = &rejected->items[i];
        struct total total = { item->transactions, item->debits, item->credits };
        buffer_add(text, item->commodity.symbol);
        buffer_add_byte(text, '\n');
        show_line(text, "rejected", &item->commodity, &total, true);
    }
}

void totals_show(const struct totals *totals, const struct stored_book *book, const char *held_word,
                 struct buffer *text)
{
    size_t shown = totals->commodity_count < SHOWN_MAX ? totals->commodity_count : SHOWN_MAX;
    show_heading(text);
    for (size_t i = 0; i < shown; i++) {
        show_commodity(text, &totals->commodities[i], &book->commodities[i], held_word);
    }
    size_t hidden = totals->commodity_count - shown;
    if (hidden > 0) {
        buffer_add_text(text, "(and ");
        buffer_add_number(text, hidden);
        buffer_add_text(text, hidden == 1 ? " more commodity" : " more commodities");
        buffer_add_text(text, ": see totals.csv)\n");
    }
    show_rejects(&totals->rejected, text);
}
