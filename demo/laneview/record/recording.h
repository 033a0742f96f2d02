/*
 * A recording: the events of a pool and what is needed to show them, in memory
 * and as a file. docs/laneview.md describes the file byte by byte.
 */
#ifndef LANEVIEW_RECORDING_H
#define LANEVIEW_RECORDING_H

#include "base/map.h"
#include "base/text.h"
#include "lanepool/pool.h"
#include "lanepool/trace.h"
#include "problem.h"

#define RECORDING_TAGS         256
#define RECORDING_WORKERS_MAX  4096
#define RECORDING_RECORD_SIZE  32
#define RECORDING_TICKET_COUNT ((uint64_t)1 << 40) /* tickets begin again after so many */

/* What a lane is called; only lanes that no NAME event names need one. */
struct recording_lane {
    uint8_t type; /* a lanepool_event_lane */
    uint64_t object;
    char *name; /* owned, clean */
};

struct recording {
    unsigned worker_count;
    lanepool_layout layout;
    uint64_t zero_ns;           /* no event is earlier */
    uint64_t missed;            /* events that were overwritten before they were read */
    bool is_cut;                /* the file ends early: who wrote it was stopped */
    char *tags[RECORDING_TAGS]; /* owned, clean; NULL: the tag has no name */
    struct recording_lane *lanes;
    size_t lane_count, lane_capacity;
    struct map lane_indexes; /* from type and object */
    lanepool_event *events;
    size_t event_count, event_capacity;
};

/* Starts an empty recording. `zero_ns` is on the clock of the events. */
void recording_init(struct recording *recording, unsigned worker_count, lanepool_layout layout,
                    uint64_t zero_ns);
void recording_fini(struct recording *recording);

/* Names are any bytes; they are kept as text_add_clean() shows them. */
void recording_name_tag(struct recording *recording, unsigned tag, const char *name);
void recording_name_lane(struct recording *recording, uint8_t type, uint64_t object,
                         const char *name);

/* The first name that a lane was given; NULL. */
const char *recording_lane_name(const struct recording *recording, uint8_t type, uint64_t object);

/* Adds events in the order in which lanepool_trace_read() gave them. */
void recording_add(struct recording *recording, const lanepool_event *events, size_t count);

/* What is wrong with an event of this recording; NULL: nothing. */
const char *recording_check(const struct recording *recording, const lanepool_event *event);

/* Reads a file, "-" being standard input. The recording has to be finished in either case. */
bool recording_read(struct recording *recording, const char *file, struct problem *problem);

bool recording_write(const struct recording *recording, const char *file, struct problem *problem);

/* --- a file that is written while the events come --- */

struct recording_stream {
    const char *name;
    int file; /* -1: not open */
    bool is_new, has_begun;
    uint64_t event_count;
    struct text buffer;
};

/*
 * Opens the file, which may be a pipe, and changes nothing yet. A file that stands there must be
 * empty or a recording. After a problem, too, the stream has to be finished.
 */
bool recording_stream_open(struct recording_stream *stream, const char *name,
                           struct problem *problem);

/* Writes the header: what `head` holds but its events. The file is a good recording from then on,
 * even if the program ends before the stream. */
bool recording_stream_begin(struct recording_stream *stream, const struct recording *head,
                            struct problem *problem);

bool recording_stream_add(struct recording_stream *stream, const lanepool_event *events,
                          size_t count, struct problem *problem);

/* Writes what is known at the end, and closes the file. */
bool recording_stream_end(struct recording_stream *stream, uint64_t missed,
                          struct problem *problem);

/* Removes a file that was made and not begun. */
void recording_stream_fini(struct recording_stream *stream);

#endif
