/*
 * The live view: draws what a pool does while it runs. It looks like laneview's view of a
 * recording.
 */
#ifndef LEDGERBATCH_WATCH_LIVE_H
#define LEDGERBATCH_WATCH_LIVE_H

#include <signal.h>

#include "batch/batch.h"
#include "model/model.h"
#include "watch/tap.h"

struct live {
    const struct batch *batch;
    size_t done_before; /* tasks that earlier runs have done */
    bool is_ascii;
    bool has_screen; /* false: it prints a line a second */
    bool is_tapped, has_model;
    struct model model;
    uint64_t missed;  /* events that were overwritten before they were read */
    uint64_t next_ns; /* the time of the next drawing */
    sigset_t signals; /* those that end or stop the program, and that it takes itself */
    sigset_t unblocked;
    struct tap tap;
};

/*
 * Opens the view. On a terminal, blocks the signals that end or stop the program: the view takes
 * them and restores the terminal first. Called before any thread is started. live_fini() must be
 * called.
 */
void live_open(struct live *live, bool is_ascii);
void live_fini(struct live *live);

/* Starts to draw. `head` must stay until the end; earlier runs have done `done_before` tasks. */
bool live_start(struct live *live, const struct recording *head, const struct batch *batch,
                size_t done_before, lanepool_pool *pool, struct problem *problem);

/* Draws the end. Called when the pool has ended. */
void live_end(struct live *live);

#endif
