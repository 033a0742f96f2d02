/* Owns the file of a recording while a batch runs. A problem with it does not stop the batch. */
#include "watch/recorder.h"

#include <stdio.h>

bool recorder_open(struct recorder *recorder, const char *file, struct problem *problem)
{
    *recorder = (struct recorder){ 0 };
    return recording_stream_open(&recorder->stream, file, problem);
}

void recorder_fini(struct recorder *recorder)
{
    recording_stream_fini(&recorder->stream);
}

static void note_first_problem(struct recorder *recorder, bool done, const struct problem *problem)
{
    if (!done && !recorder->has_failed) {
        recorder->has_failed = true;
        recorder->problem = *problem;
    }
}

static void write_events(void *context, const lanepool_event *events, size_t count)
{
    struct recorder *recorder = context;
    struct problem problem;
    if (count > 0 && !recorder->has_failed) {
        note_first_problem(
            recorder, recording_stream_add(&recorder->stream, events, count, &problem), &problem);
    }
}

void recorder_start(struct recorder *recorder, const struct recording *head, lanepool_pool *pool)
{
    struct problem problem;
    note_first_problem(recorder, recording_stream_begin(&recorder->stream, head, &problem),
                       &problem);
    recorder->is_tapped = tap_start(&recorder->tap, pool, write_events, recorder, &problem);
    note_first_problem(recorder, recorder->is_tapped, &problem);
}

void recorder_end(struct recorder *recorder)
{
    struct problem problem;
    uint64_t missed = 0;
    if (!recorder->is_tapped) {
        return;
    }
    note_first_problem(recorder, tap_end(&recorder->tap, &missed, &problem), &problem);
    if (!recorder->has_failed) {
        note_first_problem(recorder, recording_stream_end(&recorder->stream, missed, &problem),
                           &problem);
    }
    if (missed > 0) {
        fprintf(stderr, "ledgerbatch: %s: %llu events were missed\n", recorder->stream.name,
                (unsigned long long)missed);
    }
}
