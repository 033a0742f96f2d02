/* A cut that records its visits, its calls and its end. */
#ifndef TESTS_SUPPORT_CUT_H
#define TESTS_SUPPORT_CUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "lanepool/lanepool.h"
#include "support/gate.h"

enum { CUT_LANES_MAX = 400 };

/* A cut over the lanes 0, 1 and so on. Visits of one lane follow one another. */
struct cut {
    lanepool_claim claims[CUT_LANES_MAX];
    size_t claim_count;
    struct gate *gate;              /* where the visit of lane `slow` stops; or NULL */
    size_t slow;                    /* the number of that claim */
    int codes[CUT_LANES_MAX];       /* what the visits return */
    uint64_t values[CUT_LANES_MAX]; /* what they saw */
    const uint64_t *accounts;       /* guarded by the lanes; or NULL */
    _Atomic uint32_t visits[CUT_LANES_MAX];
    _Atomic uint32_t visited; /* calls in all */
    _Atomic uint32_t calls;   /* of the function */
    uint32_t visited_at_call;
    size_t claims_at_call;
    int code; /* what the function returns */
    _Atomic uint32_t cancels, releases;
    _Atomic lanepool_status why;
};

/* A lanepool_at_lane_fn, and one after whose first call for a lane no call for it fails. */
int cut_visit(lanepool_run *run, void *context, size_t index);
int cut_fail_once(lanepool_run *run, void *context, size_t index);

/* Makes a cut with claims in this mode of the keys from 0. */
void cut_init(struct cut *cut, size_t lane_count, lanepool_mode mode);
/* Returns the description. The claims are those of the cut. */
lanepool_task cut_task(struct cut *cut);
/* Submits the cut with a future. Fails the test on error. */
lanepool_future *cut_submit(lanepool_pool *pool, struct cut *cut);
/* Waits for the cut, releases its future, and returns its status. `code` may be NULL. */
lanepool_status cut_end(lanepool_future *future, int *code);

#endif
