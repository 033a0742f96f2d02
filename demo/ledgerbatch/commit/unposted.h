/*
 * The rows of a transaction that is not posted: the reason, the transaction as journal text, and
 * its postings for the control totals.
 */
#ifndef LEDGERBATCH_COMMIT_UNPOSTED_H
#define LEDGERBATCH_COMMIT_UNPOSTED_H

#include "commit/committer.h"

bool unposted_write_deferral(struct committer *committer, const struct task *task);
bool unposted_write_refusal(struct committer *committer, const struct task *task,
                            const struct stored_transaction *header);

#endif
