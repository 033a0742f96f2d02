/* Owns the handles of periodic tasks; see delay_timer.h. */
#include "feature/delay_timer.h"

void lanepool_i_timer_init(lanepool_timer *timer, uint64_t period_ns, lanepool_period period)
{
    atomic_init(&timer->references, 2);
    timer->period_ns = period_ns;
    timer->period = period;
}

bool lanepool_i_period_is_valid(uint64_t period_ns, lanepool_period period)
{
    return period_ns > 0 && (unsigned)period <= LANEPOOL_FIXED_DELAY;
}

uint64_t lanepool_i_timer_first_due(const lanepool_i_driver *driver, int64_t delay_ns)
{
    return lanepool_i_deadline_from(lanepool_i_driver_now(driver),
                                    delay_ns > 0 ? (uint64_t)delay_ns : 0);
}

uint64_t lanepool_i_timer_next_due(const lanepool_timer *timer, const lanepool_i_driver *driver,
                                   uint64_t last_ns)
{
    if (timer->period == LANEPOOL_FIXED_DELAY)
        return lanepool_i_driver_deadline(driver, timer->period_ns);
    return timer->period_ns < UINT64_MAX - last_ns ? last_ns + timer->period_ns : UINT64_MAX;
}

lanepool_status lanepool_timer_cancel(lanepool_timer *timer)
{
    return timer != NULL ? timer->cancel(timer) : LANEPOOL_INVALID;
}

/* Release: this owner's last use happens before the free. Acquire: so does the other owner's. */
void lanepool_timer_release(lanepool_timer *timer)
{
    if (timer != NULL && fetch_sub_acq_rel(&timer->references, 1) == 1)
        timer->forget(timer);
}
