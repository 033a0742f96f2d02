/*
 * Cuts: month-end rollups whose clients do not wait for one another. Each client is visited in its
 * own turn, and continues at once. A visit is done like a part of a rollup: by a task with a
 * `member`.
 *
 * A visit is written before its client's later tasks. So a crash leaves rollups of which only some
 * clients are done. The store then lists the others as missing, and a later run makes up for them.
 *
 * Threads: the worker that makes a visit has the visit; once all are made or left out, the last
 * worker has the cut. The committer has its own fields, and a visit from its journal entry on.
 */
#ifndef LEDGERBATCH_BATCH_CUT_H
#define LEDGERBATCH_BATCH_CUT_H

#include "batch/batch.h"

struct visit {
    struct task part; /* must be first; its effect names the cut */
    bool is_done;
    struct buffer contribution; /* to a user's step: a copy that outlives the effect of the part */
    bool is_written;            /* of the committer, as all below */
    bool is_stored;             /* the store has the contribution */
};

struct cut {
    const struct task *task; /* the rollup */
    bool has_row;            /* the store has its transaction */
    bool is_listed;          /* the store lists the clients that are not written as missing */
    bool is_touched;         /* it has visits in the commit that is being made */
    size_t unwritten_count;
    size_t visit_count;    /* the lanes of the rollup */
    size_t count;          /* of parts: one more if it is a step with a `group` */
    struct visit visits[]; /* one for each lane of the rollup, in the order of plan_lanes(); then
                              the call of `group` */
};

/* Makes a cut of a rollup. */
struct cut *cut_create(const struct task *task);
/* Frees a cut, with the effects of visits that were not written. */
void cut_destroy(struct cut *cut);
/* Does a visit. Returns 0, or BATCH_FAILED: then its client is held. */
int cut_visit(struct cut *cut, size_t number);
/*
 * Records the clients that were left out because they are held. If there are none, calls the
 * `group` of a user's step, and returns the part to write; otherwise NULL.
 */
struct task *cut_end(struct cut *cut);

#endif
