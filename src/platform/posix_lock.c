/* The platform on POSIX threads: locks. In checked builds also their order; see lock_order.h. */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <stdio.h>

#if defined(LANEPOOL_CHECKED)

static const char *const lock_names[] = {
#define NAME(lock, name) name,
    LANEPOOL_I_LOCKS(NAME)
#undef NAME
};

/* A thread holds at most one lock of each sort, because each comes after the one before it, the
 * locks of all stripes of quotas, and one lock that it only tries. */
enum { HELD_MAX = sizeof lock_names / sizeof *lock_names + LANEPOOL_I_STRIPES_MAX + 1 };

/* The locks that this thread holds, in the order in which it took them. */
static _Thread_local struct {
    const lanepool_i_mutex *all[HELD_MAX];
    size_t count;
} held;

static void note_locked(const lanepool_i_mutex *mutex)
{
    held.all[held.count++] = mutex;
}

static void note_unlocked(const lanepool_i_mutex *mutex)
{
    size_t i = --held.count;
    const lanepool_i_mutex *later = held.all[i];
    while (later != mutex && i > 0) {
        const lanepool_i_mutex *earlier = held.all[--i];
        held.all[i] = later;
        later = earlier;
    }
}

/* Only the last lock is compared: those before it come before it in the order. */
static void check_order(const lanepool_i_mutex *mutex)
{
    if (held.count == 0)
        return;
    lanepool_i_lock last = held.all[held.count - 1]->lock;
    if (lanepool_i_lock_may_follow(last, mutex->lock))
        return;
    fprintf(stderr, "lanepool: internal error: %s lock is taken under %s lock\n",
            lock_names[mutex->lock], lock_names[last]);
    abort();
}

#else

static inline void note_locked(const lanepool_i_mutex *mutex)
{
    (void)mutex;
}

static inline void note_unlocked(const lanepool_i_mutex *mutex)
{
    (void)mutex;
}

static inline void check_order(const lanepool_i_mutex *mutex)
{
    (void)mutex;
}

#endif

bool lanepool_i_mutex_init(lanepool_i_mutex *mutex, lanepool_i_lock lock)
{
#if defined(LANEPOOL_CHECKED)
    mutex->lock = lock;
#else
    (void)lock;
#endif
    return pthread_mutex_init(&mutex->mutex, NULL) == 0;
}

void lanepool_i_mutex_init_static(lanepool_i_mutex *mutex, lanepool_i_lock lock)
{
#if defined(LANEPOOL_CHECKED)
    mutex->lock = lock;
#else
    (void)lock;
#endif
    mutex->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void lanepool_i_mutex_fini(lanepool_i_mutex *mutex)
{
    lanepool_i_check_ok(pthread_mutex_destroy(&mutex->mutex) == 0);
}

void lanepool_i_mutex_lock(lanepool_i_mutex *mutex)
{
    LANEPOOL_I_DOOR();
    check_order(mutex);
    lanepool_i_check_ok(pthread_mutex_lock(&mutex->mutex) == 0);
    note_locked(mutex);
}

void lanepool_i_mutex_unlock(lanepool_i_mutex *mutex)
{
    LANEPOOL_I_DOOR();
    note_unlocked(mutex);
    lanepool_i_check_ok(pthread_mutex_unlock(&mutex->mutex) == 0);
}

bool lanepool_i_mutex_try(lanepool_i_mutex *mutex)
{
    LANEPOOL_I_DOOR();
    bool locked = pthread_mutex_trylock(&mutex->mutex) == 0;
    if (locked)
        note_locked(mutex);
    return locked;
}
