/*
 * A recording: the events of a pool, and what is needed to show them. docs/laneview.md describes
 * the file byte by byte.
 */
#ifndef LANEVIEW_RECORDING_H
#define LANEVIEW_RECORDING_H

#include "base/map.h"
#include "base/text.h"
#include "lanepool/inspect.h"
#include "lanepool/pool.h"
#include "problem.h"

#define RECORDING_TAGS         256
#define RECORDING_WORKERS_MAX  4096
#define RECORDING_RECORD_SIZE  32
#define RECORDING_TICKET_COUNT ((uint64_t)1 << 40) /* tickets are numbered modulo this */

/* The name of a lane. Lanes that NAME events name need none. */
struct recording_lane {
    uint8_t type; /* a lanepool_event_lane */
    uint64_t object;
    char *name; /* owned, clean */
};

struct recording {
    unsigned worker_count;
    lanepool_layout layout;
    uint64_t zero_ns;           /* the earliest possible time of an event */
    uint64_t missed;            /* events that were overwritten before they were read */
    bool ends_early;            /* the file has no end: its writer was stopped */
    char *tags[RECORDING_TAGS]; /* owned, clean; NULL: no name */
    struct recording_lane *lanes;
    size_t lane_count, lane_capacity;
    struct map lane_indexes; /* from a lane's type and object to its index in `lanes` */
    lanepool_event *events;
    size_t event_count, event_capacity;
};

/* Starts an empty recording. `zero_ns` is a time on the clock of the events. */
void recording_init(struct recording *recording, unsigned worker_count, lanepool_layout layout,
                    uint64_t zero_ns);
void recording_fini(struct recording *recording);

/* Names a tag or a lane. A name may be any bytes; it is stored clean, as text_add_clean() writes
 * it. */
void recording_name_tag(struct recording *recording, unsigned tag, const char *name);
void recording_name_lane(struct recording *recording, uint8_t type, uint64_t object,
                         const char *name);

/* The first name that a lane was given; NULL if it was given none. */
const char *recording_lane_name(const struct recording *recording, uint8_t type, uint64_t object);

/* Adds events in the order of lanepool_trace_read(). */
void recording_add(struct recording *recording, const lanepool_event *events, size_t count);

/* Returns what is wrong with an event of this recording; NULL if the event is valid. */
const char *recording_check(const struct recording *recording, const lanepool_event *event);

/* Reads a file; "-" is standard input. Call recording_fini() in either case. */
bool recording_read(struct recording *recording, const char *file, struct problem *problem);

bool recording_write(const struct recording *recording, const char *file, struct problem *problem);

/* --- writing a file while events arrive --- */

struct recording_stream {
    const char *name;
    int file; /* -1: not open */
    bool is_new, has_begun;
    uint64_t event_count;
    struct text buffer;
};

/*
 * Opens the file, which may be a pipe, without changing it. A file that exists must be empty or a
 * recording. Call recording_stream_fini() after a failure, too.
 */
bool recording_stream_open(struct recording_stream *stream, const char *name,
                           struct problem *problem);

/* Writes the header: everything in `head` but its events. From then on the file is a valid
 * recording, even if the program ends before the stream. */
bool recording_stream_begin(struct recording_stream *stream, const struct recording *head,
                            struct problem *problem);

bool recording_stream_add(struct recording_stream *stream, const lanepool_event *events,
                          size_t count, struct problem *problem);

/* Writes the end of the recording, and closes the file. */
bool recording_stream_end(struct recording_stream *stream, uint64_t missed,
                          struct problem *problem);

/* Closes the file if it is open, and removes it if it was created but not begun. */
void recording_stream_fini(struct recording_stream *stream);

#endif
