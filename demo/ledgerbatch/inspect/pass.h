/*
 * One pass over the transactions with their postings, or over those of an account, in the order of
 * seq.
 */
#ifndef LEDGERBATCH_INSPECT_PASS_H
#define LEDGERBATCH_INSPECT_PASS_H

#include "base/buffer.h"
#include "store/stored_book.h"

struct pass {
    struct store *store;
    struct store_facts facts;
    struct stored_book book;
    uint32_t lane;     /* of a statement */
    uint32_t from_day; /* of a statement: earlier transactions are in the opening balances */
    uint32_t day;      /* of both, and of a trial balance: later transactions do not count */
    struct buffer text;
};

/* Takes a posting. Returns false after a problem, which ends the pass. */
typedef bool (*pass_take)(struct pass *pass, const struct stored_transaction *transaction,
                          const struct stored_posting *posting, struct problem *problem);

/* Opens the database and loads the names and balances. pass_end() follows in any case. */
bool pass_begin(struct pass *pass, const char *database, struct problem *problem);
/* Calls `take` for each posting. */
bool pass_take_all(struct pass *pass, pass_take take, struct problem *problem);
/* Calls `take` for each posting of one account. If the batch is finished, reads no others. */
bool pass_take_account(struct pass *pass, uint32_t account, pass_take take,
                       struct problem *problem);
/* Closes the database. Returns true if `good`, and all was printed. */
bool pass_end(struct pass *pass, bool good, struct problem *problem);

#endif
