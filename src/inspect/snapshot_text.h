/*
 * Output of snapshots: text, and tasks and lanes as every writer names them.
 */
#ifndef LANEPOOL_SRC_INSPECT_SNAPSHOT_TEXT_H
#define LANEPOOL_SRC_INSPECT_SNAPSHOT_TEXT_H

#include "lanepool/inspect.h"

typedef struct lanepool_i_out {
    lanepool_write_fn write;
    void *context;
} lanepool_i_out;

void lanepool_i_out_text(const lanepool_i_out *out, const char *text);
void lanepool_i_out_number(const lanepool_i_out *out, uint64_t number);
/* Writes "1 task" or "2 tasks". */
void lanepool_i_out_count(const lanepool_i_out *out, uint64_t count, const char *what);
/* Writes "12 ms", the time between two moments; 0 if the second one is earlier. */
void lanepool_i_out_ms(const lanepool_i_out *out, uint64_t from_ns, uint64_t to_ns);

/* Writes "task 12 (close)". */
void lanepool_i_out_task(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t task);
/* Writes the lane's name, or its number without one. Replaces unprintable bytes and quotes. */
void lanepool_i_out_lane(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t lane);
/* Writes " runs on worker 1" or " is latched with 2 of 3 lanes". */
void lanepool_i_out_state(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                          size_t task);

#endif
