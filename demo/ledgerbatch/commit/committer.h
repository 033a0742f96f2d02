/*
 * The committer: one thread that owns the store while a batch runs and writes
 * effects to it, many in one commit.
 */
#ifndef LEDGERBATCH_COMMIT_COMMITTER_H
#define LEDGERBATCH_COMMIT_COMMITTER_H

#include "base/buffer.h"
#include "batch/batch.h"
#include "store/store.h"

struct committer {
    struct batch *batch;
    struct store *store;
    struct problem problem; /* why it stopped, if it did */
    bool failed;
    pthread_t thread;
    struct effect_list taken;
    wide *balances;      /* by cell: as committed, with what is being committed */
    uint8_t *cell_marks; /* by cell: see commit/committer.c */
    uint32_t *dirty_cells;
    uint32_t *last_seqs; /* by lane */
    uint8_t *lane_marks;
    uint32_t *dirty_lanes;
    size_t dirty_cell_count, dirty_lane_count;
    struct lane_list lanes;
    struct buffer text;
    struct stored_commodity *commodities;
};

/* Prepares a committer; balances and progress are those of the store, or zero. */
void committer_init(struct committer *committer, struct batch *batch, struct store *store);
void committer_fini(struct committer *committer);

/*
 * Takes over what an unfinished store holds: balances of cells, progress of
 * lanes. Fails when the store does not fit the plan.
 */
bool committer_load(struct committer *committer, struct problem *problem);

bool committer_start(struct committer *committer, struct problem *problem);

/* Waits until everything in the closed queue is committed; false with the problem. */
bool committer_join(struct committer *committer, struct problem *problem);

#endif
