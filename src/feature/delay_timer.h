/*
 * The handle of a periodic task, and when its runs are due; for pools (delay_every.c) and sequences
 * (sequence_every.c). The records of both begin with it.
 */
#ifndef LANEPOOL_SRC_FEATURE_DELAY_TIMER_H
#define LANEPOOL_SRC_FEATURE_DELAY_TIMER_H

#include "base/driver.h"
#include "lanepool/schedule.h"

/* Guards: I immutable, A atomic. */
struct lanepool_timer {
    lanepool_status (*cancel)(lanepool_timer *timer); /* I */
    void (*forget)(lanepool_timer *timer);            /* I: for the last reference */
    _Atomic uint32_t references; /* A: the program's, and the periodic task's until it has ended */
    uint64_t period_ns;          /* I */
    lanepool_period period;      /* I */
};

/* Sets two references. */
void lanepool_i_timer_init(lanepool_timer *timer, uint64_t period_ns, lanepool_period period);
bool lanepool_i_period_is_valid(uint64_t period_ns, lanepool_period period);
/* By the driver's clock, or the monotonic one. Never 0: the later runs may be counted from it. */
uint64_t lanepool_i_timer_first_due(const lanepool_i_driver *driver, int64_t delay_ns);
/* For the run after one that was due at `last_ns` and has ended. */
uint64_t lanepool_i_timer_next_due(const lanepool_timer *timer, const lanepool_i_driver *driver,
                                   uint64_t last_ns);

#endif
