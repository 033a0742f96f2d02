/*
 * The committer: writes effects to the store, many in one commit. It owns the store while a batch
 * runs, and is then called by the thread of the pool's journal.
 */
#ifndef LEDGERBATCH_COMMIT_COMMITTER_H
#define LEDGERBATCH_COMMIT_COMMITTER_H

#include "base/buffer.h"
#include "batch/batch.h"
#include "store/store.h"

struct committer {
    struct batch *batch;
    struct store *store;
    struct problem problem; /* if it has failed: why */
    bool failed;
    struct task **taken; /* those of the next commit */
    size_t taken_count, taken_capacity;
    struct cut **touched; /* the cuts with visits in the commit that is being made */
    size_t touched_count, touched_capacity;
    wide *balances;      /* by cell: as committed, or in the commit that is being made */
    uint8_t *cell_flags; /* by cell: CELL_STORED, CELL_DIRTY */
    uint32_t *dirty_cells;
    uint32_t *last_seqs; /* by lane */
    uint8_t *lane_flags; /* by lane: LANE_DIRTY */
    uint32_t *dirty_lanes;
    size_t dirty_cell_count, dirty_lane_count;
    struct lane_list lanes;
    struct buffer text;
    struct stored_commodity *commodities;
};

/* Prepares a committer for an empty store: balances and progress are zero. */
void committer_init(struct committer *committer, struct batch *batch, struct store *store);
void committer_fini(struct committer *committer);

/*
 * Loads the balances of cells and the progress of lanes from an unfinished store. It is a problem
 * if the store does not fit the plan.
 */
bool committer_load(struct committer *committer, struct problem *problem);

/* Returns the transaction of a task. */
static inline const struct transaction *committer_transaction(const struct committer *committer,
                                                              const struct task *task)
{
    return &committer->batch->plan->book.transactions[task->subject];
}

static inline const struct client_cell *committer_cell(const struct committer *committer,
                                                       uint32_t cell)
{
    return &committer->batch->plan->clients.cells[cell];
}

/* Returns the row of posting i of a transaction. House accounts have no running balance. The price
 * is written into `price_text`, of AMOUNT_TEXT_SIZE. */
struct stored_posting committer_posting_row(const struct committer *committer, uint32_t seq,
                                            const struct transaction *transaction, uint32_t i,
                                            char *price_text);

/* Takes a task that has an outcome into the next commit, which drops its effect. */
void committer_take(struct committer *committer, struct task *task);

/*
 * Commits what all taken tasks have done, or nothing of it. Returns false after a problem; it is
 * not called again then.
 */
bool committer_commit(struct committer *committer);

#endif
