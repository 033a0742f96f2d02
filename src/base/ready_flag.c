/* Owns the flags that a program's event loop can wait for; see ready_flag.h. */
#include "base/ready_flag.h"

static void show_flag(lanepool_i_ready_flag *flag)
{
    if (flag->is_set)
        lanepool_i_event_set(&flag->event);
    else
        lanepool_i_event_clear(&flag->event);
}

void lanepool_i_ready_flag_put_locked(lanepool_i_ready_flag *flag, bool set)
{
    bool changes = flag->is_set != set;
    flag->is_set = set;
    if (changes && flag->has_event)
        show_flag(flag);
}

/* Under the lock no descriptor is opened or closed. Of two callers, one may have opened a
 * descriptor in vain. */
lanepool_status lanepool_i_ready_flag_fd(lanepool_i_ready_flag *flag, lanepool_i_mutex *lock,
                                         int *fd)
{
    lanepool_i_event event;
    if (!lanepool_i_event_init(&event))
        return LANEPOOL_NO_RESOURCE;
    lanepool_i_mutex_lock(lock);
    bool is_first = !flag->has_event;
    if (is_first) {
        flag->event = event;
        flag->has_event = true;
        if (flag->is_set)
            show_flag(flag);
    }
    *fd = lanepool_i_event_fd(&flag->event);
    lanepool_i_mutex_unlock(lock);
    if (!is_first)
        lanepool_i_event_fini(&event);
    return LANEPOOL_OK;
}

void lanepool_i_ready_flag_fini(lanepool_i_ready_flag *flag)
{
    if (flag->has_event)
        lanepool_i_event_fini(&flag->event);
}
