/*
 * A tap: a thread that takes a pool's events while it runs.
 */
#ifndef LEDGERBATCH_WATCH_TAP_H
#define LEDGERBATCH_WATCH_TAP_H

#include <pthread.h>
#include <stdatomic.h>

#include "lanepool/lanepool.h"
#include "problem.h"

/* Gets the next events, on the tap's thread; none: nothing has happened for a moment. */
typedef void (*tap_take)(void *context, const lanepool_event *events, size_t count);

struct tap {
    lanepool_trace_reader *reader;
    lanepool_event *events;
    tap_take take;
    void *context;
    pthread_t thread;
    atomic_bool is_over;
    lanepool_status status; /* why it stopped to read */
};

/* The pool must record events. */
bool tap_start(struct tap *tap, lanepool_pool *pool, tap_take take, void *context,
               struct problem *problem);

/*
 * Waits until all that has happened was taken. The pool has ended and is still there. Says how many
 * events were overwritten before they could be taken; false if reading has failed.
 */
bool tap_end(struct tap *tap, uint64_t *missed, struct problem *problem);

#endif
