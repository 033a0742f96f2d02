/* Owns the transactions of a day that come from earlier ones; see plan/opening.h. */
#include "plan/opening_items.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "store/entry.h"

/* Adds an item. Its text follows. */
static void add_item(struct opening *opening, struct opening_item item)
{
    opening->items = memory_grow(opening->items, &opening->item_capacity, opening->item_count + 1,
                                 sizeof *opening->items);
    item.text = (uint32_t)opening->texts.size;
    opening->items[opening->item_count++] = item;
}

static void end_item(struct opening *opening)
{
    struct opening_item *item = &opening->items[opening->item_count - 1];
    item->text_size = (uint32_t)opening->texts.size - item->text;
}

static int compare_requests(const void *left, const void *right)
{
    uint32_t a = ((const struct opening_request *)left)->seq;
    uint32_t b = ((const struct opening_request *)right)->seq;
    return (a > b) - (a < b);
}

static bool sort_requests(struct opening_request *requests, size_t count, const char *option,
                          struct problem *problem)
{
    if (count > 0) {
        qsort(requests, count, sizeof *requests, compare_requests);
    }
    for (size_t i = 1; i < count; i++) {
        if (requests[i - 1].seq == requests[i].seq) {
            return problem_set(problem, EXIT_CODE_INPUT, "%s names %u twice", option,
                               requests[i].seq);
        }
    }
    return true;
}

/* --- deferred transactions --- */

/* The reason of a skip is in the text, too, so that it is in the digest of the day. */
static void add_deferred(struct opening *opening, const struct opening_requests *requests,
                         const struct stored_deferral *deferral, size_t *skip)
{
    bool is_skipped = *skip < requests->skip_count && requests->skips[*skip].seq == deferral->seq;
    if (!is_skipped && !requests->posts_deferred) {
        return;
    }
    add_item(opening, (struct opening_item){ .kind = is_skipped ? ITEM_SKIP : ITEM_POST,
                                             .seq = deferral->seq,
                                             .date = deferral->date });
    if (is_skipped) {
        opening->items[opening->item_count - 1].reason = requests->skips[*skip].reason;
        buffer_add_text(&opening->texts, "; skipped: ");
        buffer_add_text(&opening->texts, requests->skips[*skip].reason);
        buffer_add_byte(&opening->texts, '\n');
        ++*skip;
    }
    buffer_add(&opening->texts, deferral->entry);
    end_item(opening);
}

/* Loads those that were deferred before the day. If the day was stopped, some are done already. */
static bool load_deferred(struct opening *opening, struct store *store,
                          const struct opening_requests *requests, struct problem *problem)
{
    struct stored_deferral deferral;
    size_t skip = 0;
    struct store_cursor *cursor = store_cursor_open(store, STORE_DEFERRALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &deferral, problem);
        if (step == STORE_ROW && deferral.seq <= opening->base_seq) {
            add_deferred(opening, requests, &deferral, &skip);
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END &&
           (skip == requests->skip_count ||
            problem_set(problem, EXIT_CODE_INPUT, "--skip %u: no earlier day has deferred this",
                        requests->skips[skip].seq));
}

/* --- reversals --- */

static bool report_unposted(uint32_t seq, struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_INPUT,
                       "--reverse %u: no earlier day has posted a transaction with this seq", seq);
}

/* Adds the header of a reversal, with the code of the transaction that it takes back. */
static bool add_header(struct opening *opening, struct store *store,
                       const struct opening_request *request, struct problem *problem)
{
    struct stored_transaction transaction;
    struct buffer text = { 0 };
    struct store_cursor *cursor =
        store_cursor_open_at(store, STORE_TRANSACTIONS, request->seq, problem);
    enum store_step step = cursor ? store_cursor_next(cursor, &transaction, problem) : STORE_FAILED;
    bool is_posted = step == STORE_ROW && request->seq <= opening->base_seq &&
                     slice_equal(transaction.kind, slice_of("post"));
    if (is_posted) {
        add_item(opening, (struct opening_item){ .kind = ITEM_REVERSE,
                                                 .seq = request->seq,
                                                 .date = transaction.date });
        buffer_add_text(&text, "Reversal of task ");
        buffer_add_number(&text, request->seq);
        buffer_add_text(&text, " of ");
        date_write(buffer_room(&text, DATE_SIZE), transaction.date);
        text.size += DATE_SIZE;
        buffer_add_text(&text, ": ");
        buffer_add_text(&text, request->reason);
        transaction.date = opening->day;
        transaction.text = buffer_slice(&text);
        entry_header(&opening->texts, &transaction);
    }
    buffer_fini(&text);
    store_cursor_close(cursor);
    return is_posted || (step != STORE_FAILED && report_unposted(request->seq, problem));
}

static bool add_opposite(struct opening *opening, struct stored_posting *posting,
                         struct problem *problem)
{
    const struct stored_book *book = &opening->book;
    if (posting->account >= book->account_count || posting->commodity >= book->commodity_count ||
        posting->price_commodity >= book->commodity_count || !amount_fits(posting->amount)) {
        return stored_book_damaged(problem, "a posting is of no account or commodity");
    }
    posting->amount = -posting->amount;
    posting->has_balance = false;
    entry_posting(&opening->texts, book->accounts[posting->account].name,
                  &book->commodities[posting->commodity], posting,
                  &book->commodities[posting->price_commodity]);
    return true;
}

static bool add_postings(struct opening *opening, struct store *store, uint32_t seq,
                         struct problem *problem)
{
    struct stored_posting posting;
    struct store_cursor *cursor = store_cursor_open_at(store, STORE_POSTINGS, seq, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &posting, problem);
        if (step == STORE_ROW && !add_opposite(opening, &posting, problem)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static bool load_reversal(struct opening *opening, struct store *store,
                          const struct opening_request *request, struct problem *problem)
{
    uint32_t by;
    if (!store_find_reversal(store, request->seq, &by, problem)) {
        return false;
    }
    if (by != 0 && by <= opening->base_seq) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "--reverse %u: task %u has reversed it already", request->seq, by);
    }
    bool loaded = add_header(opening, store, request, problem) &&
                  add_postings(opening, store, request->seq, problem);
    if (loaded) {
        end_item(opening);
    }
    return loaded;
}

static int compare_months(const void *left, const void *right)
{
    uint32_t a = ((const struct opening_month *)left)->month;
    uint32_t b = ((const struct opening_month *)right)->month;
    return (a > b) - (a < b);
}

static bool sort_months(struct opening_requests *requests, struct problem *problem)
{
    if (requests->month_count > 0) {
        qsort(requests->months, requests->month_count, sizeof *requests->months, compare_months);
    }
    for (size_t i = 1; i < requests->month_count; i++) {
        uint32_t month = requests->months[i].month;
        if (requests->months[i - 1].month == month) {
            return problem_set(problem, EXIT_CODE_INPUT, "--backdated names %04u-%02u twice",
                               month / 12, month % 12 + 1);
        }
    }
    return true;
}

bool opening_items_load(struct opening *opening, struct store *store,
                        struct opening_requests *requests, struct problem *problem)
{
    bool loaded =
        sort_requests(requests->skips, requests->skip_count, "--skip", problem) &&
        sort_requests(requests->reversals, requests->reversal_count, "--reverse", problem) &&
        sort_months(requests, problem) && load_deferred(opening, store, requests, problem);
    for (size_t i = 0; loaded && i < requests->reversal_count; i++) {
        loaded = load_reversal(opening, store, &requests->reversals[i], problem);
    }
    return loaded;
}
