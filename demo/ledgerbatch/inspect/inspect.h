/*
 * The commands that only read a database.
 */
#ifndef LEDGERBATCH_INSPECT_INSPECT_H
#define LEDGERBATCH_INSPECT_INSPECT_H

#include <stdint.h>

#include "problem.h"
#include "store/store.h"

bool inspect_balances(const char *database, struct problem *problem);
bool inspect_status(const char *database, struct problem *problem);
/* Prints the postings of one account. */
bool inspect_register(const char *database, const char *account, struct problem *problem);
/* Prints the balances of a client before a day, the postings from then on until the end of another
 * day, and the balances then. */
bool inspect_statement(const char *database, const char *client, uint32_t from_day, uint32_t day,
                       struct problem *problem);
/* Prints the trial balance at the end of a day. */
bool inspect_trial_balance(const char *database, uint32_t day, struct problem *problem);
/* Checks the file and all sums, and prints the head. `wanted` is the head that it must have, or
 * NULL. `folder` has the outputs, or is NULL: then they are not checked. */
bool inspect_verify(const char *database, const char *wanted, const char *folder,
                    struct problem *problem);

/* Prints the first refused and the first deferred transactions of a store's window. `has_files`:
 * the output files list them all. */
bool inspect_list_unposted(struct store *store, bool has_files, struct problem *problem);

#endif
