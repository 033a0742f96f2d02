/*
 * The header of a task: what a journal says of it in its first line.
 */
#ifndef LEDGERBATCH_COMMIT_TASK_HEADER_H
#define LEDGERBATCH_COMMIT_TASK_HEADER_H

#include "base/buffer.h"
#include "plan/plan.h"
#include "store/store.h"

/*
 * The row of a task before it is done: of a transaction what its input says, of a rollup what it
 * generates. `text` is emptied and keeps what the row needs.
 */
struct stored_transaction header_of(const struct plan *plan, const struct task *task,
                                    struct buffer *text);

#endif
