/*
 * A timeline: which worker ran which task, and when. It is kept apart from the
 * outputs, which are the same for every run.
 */
#ifndef LEDGERBATCH_TIMELINE_H
#define LEDGERBATCH_TIMELINE_H

#include <stddef.h>
#include <stdint.h>

#include "plan.h"

struct timeline_span {
    uint64_t start_ns, end_ns; /* 0: the task did not run this time */
    uint32_t worker;
};

struct timeline {
    struct timeline_span *spans; /* by seq - 1; each written by its own task only */
    uint64_t start_ns;
};

/* The monotonic clock. */
uint64_t timeline_now(void);

void timeline_init(struct timeline *timeline, size_t task_count);
void timeline_fini(struct timeline *timeline);

void timeline_record(struct timeline *timeline, uint32_t seq, size_t worker, uint64_t start_ns);

/* Writes one line a task: seq kind worker start_ns end_ns clients. */
bool timeline_write(const struct timeline *timeline, const struct plan *plan, const char *path,
                    struct problem *problem);

#endif
