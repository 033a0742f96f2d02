/*
 * A tap: a thread that reads the events of a pool while it runs.
 */
#ifndef LEDGERBATCH_WATCH_TAP_H
#define LEDGERBATCH_WATCH_TAP_H

#include <pthread.h>
#include <stdatomic.h>

#include "lanepool/lanepool.h"
#include "problem.h"

/* Takes the next events, on the tap's thread. No events: nothing has happened for a moment. */
typedef void (*tap_take)(void *context, const lanepool_event *events, size_t count);

struct tap {
    lanepool_trace_reader *reader;
    lanepool_event *events;
    tap_take take;
    void *context;
    pthread_t thread;
    atomic_bool is_over;
    lanepool_status status; /* why it stopped reading */
};

/* Starts a tap. The pool must record events. */
bool tap_start(struct tap *tap, lanepool_pool *pool, tap_take take, void *context,
               struct problem *problem);

/*
 * Waits until all events are taken. Called when the pool has ended, before it is destroyed. Sets
 * *missed to the number of events that were overwritten before they were read. Returns false if
 * reading has failed.
 */
bool tap_end(struct tap *tap, uint64_t *missed, struct problem *problem);

#endif
