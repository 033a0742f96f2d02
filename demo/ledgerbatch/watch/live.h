/*
 * The live view: draws what a pool does while it runs, as laneview does afterwards.
 */
#ifndef LEDGERBATCH_WATCH_LIVE_H
#define LEDGERBATCH_WATCH_LIVE_H

#include <signal.h>

#include "batch/batch.h"
#include "model.h"
#include "watch/tap.h"

struct live {
    const struct batch *batch;
    size_t done_before; /* tasks */
    bool is_ascii;
    bool has_screen; /* else it prints a line a second */
    bool is_tapped, has_model;
    struct model model;
    uint64_t missed;  /* events */
    size_t forget_at; /* when the model has so many tasks */
    uint64_t next_ns; /* not drawn again before */
    sigset_t signals; /* that end or stop the program: those it takes itself */
    sigset_t unblocked;
    struct tap tap;
};

/* On a terminal, signals wait from here on until the view can put the terminal in order first.
 * Before any thread is started; the view has to be finished. */
void live_open(struct live *live, bool is_ascii);
void live_fini(struct live *live);

/* `head` stays until the end; `done_before` tasks were done before this run. */
bool live_start(struct live *live, const struct recording *head, const struct batch *batch,
                size_t done_before, lanepool_pool *pool, struct problem *problem);

/* The pool has ended: draws the end. */
void live_end(struct live *live);

#endif
