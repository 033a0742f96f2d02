/*
 * The handle of a periodic task, and when its runs are due. The record of a periodic task begins
 * with the handle, in a pool (delay_every.c) and in a sequence (sequence_every.c).
 */
#ifndef LANEPOOL_SRC_FEATURE_DELAY_TIMER_H
#define LANEPOOL_SRC_FEATURE_DELAY_TIMER_H

#include "base/atomic.h"
#include "lanepool/delay.h"

/* Guards: I immutable, A atomic. */
struct lanepool_timer {
    lanepool_status (*cancel)(lanepool_timer *timer); /* I */
    void (*forget)(lanepool_timer *timer); /* I: called when the last reference is gone */
    _Atomic uint32_t references; /* A: the program's, and the periodic task's until it has ended */
    uint64_t period_ns;          /* I */
    lanepool_period period;      /* I */
};

/* Sets two references. */
void lanepool_i_timer_init(lanepool_timer *timer, uint64_t period_ns, lanepool_period period);
bool lanepool_i_period_is_valid(uint64_t period_ns, lanepool_period period);
/* Returns when the first run is due. Never 0, since the later runs may be counted from it. */
uint64_t lanepool_i_timer_first_due(int64_t delay_ns);
/* Returns when the next run is due, after a run that was due at `last_ns` has ended. */
uint64_t lanepool_i_timer_next_due(const lanepool_timer *timer, uint64_t last_ns);

#endif
