/*
 * One call of a user's step: of its `visit` for a client, or of its `group`. The call collects and
 * checks the requests of the step, which change nothing yet.
 */
#ifndef LEDGERBATCH_BATCH_STEP_CALL_H
#define LEDGERBATCH_BATCH_STEP_CALL_H

#include "base/buffer.h"
#include "batch/batch.h"

struct step_posting {
    uint32_t cell;
    int64_t amount;
};

struct step_call {
    struct ledgerbatch_call call; /* must be first */
    struct batch *batch;
    const struct task *task;
    uint32_t client;               /* that is visited; NO_INDEX: `group` is called */
    struct step_posting *postings; /* after the call: by cell, each cell once, none of zero */
    size_t count, capacity;
    struct buffer contribution, report;
    bool is_inside_line; /* of the report */
    bool failed;
    char reason[256];
};

/* The bytes that clients have contributed. */
struct step_contributions {
    struct buffer *items; /* by member of the group */
    size_t count;
};

/*
 * Calls `visit` for a client, or `group` with the contributions of all members. Returns false if
 * the call has failed; then `reason` says why. The caller ends the call in either case.
 */
bool step_call_visit(struct step_call *call, struct batch *batch, const struct task *task,
                     uint32_t client);
bool step_call_group(struct step_call *call, struct batch *batch, const struct task *task,
                     const struct step_contributions *contributions);
void step_call_fini(struct step_call *call);

#endif
