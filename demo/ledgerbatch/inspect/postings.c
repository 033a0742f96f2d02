/* Owns the commands that read all postings: register and trial-balance. */
#include <string.h>

#include "base/buffer.h"
#include "base/nearest.h"
#include "base/syntax.h"
#include "inspect/existing.h"
#include "inspect/inspect.h"
#include "publish/output.h"
#include "store/entry.h"
#include "store/stored_book.h"

/* Enough text to print at once. */
#define PIECE_SIZE 65536

/* One pass over the transactions with their postings, in the order of seq. */
struct pass {
    struct stored_book book;
    uint32_t account; /* of a register */
    uint32_t day;     /* of a trial balance: later transactions do not count */
    struct buffer text;
};

typedef bool (*pass_take)(struct pass *pass, const struct stored_transaction *transaction,
                          const struct stored_posting *posting, struct problem *problem);

/* Reads the next transaction whose seq is at least that of the posting. */
static bool find_transaction(struct store_cursor *transactions, uint32_t seq,
                             struct stored_transaction *transaction, struct problem *problem)
{
    enum store_step step = STORE_ROW;
    while (step == STORE_ROW && transaction->seq < seq) {
        step = store_cursor_next(transactions, transaction, problem);
    }
    if (step == STORE_FAILED) {
        return false;
    }
    return (step == STORE_ROW && transaction->seq == seq) ||
           stored_book_damaged(problem, "a posting is of no transaction");
}

static bool take_all(struct pass *pass, struct store *store, pass_take take,
                     struct problem *problem)
{
    struct stored_transaction transaction = { .seq = 0 };
    struct stored_posting posting;
    struct store_cursor *transactions = store_cursor_open(store, STORE_TRANSACTIONS, problem);
    struct store_cursor *postings = store_cursor_open(store, STORE_POSTINGS, problem);
    enum store_step step = transactions && postings ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(postings, &posting, problem);
        if (step == STORE_ROW &&
            (!find_transaction(transactions, posting.seq, &transaction, problem) ||
             !take(pass, &transaction, &posting, problem))) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(postings);
    store_cursor_close(transactions);
    return step == STORE_END;
}

/* Adds a posting to the balance of its account. */
static bool add_posting(struct pass *pass, const struct stored_posting *posting,
                        struct stored_cell **cell, struct problem *problem)
{
    *cell = stored_book_cell(&pass->book, posting->account, posting->commodity);
    if (!*cell) {
        return stored_book_damaged(problem, "a posting is of no account or commodity");
    }
    return !__builtin_add_overflow((*cell)->running, posting->amount, &(*cell)->running) ||
           stored_book_damaged(problem, "a balance has too many digits");
}

/* --- register --- */

static void print_piece(struct pass *pass, size_t at_least)
{
    if (pass->text.size >= at_least) {
        buffer_print(&pass->text);
        pass->text.size = 0;
    }
}

/* Adds a line SEQ,DATE,CODE,TEXT,COMMODITY,AMOUNT,BALANCE. */
static void add_register_line(struct pass *pass, const struct stored_transaction *transaction,
                              const struct stored_posting *posting, int64_t balance)
{
    const struct stored_commodity *commodity = &pass->book.commodities[posting->commodity];
    struct buffer *text = &pass->text;
    buffer_add_number(text, transaction->seq);
    buffer_add_byte(text, ',');
    date_write(buffer_room(text, DATE_SIZE), transaction->date);
    text->size += DATE_SIZE;
    buffer_add_byte(text, ',');
    buffer_add_field(text, transaction->code);
    buffer_add_byte(text, ',');
    buffer_add_field(text, transaction->text);
    buffer_add_byte(text, ',');
    buffer_add_field(text, commodity->symbol);
    buffer_add_byte(text, ',');
    entry_number(text, commodity, posting->amount);
    buffer_add_byte(text, ',');
    entry_number(text, commodity, balance);
    buffer_add_byte(text, '\n');
    print_piece(pass, PIECE_SIZE);
}

static bool take_for_register(struct pass *pass, const struct stored_transaction *transaction,
                              const struct stored_posting *posting, struct problem *problem)
{
    struct stored_cell *cell;
    if (!add_posting(pass, posting, &cell, problem)) {
        return false;
    }
    if (posting->account == pass->account) {
        add_register_line(pass, transaction, posting, cell->running);
    }
    return true;
}

static bool find_account(struct pass *pass, const char *name, struct problem *problem)
{
    char hint[NEAREST_HINT_SIZE];
    struct slice wanted = slice_of(name);
    struct nearest nearest = nearest_to(wanted);
    for (size_t i = 0; i < pass->book.account_count; i++) {
        pass->account = (uint32_t)i;
        if (slice_equal(pass->book.accounts[i].name, wanted)) {
            return true;
        }
        nearest_try(&nearest, pass->book.accounts[i].name);
    }
    return problem_set(problem, EXIT_CODE_INPUT, "no account has the name '%s'%s", name,
                       nearest_hint(&nearest, hint));
}

bool inspect_register(const char *database, const char *account, struct problem *problem)
{
    struct store_facts facts;
    struct pass pass = { .account = 0 };
    struct store *store = inspect_open(database, &facts, problem);
    if (!store) {
        return false;
    }
    bool good =
        stored_book_load(&pass.book, store, problem) && find_account(&pass, account, problem);
    if (good) {
        buffer_add_text(&pass.text, "seq,date,code,text,commodity,amount,balance\n");
        good = take_all(&pass, store, take_for_register, problem);
        print_piece(&pass, 0);
        inspect_warn(database, &facts, "postings");
    }
    buffer_fini(&pass.text);
    stored_book_fini(&pass.book);
    store_close(store);
    return good && inspect_flush(problem);
}

/* --- trial balance --- */

static bool take_for_trial_balance(struct pass *pass, const struct stored_transaction *transaction,
                                   const struct stored_posting *posting, struct problem *problem)
{
    struct stored_cell *cell;
    return transaction->date > pass->day || add_posting(pass, posting, &cell, problem);
}

bool inspect_trial_balance(const char *database, uint32_t day, struct problem *problem)
{
    struct store_facts facts;
    struct pass pass = { .day = day };
    struct store *store = inspect_open(database, &facts, problem);
    if (!store) {
        return false;
    }
    bool good = stored_book_load(&pass.book, store, problem) &&
                take_all(&pass, store, take_for_trial_balance, problem);
    if (good) {
        output_trial_balance(&pass.book, &pass.text);
        print_piece(&pass, 0);
        inspect_warn(database, &facts, "balances");
    }
    buffer_fini(&pass.text);
    stored_book_fini(&pass.book);
    store_close(store);
    return good && inspect_flush(problem);
}
