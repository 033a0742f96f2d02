/* Owns the rule of balance: sums at cost, implied prices, elided amounts. */
#include "book/settle.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"

void settler_fini(struct settler *settler)
{
    free(settler->sums);
    free(settler->places);
    *settler = (struct settler){ 0 };
}

static struct commodity_sum *find_sum(struct settler *settler, uint32_t commodity)
{
    if (commodity < settler->place_count && settler->places[commodity] > 0) {
        return &settler->sums[settler->places[commodity] - 1];
    }
    settler->places = memory_grow(settler->places, &settler->place_capacity, (size_t)commodity + 1,
                                  sizeof *settler->places);
    while (settler->place_count <= commodity) {
        settler->places[settler->place_count++] = 0;
    }
    settler->sums =
        memory_grow(settler->sums, &settler->capacity, settler->count + 1, sizeof *settler->sums);
    struct commodity_sum *sum = &settler->sums[settler->count++];
    *sum = (struct commodity_sum){ .commodity = commodity };
    settler->places[commodity] = (uint32_t)settler->count;
    return sum;
}

static void clear_sums(struct settler *settler)
{
    for (size_t i = 0; i < settler->count; i++) {
        settler->places[settler->sums[i].commodity] = 0;
    }
    settler->count = 0;
}

/* Returns the cost of a posting. Sets *commodity if the cost is in another commodity. */
static struct decimal cost_of(const struct posting *posting, const struct extra *extra,
                              uint32_t *commodity)
{
    struct decimal cost = { posting->amount, posting->scale };
    if (extra && extra->flags & EXTRA_PRICE_UNIT) {
        cost.units *= extra->price.units;
        cost.scale += extra->price.scale;
        *commodity = extra->price.commodity;
    } else if (extra && extra->flags & EXTRA_PRICE_TOTAL) {
        cost.units = posting->amount < 0 ? -(wide)extra->price.units : extra->price.units;
        cost.scale = extra->price.scale;
        *commodity = extra->price.commodity;
    }
    return cost;
}

static bool add_posting(struct settler *settler, const struct book *book,
                        const struct posting *posting)
{
    const struct extra *extra = posting->extra == NO_INDEX ? NULL : &book->extras[posting->extra];
    uint32_t commodity = book->cells[posting->cell].commodity;
    unsigned written = posting->flags & POSTING_ASSIGNED ? extra->assertion.scale : posting->scale;
    struct commodity_sum *sum = find_sum(settler, commodity);
    sum->written = sum->is_written && sum->written > written ? sum->written : written;
    sum->is_written = true;
    uint32_t in = commodity;
    struct decimal cost = cost_of(posting, extra, &in);
    if (in != commodity) {
        settler->priced = true;
        sum = find_sum(settler, in);
    }
    sum->has_cost = true;
    return decimal_add(&sum->total, cost);
}

/* Sums up a transaction; *elided receives the posting without an amount, or NO_INDEX. */
static bool sum_transaction(struct settler *settler, const struct book *book,
                            const struct transaction *transaction, bool with_assigned,
                            uint32_t *elided, struct problem *problem)
{
    clear_sums(settler);
    settler->priced = false;
    *elided = NO_INDEX;
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        const struct posting *posting = &book->postings[transaction->first_posting + i];
        if (posting->flags & POSTING_ELIDED) {
            *elided = transaction->first_posting + i;
        } else if ((with_assigned || !(posting->flags & POSTING_ASSIGNED)) &&
                   !add_posting(settler, book, posting)) {
            return book_problem(book, problem, transaction->source, posting->line,
                                "the sum of the transaction has too many digits");
        }
    }
    return true;
}

/* ledger does not round sums without a commodity. */
static bool is_zero(const struct book *book, const struct commodity_sum *sum)
{
    bool is_rounded = sum->is_written && !book_is_nameless(book, sum->commodity);
    return is_rounded ? decimal_rounds_to_zero(sum->total, sum->written) : sum->total.units == 0;
}

/*
 * Two commodities without prices and with sums of opposite sign imply a price. ledger implies none
 * if amounts of one have no commodity. A zero without a commodity is no third one.
 */
static bool implies_price(const struct settler *settler, const struct book *book)
{
    const struct commodity_sum *found[2];
    size_t count = 0;
    for (size_t i = 0; i < settler->count && count <= 2; i++) {
        const struct commodity_sum *sum = &settler->sums[i];
        bool is_nameless = book_is_nameless(book, sum->commodity);
        if (is_nameless && sum->total.units != 0) {
            return false;
        }
        if (!is_nameless && count < 2) {
            found[count] = sum;
        }
        count += !is_nameless;
    }
    return count == 2 && !settler->priced &&
           ((found[0]->total.units < 0 && found[1]->total.units > 0) ||
            (found[0]->total.units > 0 && found[1]->total.units < 0));
}

/* `what` does not balance. */
static bool report_imbalance(const struct book *book, const struct transaction *transaction,
                             const char *what, struct commodity_sum sum, struct problem *problem)
{
    struct slice symbol = book_symbol(book, sum.commodity);
    const char *blank = symbol.size > 0 ? " " : "";
    char text[AMOUNT_TEXT_SIZE] = "something";
    decimal_trim(&sum.total);
    if (amount_fits(sum.total.units)) {
        text[amount_write(text, (int64_t)sum.total.units, sum.total.scale, 0)] = 0;
    }
    return book_problem(book, problem, transaction->source, transaction->line,
                        "%s: %s%s%.*s is left over", what, text, blank, SLICE_ARGUMENTS(symbol));
}

static bool check_balance(const struct settler *settler, struct book *book, uint32_t transaction,
                          struct problem *problem)
{
    for (size_t i = 0; i < settler->count; i++) {
        const struct commodity_sum *sum = &settler->sums[i];
        if (!is_zero(book, sum)) {
            return implies_price(settler, book) ||
                   report_imbalance(book, &book->transactions[transaction],
                                    "the transaction does not balance", *sum, problem);
        }
        if (sum->total.units != 0) {
            book_add_remainder(book, (struct remainder){ sum->total, transaction, sum->commodity });
        }
    }
    return true;
}

/*
 * Returns the decimals to which a reader of the outputs rounds. A commodity without decimals has no
 * format there, so its amounts may show as many as are stored.
 */
static unsigned balancing_decimals(const struct commodity *commodity)
{
    return commodity->scale > 0 ? commodity->scale : commodity->storage_scale;
}

bool settle_remainders(struct book *book, struct problem *problem)
{
    bool goes_on = true;
    for (size_t i = 0; goes_on && i < book->remainder_count; i++) {
        const struct remainder *left = &book->remainders[i];
        unsigned decimals = balancing_decimals(&book->commodities[left->commodity]);
        if (!decimal_rounds_to_zero(left->rest, decimals)) {
            struct slice symbol = book_symbol(book, left->commodity);
            const struct transaction *transaction = &book->transactions[left->transaction];
            book_problem(book, problem, transaction->source, transaction->line,
                         "the transaction does not balance to %u decimals, which other "
                         "postings of %.*s have",
                         decimals, SLICE_ARGUMENTS(symbol));
            goes_on = book_take_transaction(book, left->transaction, problem);
        }
    }
    return goes_on && faults_none(&book->faults, problem);
}

/* Makes room for `more` postings after the elided one. Returns the new index of the elided one. */
static uint32_t make_room(struct book *book, struct transaction *transaction, uint32_t elided,
                          uint32_t more)
{
    uint32_t first = transaction->first_posting;
    uint32_t count = transaction->posting_count;
    uint32_t offset = elided - first;
    if (first + count != book->posting_count) {
        for (uint32_t i = 0; i < count; i++) {
            struct posting moved = book->postings[first + i];
            *book_add_posting(book) = moved;
        }
        first = (uint32_t)book->posting_count - count;
        transaction->first_posting = first;
    }
    for (uint32_t i = 0; i < more; i++) {
        book_add_posting(book);
    }
    struct posting *at = &book->postings[first + offset];
    memmove(at + 1 + more, at + 1, (count - offset - 1) * sizeof *at);
    transaction->posting_count += more;
    return first + offset;
}

static bool fill_posting(struct book *book, struct posting *posting, uint32_t account,
                         const struct commodity_sum *sum)
{
    struct decimal amount = { -sum->total.units, sum->total.scale };
    decimal_trim(&amount);
    if (!amount_fits(amount.units) || amount.scale > AMOUNT_DIGITS_MAX) {
        return false;
    }
    posting->cell = book_cell(book, account, sum->commodity);
    posting->amount = (int64_t)amount.units;
    posting->scale = (uint8_t)amount.scale;
    posting->flags = 0;
    struct commodity *commodity = &book->commodities[sum->commodity];
    if (amount.scale > commodity->storage_scale) {
        commodity->storage_scale = (uint8_t)amount.scale;
    }
    return true;
}

/* Gives the elided posting the opposite of every sum. */
static bool fill_elided(const struct settler *settler, struct book *book,
                        struct transaction *transaction, uint32_t elided, struct problem *problem)
{
    uint32_t needed = 0;
    uint32_t summed = 0;
    for (size_t i = 0; i < settler->count; i++) {
        needed += settler->sums[i].total.units != 0;
        summed += settler->sums[i].has_cost;
    }
    struct posting written = book->postings[elided];
    if (settler->count == 0) {
        return book_problem(book, problem, transaction->source, written.line,
                            "nothing says what the missing amount is");
    }
    if (needed == 0 && summed > 1) {
        return book_problem(book, problem, transaction->source, written.line,
                            "ledger fills in no zero if there are several commodities: write the "
                            "amount 0, or leave the posting out");
    }
    uint32_t at = make_room(book, transaction, elided, needed > 1 ? needed - 1 : 0);
    for (size_t i = 0; i < settler->count; i++) {
        /* If all sums are zero, the amount is a zero of the first commodity. */
        if (settler->sums[i].total.units == 0 && (needed > 0 || i > 0)) {
            continue;
        }
        book->postings[at] = written;
        if (!fill_posting(book, &book->postings[at], written.cell, &settler->sums[i])) {
            return book_problem(book, problem, transaction->source, written.line,
                                "the missing amount has more than 18 digits");
        }
        at++;
    }
    return true;
}

/* Sums up the postings with square brackets, or those without. */
static bool sum_part(struct settler *settler, const struct book *book,
                     const struct transaction *transaction, bool bracketed, struct problem *problem)
{
    clear_sums(settler);
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        const struct posting *posting = &book->postings[transaction->first_posting + i];
        bool belongs = bracketed == ((posting->flags & POSTING_BRACKETED) != 0);
        if (belongs && !(posting->flags & POSTING_ELIDED) && !add_posting(settler, book, posting)) {
            return book_problem(book, problem, transaction->source, posting->line,
                                "the sum of the transaction has too many digits");
        }
    }
    return true;
}

/*
 * hledger balances postings with and without square brackets apart from each other, ledger all
 * together. They agree if one of the parts is exactly zero. The other one is that of the posting
 * without an amount, if there is one.
 */
static bool check_brackets(struct settler *settler, const struct book *book,
                           const struct transaction *transaction, struct problem *problem)
{
    bool checks_bracketed = true;
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        uint8_t flags = book->postings[transaction->first_posting + i].flags;
        if (flags & POSTING_ELIDED && flags & POSTING_BRACKETED) {
            checks_bracketed = false;
        }
    }
    if (!sum_part(settler, book, transaction, checks_bracketed, problem)) {
        return false;
    }
    for (size_t i = 0; i < settler->count; i++) {
        if (settler->sums[i].total.units != 0) {
            return report_imbalance(book, transaction,
                                    checks_bracketed
                                        ? "the postings in square brackets do not balance"
                                        : "the postings without square brackets do not balance",
                                    settler->sums[i], problem);
        }
    }
    return true;
}

bool settle_transaction(struct settler *settler, struct book *book, uint32_t transaction,
                        struct problem *problem)
{
    struct transaction *settled = &book->transactions[transaction];
    uint32_t elided;
    if (settled->has_bracketed && !check_brackets(settler, book, settled, problem)) {
        return false;
    }
    if (!sum_transaction(settler, book, settled, true, &elided, problem)) {
        return false;
    }
    if (elided == NO_INDEX) {
        return check_balance(settler, book, transaction, problem);
    }
    return fill_elided(settler, book, settled, elided, problem);
}

bool settle_later(struct settler *settler, struct book *book, uint32_t transaction,
                  struct problem *problem)
{
    const struct transaction *settled = &book->transactions[transaction];
    uint32_t elided;
    if (!sum_transaction(settler, book, settled, false, &elided, problem)) {
        return false;
    }
    for (size_t i = 0; elided != NO_INDEX && i < settler->count; i++) {
        struct decimal total = settler->sums[i].total;
        decimal_trim(&total);
        if (total.scale > AMOUNT_DIGITS_MAX) {
            return book_problem(book, problem, settled->source, book->postings[elided].line,
                                "the missing amount has more than 18 digits");
        }
        struct commodity *commodity = &book->commodities[settler->sums[i].commodity];
        if (total.scale > commodity->storage_scale) {
            commodity->storage_scale = (uint8_t)total.scale;
        }
    }
    return true;
}
