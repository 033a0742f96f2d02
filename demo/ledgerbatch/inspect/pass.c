/* Owns the passes over postings; see inspect/pass.h. */
#include "inspect/pass.h"

#include "inspect/existing.h"

bool pass_begin(struct pass *pass, const char *database, struct problem *problem)
{
    pass->store = inspect_open(database, &pass->facts, problem);
    return pass->store && stored_book_load(&pass->book, pass->store, problem);
}

bool pass_end(struct pass *pass, bool good, struct problem *problem)
{
    buffer_fini(&pass->text);
    stored_book_fini(&pass->book);
    store_close(pass->store);
    return good && inspect_flush(problem);
}

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

bool pass_take_all(struct pass *pass, pass_take take, struct problem *problem)
{
    struct stored_transaction transaction = { .seq = 0 };
    struct stored_posting posting;
    struct store_cursor *transactions = store_cursor_open(pass->store, STORE_TRANSACTIONS, problem);
    struct store_cursor *postings = store_cursor_open(pass->store, STORE_POSTINGS, problem);
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

bool pass_take_account(struct pass *pass, uint32_t account, pass_take take, struct problem *problem)
{
    struct stored_register_row row;
    struct store_cursor *cursor = store_register_open(pass->store, account, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_register_next(cursor, &row, problem);
        if (step == STORE_ROW && row.transaction.seq != row.posting.seq) {
            stored_book_damaged(problem, "a posting is of no transaction");
            step = STORE_FAILED;
        } else if (step == STORE_ROW && !take(pass, &row.transaction, &row.posting, problem)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}
