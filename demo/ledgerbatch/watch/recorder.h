/*
 * The recorder: writes what a pool does into a recording, which laneview shows.
 */
#ifndef LEDGERBATCH_WATCH_RECORDER_H
#define LEDGERBATCH_WATCH_RECORDER_H

#include "recording.h"
#include "watch/tap.h"

struct recorder {
    struct recording_stream stream;
    struct tap tap;
    bool is_tapped;
    bool has_failed;
    struct problem problem; /* the first, if it has failed: the run goes on without a recording */
};

/* Opens the file and changes nothing in it yet. The recorder has to be finished in either case. */
bool recorder_open(struct recorder *recorder, const char *file, struct problem *problem);
void recorder_fini(struct recorder *recorder);

/* From here on everything is recorded; `head` has everything but the events. */
void recorder_start(struct recorder *recorder, const struct recording *head, lanepool_pool *pool);

/* The pool has ended: what is left is written. */
void recorder_end(struct recorder *recorder);

#endif
