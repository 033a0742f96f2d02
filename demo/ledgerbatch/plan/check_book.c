/* Owns the serial check of the input: order by date, assignments, assertions. */
#include "plan/check_book.h"

#include <stdlib.h>

#include "book/settle.h"
#include "memory.h"
#include "plan/judged.h"

struct checker {
    struct book *book;
    struct problem *problem;
    struct settler settler;
    struct judged judged;
    int64_t *balances; /* by cell */
    size_t balance_capacity, balance_count;
    const int64_t *starts; /* by cell: opening balances, of the first `start_count` ones */
    size_t start_count;
    uint32_t number;  /* the transaction that is checked */
    uint32_t applied; /* how many of its postings are in the balances */
};

static int compare_date_keys(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left;
    uint64_t b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* Sorts by date; transactions of one date stay in the order of reading. */
static void sort_by_date(struct book *book)
{
    size_t count = book->transaction_count;
    bool sorted = true;
    book->order = memory_zeroed(count, sizeof *book->order);
    for (size_t i = 0; i < count; i++) {
        book->order[i] = (uint32_t)i;
        sorted = sorted && (i == 0 || book->transactions[i - 1].date <= book->transactions[i].date);
    }
    if (sorted) {
        return;
    }
    uint64_t *keys = memory_zeroed(count, sizeof *keys);
    for (size_t i = 0; i < count; i++) {
        keys[i] = (uint64_t)book->transactions[i].date << 32 | i;
    }
    qsort(keys, count, sizeof *keys, compare_date_keys);
    for (size_t i = 0; i < count; i++) {
        book->order[i] = (uint32_t)keys[i];
    }
    free(keys);
}

static struct slice posting_account_name(const struct checker *checker,
                                         const struct posting *posting)
{
    return book_account_name(checker->book, checker->book->cells[posting->cell].account);
}

/* Adds the cells that reading or settling has made, with their opening balances. */
static void add_new_cells(struct checker *checker)
{
    size_t needed = checker->book->cell_count;
    checker->balances = memory_grow(checker->balances, &checker->balance_capacity, needed + 1,
                                    sizeof *checker->balances);
    for (; checker->balance_count < needed; checker->balance_count++) {
        size_t cell = checker->balance_count;
        checker->balances[cell] = cell < checker->start_count ? checker->starts[cell] : 0;
        judged_add_cell(&checker->judged, checker->balances[cell]);
    }
}

static bool rescale_to_storage(const struct checker *checker, const struct transaction *transaction,
                               const struct posting *posting, struct decimal value, int64_t *units)
{
    uint32_t commodity = checker->book->cells[posting->cell].commodity;
    unsigned scale = checker->book->commodities[commodity].storage_scale;
    if (!decimal_rescale(&value, scale) || !amount_fits(value.units)) {
        struct slice symbol = book_symbol(checker->book, commodity);
        return book_problem(checker->book, checker->problem, transaction->source, posting->line,
                            "the amount is too large: %.*s is kept with %u decimals, which leaves "
                            "%u digits before the point",
                            SLICE_ARGUMENTS(symbol), scale, AMOUNT_DIGITS_MAX - scale);
    }
    *units = (int64_t)value.units;
    return true;
}

/* Computes the amount of a posting with only "= AMOUNT": it brings the account to that balance. */
static bool compute_assignment(struct checker *checker, const struct transaction *transaction,
                               struct posting *posting)
{
    struct book *book = checker->book;
    const struct money *target = &book->extras[posting->extra].assertion;
    int64_t wanted;
    const struct judged_cell *cell = judged_of(&checker->judged, posting->cell);
    wide balance = cell->balance + cell->pending;
    if (!rescale_to_storage(checker, transaction, posting,
                            (struct decimal){ target->units, target->scale }, &wanted)) {
        return false;
    }
    wide needed = wanted - balance;
    if (!amount_fits(needed)) {
        return book_problem(book, checker->problem, transaction->source, posting->line,
                            "the assigned amount has too many digits");
    }
    posting->amount = (int64_t)needed;
    posting->scale = book->commodities[target->commodity].storage_scale;
    return true;
}

/* ledger leaves postings in square brackets out of a balance that another posting asserts. */
static bool check_mixed_account(struct checker *checker, const struct transaction *transaction,
                                const struct posting *posting)
{
    const struct book *book = checker->book;
    uint32_t account = book->cells[posting->cell].account;
    const struct judged_account *judged = judged_account_of(&checker->judged, account);
    return !judged->has_plain || !judged->has_bracketed ||
           book_problem(book, checker->problem, transaction->source, posting->line,
                        "'%.*s' has postings with and without square brackets, of which ledger "
                        "and hledger assert different balances: leave out the '= AMOUNT'",
                        SLICE_ARGUMENTS(book_account_name(book, account)));
}

/*
 * Refuses an assignment without a commodity to an account that has another one. ledger brings the
 * balance of all commodities there, hledger that of the amounts without one.
 */
static bool check_nameless_assignment(struct checker *checker,
                                      const struct transaction *transaction,
                                      const struct posting *posting)
{
    const struct book *book = checker->book;
    struct cell place = book->cells[posting->cell];
    return !book_is_nameless(book, place.commodity) ||
           judged_account_of(&checker->judged, place.account)->named_count == 0 ||
           book_problem(book, checker->problem, transaction->source, posting->line,
                        "the two programs differ in what is assigned to '%.*s', which has other "
                        "commodities, too: write the commodity",
                        SLICE_ARGUMENTS(book_account_name(book, place.account)));
}

/* Computes all assignments of a transaction. Each depends on the postings before it. */
static bool compute_assignments(struct checker *checker, const struct transaction *transaction)
{
    struct posting *postings = &checker->book->postings[transaction->first_posting];
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        int64_t units;
        if (postings[i].flags & POSTING_ELIDED) {
            continue;
        }
        if (postings[i].flags & POSTING_ASSIGNED &&
            (!check_mixed_account(checker, transaction, &postings[i]) ||
             !check_nameless_assignment(checker, transaction, &postings[i]) ||
             !compute_assignment(checker, transaction, &postings[i]))) {
            return false;
        }
        struct decimal value = { postings[i].amount, postings[i].scale };
        if (!rescale_to_storage(checker, transaction, &postings[i], value, &units)) {
            return false;
        }
        judged_of(&checker->judged, postings[i].cell)->pending += units;
    }
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        if (!(postings[i].flags & POSTING_ELIDED)) {
            judged_of(&checker->judged, postings[i].cell)->pending = 0;
        }
    }
    return true;
}

static bool settle_with_assignments(struct checker *checker, uint32_t number)
{
    struct book *book = checker->book;
    const struct transaction *transaction = &book->transactions[number];
    if (!compute_assignments(checker, transaction)) {
        return false;
    }
    if (!settle_transaction(&checker->settler, book, number, checker->problem)) {
        return false;
    }
    add_new_cells(checker);
    return true;
}

/* ledger asserts without a commodity that the account has nothing in any other one. */
static bool check_nameless_assertion(struct checker *checker, const struct transaction *transaction,
                                     const struct posting *posting)
{
    uint32_t account = checker->book->cells[posting->cell].account;
    return judged_account_of(&checker->judged, account)->named_open == 0 ||
           book_problem(checker->book, checker->problem, transaction->source, posting->line,
                        "a balance of '%.*s' is asserted without a commodity, but the account has "
                        "some in another one: write the commodity",
                        SLICE_ARGUMENTS(book_account_name(checker->book, account)));
}

static bool check_assertion(struct checker *checker, const struct transaction *transaction,
                            const struct posting *posting)
{
    const struct book *book = checker->book;
    const struct money *asserted = &book->extras[posting->extra].assertion;
    uint32_t account = book->cells[posting->cell].account;
    if (!check_mixed_account(checker, transaction, posting) ||
        (book_is_nameless(book, asserted->commodity) &&
         !check_nameless_assertion(checker, transaction, posting))) {
        return false;
    }
    struct slice name = book_account_name(book, account);
    struct slice symbol = book_symbol(book, asserted->commodity);
    const struct judged_cell *cell = judged_find(&checker->judged, account, asserted->commodity);
    unsigned scale = book->commodities[asserted->commodity].storage_scale;
    wide balance = cell ? cell->balance : 0;
    struct decimal difference = { -(wide)asserted->units, asserted->scale };
    if (decimal_add(&difference, (struct decimal){ balance, scale }) && difference.units == 0) {
        return true;
    }
    char found[AMOUNT_TEXT_SIZE];
    char wanted[AMOUNT_TEXT_SIZE];
    found[amount_write(found, balance, scale, asserted->scale)] = 0;
    wanted[amount_write(wanted, asserted->units, asserted->scale, asserted->scale)] = 0;
    return book_problem(book, checker->problem, transaction->source, posting->line,
                        "the balance of '%.*s' is asserted to be %s%s%.*s but is %s",
                        SLICE_ARGUMENTS(name), wanted, symbol.size > 0 ? " " : "",
                        SLICE_ARGUMENTS(symbol), found);
}

/*
 * Notes a wrong assertion. From here on the balance is taken to be as asserted: each difference is
 * reported once, not at all later assertions of the account. Returns false if the check must stop,
 * or if the transaction is rejected.
 */
static bool pass_wrong_assertion(struct checker *checker, const struct posting *posting)
{
    struct book *book = checker->book;
    const struct money *asserted = &book->extras[posting->extra].assertion;
    if (book_can_reject(book, checker->number)) {
        book_hint_reject(book, posting_account_name(checker, posting), checker->problem);
        return false;
    }
    struct judged_cell *cell =
        judged_find(&checker->judged, book->cells[posting->cell].account, asserted->commodity);
    struct decimal value = { asserted->units, asserted->scale };
    bool goes_on = faults_take(&book->faults, checker->problem);
    if (cell && decimal_rescale(&value, book->commodities[asserted->commodity].storage_scale) &&
        amount_fits(value.units)) {
        judged_set(&checker->judged, cell, value.units);
    }
    return goes_on;
}

static bool apply_posting(struct checker *checker, const struct transaction *transaction,
                          struct posting *posting)
{
    struct book *book = checker->book;
    int64_t *balance = &checker->balances[posting->cell];
    struct judged_cell *judged = judged_of(&checker->judged, posting->cell);
    struct decimal value = { posting->amount, posting->scale };
    if (!rescale_to_storage(checker, transaction, posting, value, &posting->amount)) {
        return false;
    }
    posting->scale = book->commodities[book->cells[posting->cell].commodity].storage_scale;
    if (!amount_add(*balance, posting->amount, balance)) {
        struct slice name = posting_account_name(checker, posting);
        return book_problem(book, checker->problem, transaction->source, posting->line,
                            "the balance of '%.*s' has too many digits", SLICE_ARGUMENTS(name));
    }
    checker->applied++;
    judged_set(&checker->judged, judged, judged->balance + posting->amount);
    return posting->extra == NO_INDEX || !(book->extras[posting->extra].flags & EXTRA_ASSERTION) ||
           check_assertion(checker, transaction, posting) || pass_wrong_assertion(checker, posting);
}

static bool check_transaction(struct checker *checker, uint32_t number)
{
    const struct transaction *transaction = &checker->book->transactions[number];
    checker->number = number;
    checker->applied = 0;
    if (transaction->has_assigned && !settle_with_assignments(checker, number)) {
        return false;
    }
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        struct posting *posting = &checker->book->postings[transaction->first_posting + i];
        if (!apply_posting(checker, transaction, posting)) {
            return false;
        }
    }
    return true;
}

/* Takes a posting out of the balances, if it was applied. */
static void take_back(struct checker *checker, const struct posting *posting, bool was_applied)
{
    struct judged_cell *judged = judged_of(&checker->judged, posting->cell);
    judged->pending = 0;
    if (was_applied) {
        checker->balances[posting->cell] -= posting->amount;
        judged_set(&checker->judged, judged, judged->balance - posting->amount);
    }
}

/*
 * Rejects a faulty transaction, and takes its postings out of the balances again. Returns false if
 * the check must stop.
 */
static bool reject_transaction(struct checker *checker)
{
    struct book *book = checker->book;
    const struct transaction *transaction = &book->transactions[checker->number];
    if (!book_can_reject(book, checker->number)) {
        return false;
    }
    add_new_cells(checker);
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        const struct posting *posting = &book->postings[transaction->first_posting + i];
        if (!(posting->flags & POSTING_ELIDED)) {
            take_back(checker, posting, i < checker->applied);
        }
    }
    return book_take_transaction(book, checker->number, checker->problem);
}

bool check_book(struct book *book, bool is_divided, const int64_t *starts, size_t start_count,
                struct problem *problem)
{
    struct checker checker = {
        .book = book, .problem = problem, .starts = starts, .start_count = start_count
    };
    bool good = true;
    judged_init(&checker.judged, book, is_divided);
    sort_by_date(book);
    add_new_cells(&checker);
    for (size_t i = 0; good && i < book->transaction_count; i++) {
        good = check_transaction(&checker, book->order[i]) || reject_transaction(&checker);
    }
    good = good && faults_none(&book->faults, problem);
    settler_fini(&checker.settler);
    free(checker.balances);
    judged_fini(&checker.judged);
    return good && settle_remainders(book, problem);
}
