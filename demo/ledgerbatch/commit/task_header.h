/*
 * The header of a task: the parts of its first line in a journal.
 */
#ifndef LEDGERBATCH_COMMIT_TASK_HEADER_H
#define LEDGERBATCH_COMMIT_TASK_HEADER_H

#include "base/buffer.h"
#include "plan/plan.h"
#include "store/store.h"

/*
 * Returns the header of a task: of a transaction from the input, of a rollup generated. `text` is
 * emptied first; it owns the generated parts.
 */
struct stored_transaction task_header(const struct plan *plan, const struct task *task,
                                      struct buffer *text);

#endif
