/*
 * The activity at the head of a lane over time, derived from a model that has been fed all events.
 */
#ifndef LANEVIEW_SPANS_H
#define LANEVIEW_SPANS_H

#include "model/model.h"

enum lane_span_kind {
    LANE_LATCHED, /* a rollup is at the head and waits for its other lanes */
    LANE_READY,   /* the task at the head waits for a worker */
    LANE_RUNS,
    LANE_RETRYING, /* its last attempt has failed, and the next one is not due yet */
    LANE_PARKED,   /* the task at the head is parked: the lane is poisoned */
    LANE_VISITED   /* a cut makes its visit */
};

struct lane_span {
    uint64_t from, to;
    enum lane_span_kind kind;
    size_t entry, task;
    unsigned slot, slot_count; /* its position among those that share the lane at that time */
    unsigned arrived;          /* latched: entries granted; 0: it changes within the span */
    size_t attempt;            /* the attempt that runs, or the last one that failed */
};

struct lane_spans {
    struct lane_span *items;
    size_t count, capacity;
};

/* All spans of a lane, in the order of its entries. When another lane of a latched rollup is
 * granted, a new span begins, except for rollups over very many lanes. */
void spans_of_lane(const struct model *model, size_t lane, struct lane_spans *spans);

/* Divides overlapping spans into pieces, each with a slot, and sorts them by time. At most
 * SPANS_SLOTS pieces overlap; further ones are dropped. */
void spans_divide(struct lane_spans *spans);

#define SPANS_SLOTS 6

void spans_fini(struct lane_spans *spans);

/* When an attempt began and ended, as far as it is known. A start that was missed counts as
 * `earliest`. Returns false if the attempt was never made. */
bool spans_of_attempt(const struct model *model, size_t task, size_t number, uint64_t earliest,
                      uint64_t *from, uint64_t *to);

#endif
