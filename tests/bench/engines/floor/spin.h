/* Waits for a few steps of another thread, without sleeping. */
#ifndef FLOOR_SPIN_H
#define FLOOR_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

static inline void floor_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Called repeatedly with the same counter. Yields now and then, because the other thread may be
 * preempted. */
static inline void floor_spin(unsigned *count)
{
    if (++*count % 64 == 0)
        sched_yield();
    else
        floor_pause();
}

static inline bool floor_try_lock(atomic_bool *lock)
{
    return !atomic_load_explicit(lock, memory_order_relaxed) &&
           !atomic_exchange_explicit(lock, true, memory_order_acquire);
}

static inline void floor_lock(atomic_bool *lock)
{
    unsigned count = 0;
    while (!floor_try_lock(lock))
        floor_spin(&count);
}

static inline void floor_unlock(atomic_bool *lock)
{
    atomic_store_explicit(lock, false, memory_order_release);
}

#endif
