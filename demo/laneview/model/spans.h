/*
 * What the head of a lane did over time: derived from a model that has been fed everything.
 */
#ifndef LANEVIEW_SPANS_H
#define LANEVIEW_SPANS_H

#include "model/model.h"

enum lane_span_kind {
    LANE_LATCHED, /* a rollup is at the head and waits for its other lanes */
    LANE_READY,   /* the task at the head waits for a worker */
    LANE_RUNS,
    LANE_RETRYING, /* an attempt of the task at the head has failed, the next one is not due yet */
    LANE_PARKED    /* the task at the head has failed, and is kept: the lane is poisoned */
};

struct lane_span {
    uint64_t from, to;
    enum lane_span_kind kind;
    size_t entry, task;
    unsigned slot, slot_count; /* its place among those that share the lane at that time */
    unsigned arrived; /* of a latched rollup, in this span; 0: the number changes within it */
    size_t attempt;   /* that runs, or failed last */
};

struct lane_spans {
    struct lane_span *items;
    size_t count, capacity;
};

/* All spans of a lane, in the order of its entries. A latched span ends where another lane of the
 * rollup arrives, and a new one begins; not so for rollups over very many lanes. */
void spans_of_lane(const struct model *model, size_t lane, struct lane_spans *spans);

/* Divides spans that overlap into pieces, each with a slot. Of more than SPANS_SLOTS at a time only
 * so many stay. Afterwards they are in the order of time. */
void spans_divide(struct lane_spans *spans);

#define SPANS_SLOTS 6

void spans_fini(struct lane_spans *spans);

/* When an attempt at a task began and ended, as far as that is known; false if it was never made.
 * `earliest` stands for a beginning that was missed. */
bool spans_of_attempt(const struct model *model, size_t task, size_t number, uint64_t earliest,
                      uint64_t *from, uint64_t *to);

#endif
