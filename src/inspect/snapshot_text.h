/*
 * Output of snapshots: text, and tasks and lanes as every writer names them.
 */
#ifndef LANEPOOL_SRC_INSPECT_SNAPSHOT_TEXT_H
#define LANEPOOL_SRC_INSPECT_SNAPSHOT_TEXT_H

#include "lanepool/future.h"
#include "lanepool/inspect.h"

typedef struct lanepool_i_out {
    lanepool_write_fn write;
    void *context;
} lanepool_i_out;

void lanepool_i_out_text(const lanepool_i_out *out, const char *text);
void lanepool_i_out_number(const lanepool_i_out *out, uint64_t number);
/* Writes "1 task" or "2 tasks". */
void lanepool_i_out_count(const lanepool_i_out *out, uint64_t count, const char *what);

/* Writes "task 12 (close)". */
void lanepool_i_out_task(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t task);
/* Writes the lane's name, or its number without one. Replaces unprintable bytes and quotes. */
void lanepool_i_out_lane(const lanepool_i_out *out, const lanepool_snapshot *snapshot, size_t lane);
/* Writes " runs on worker 1" or " is latched with 2 of 3 lanes". */
void lanepool_i_out_state(const lanepool_i_out *out, const lanepool_snapshot *snapshot,
                          size_t task);

/* For a task in no snapshot, write the line "the task is due in 12 ms" or "the task has
 * finished". */
void lanepool_i_out_delay(const lanepool_i_out *out, uint64_t due_ns);
void lanepool_i_out_end(const lanepool_i_out *out, const lanepool_result *result);

#endif
