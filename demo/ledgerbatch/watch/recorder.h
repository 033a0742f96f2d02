/*
 * The recorder: writes what a pool does into a recording, which laneview shows.
 */
#ifndef LEDGERBATCH_WATCH_RECORDER_H
#define LEDGERBATCH_WATCH_RECORDER_H

#include "record/recording.h"
#include "watch/tap.h"

struct recorder {
    struct recording_stream stream;
    struct tap tap;
    bool is_tapped;
    bool has_failed;
    struct problem problem; /* the first one; after it, the run continues without a recording */
};

/* Opens the file, without changing it yet. recorder_fini() must be called in either case. */
bool recorder_open(struct recorder *recorder, const char *file, struct problem *problem);
void recorder_fini(struct recorder *recorder);

/* Starts to record. `head` is the recording without events. */
void recorder_start(struct recorder *recorder, const struct recording *head, lanepool_pool *pool);

/* Writes the remaining events. Called when the pool has ended. */
void recorder_end(struct recorder *recorder);

#endif
