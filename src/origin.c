/* Owns the step by which an inherited lock becomes this process's own; see origin.h. */
#include "origin.h"

/* Beside the number of a process. */
#define ADOPTED_NOW ((uint32_t)1 << 31) /* one of its threads is trying the lock */
#define HELD        ((uint32_t)1 << 30) /* that has found it held */

bool lanepool_i_origin_adopt(lanepool_i_origin *origin, lanepool_i_mutex *lock)
{
    uint32_t here = lanepool_i_process();
    uint32_t seen = load_acquire(&origin->process);
    while ((seen & ~(ADOPTED_NOW | HELD)) != here) {
        if (!cas_acq_rel(&origin->process, &seen, here | ADOPTED_NOW))
            continue;
        bool is_free = lanepool_i_mutex_try(lock);
        if (is_free)
            lanepool_i_mutex_unlock(lock);
        seen = is_free ? here : here | HELD;
        store_release(&origin->process, seen);
    }
    for (; (seen & ADOPTED_NOW) != 0; seen = load_acquire(&origin->process))
        lanepool_i_yield();
    return (seen & HELD) == 0;
}
