/* Owns the serial check of the input: order by date, assignments, assertions. */
#include "plan/check_book.h"

#include <stdlib.h>

#include "book/settle.h"
#include "memory.h"

struct checker {
    struct book *book;
    struct problem *problem;
    struct settler settler;
    int64_t *balances; /* by cell */
    wide *pending; /* by cell: the sum of the postings so far of the transaction that is settled */
    size_t balance_capacity, pending_capacity, balance_count;
    const int64_t *starts; /* by cell: opening balances, of the first `start_count` ones */
    size_t start_count;
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
    checker->pending = memory_grow(checker->pending, &checker->pending_capacity, needed + 1,
                                   sizeof *checker->pending);
    for (; checker->balance_count < needed; checker->balance_count++) {
        checker->balances[checker->balance_count] = checker->balance_count < checker->start_count
                                                        ? checker->starts[checker->balance_count]
                                                        : 0;
        checker->pending[checker->balance_count] = 0;
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
    wide balance = checker->balances[posting->cell] + checker->pending[posting->cell];
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
            !compute_assignment(checker, transaction, &postings[i])) {
            return false;
        }
        struct decimal value = { postings[i].amount, postings[i].scale };
        if (!rescale_to_storage(checker, transaction, &postings[i], value, &units)) {
            return false;
        }
        checker->pending[postings[i].cell] += units;
    }
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        if (!(postings[i].flags & POSTING_ELIDED)) {
            checker->pending[postings[i].cell] = 0;
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

static bool check_assertion(const struct checker *checker, const struct transaction *transaction,
                            const struct posting *posting)
{
    const struct book *book = checker->book;
    const struct money *asserted = &book->extras[posting->extra].assertion;
    uint32_t account = book->cells[posting->cell].account;
    struct slice name = book_account_name(book, account);
    struct slice symbol = book_symbol(book, asserted->commodity);
    uint32_t cell = cell_index_find(&book->cell_index, account, asserted->commodity);
    unsigned scale = book->commodities[asserted->commodity].storage_scale;
    int64_t balance = cell == CELL_NONE ? 0 : checker->balances[cell];
    struct decimal difference = { -(wide)asserted->units, asserted->scale };
    if (decimal_add(&difference, (struct decimal){ balance, scale }) && difference.units == 0) {
        return true;
    }
    char found[AMOUNT_TEXT_SIZE];
    char wanted[AMOUNT_TEXT_SIZE];
    found[amount_write(found, balance, scale, asserted->scale)] = 0;
    wanted[amount_write(wanted, asserted->units, asserted->scale, asserted->scale)] = 0;
    return book_problem(book, checker->problem, transaction->source, posting->line,
                        "the balance of '%.*s' is asserted to be %s %.*s but is %s",
                        SLICE_ARGUMENTS(name), wanted, SLICE_ARGUMENTS(symbol), found);
}

/*
 * Notes a wrong assertion. From here on the balance is taken to be as asserted: each difference is
 * reported once, not at all later assertions of the account. Returns false if the check must stop.
 */
static bool pass_wrong_assertion(struct checker *checker, const struct posting *posting)
{
    struct book *book = checker->book;
    const struct money *asserted = &book->extras[posting->extra].assertion;
    uint32_t cell =
        cell_index_find(&book->cell_index, book->cells[posting->cell].account, asserted->commodity);
    struct decimal value = { asserted->units, asserted->scale };
    bool goes_on = faults_take(&book->faults, checker->problem);
    if (cell != CELL_NONE &&
        decimal_rescale(&value, book->commodities[asserted->commodity].storage_scale) &&
        amount_fits(value.units)) {
        checker->balances[cell] = (int64_t)value.units;
    }
    return goes_on;
}

static bool apply_posting(struct checker *checker, const struct transaction *transaction,
                          struct posting *posting)
{
    struct book *book = checker->book;
    int64_t *balance = &checker->balances[posting->cell];
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
    return posting->extra == NO_INDEX || !(book->extras[posting->extra].flags & EXTRA_ASSERTION) ||
           check_assertion(checker, transaction, posting) || pass_wrong_assertion(checker, posting);
}

static bool check_transaction(struct checker *checker, uint32_t number)
{
    const struct transaction *transaction = &checker->book->transactions[number];
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

bool check_book(struct book *book, const int64_t *starts, size_t start_count,
                struct problem *problem)
{
    struct checker checker = {
        .book = book, .problem = problem, .starts = starts, .start_count = start_count
    };
    bool good = true;
    sort_by_date(book);
    add_new_cells(&checker);
    for (size_t i = 0; good && i < book->transaction_count; i++) {
        good = check_transaction(&checker, book->order[i]);
    }
    good = good && faults_none(&book->faults, problem);
    settler_fini(&checker.settler);
    free(checker.balances);
    free(checker.pending);
    return good && settle_remainders(book, problem);
}
