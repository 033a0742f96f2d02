/* Owns the pass over all postings; see inspect/pass.h. */
#include "inspect/pass.h"

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

bool pass_take_all(struct pass *pass, struct store *store, pass_take take, struct problem *problem)
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

bool pass_add_posting(struct pass *pass, const struct stored_posting *posting,
                      struct stored_cell **cell, struct problem *problem)
{
    *cell = stored_book_cell(&pass->book, posting->account, posting->commodity);
    if (!*cell) {
        return stored_book_damaged(problem, "a posting is of no account or commodity");
    }
    return !__builtin_add_overflow((*cell)->running, posting->amount, &(*cell)->running) ||
           stored_book_damaged(problem, "a balance has too many digits");
}
