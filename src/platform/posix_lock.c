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

static _Thread_local struct {
    struct {
        const void *lock;
        lanepool_i_lock sort;
    } all[HELD_MAX];
    size_t count;
} held;

void lanepool_i_held_add(const void *lock, lanepool_i_lock sort)
{
    held.all[held.count].lock = lock;
    held.all[held.count++].sort = sort;
}

void lanepool_i_held_remove(const void *lock)
{
    size_t i = --held.count;
    while (held.all[i].lock != lock && i > 0)
        i--;
    for (; i < held.count; i++)
        held.all[i] = held.all[i + 1];
}

/* Only the last lock is compared: those before it come before it in the order. */
void lanepool_i_held_check(lanepool_i_lock sort)
{
    if (held.count == 0)
        return;
    lanepool_i_lock last = held.all[held.count - 1].sort;
    if (lanepool_i_lock_may_follow(last, sort))
        return;
    fprintf(stderr, "lanepool: internal error: %s lock is taken under %s lock\n", lock_names[sort],
            lock_names[last]);
    abort();
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
    LANEPOOL_I_HELD_CHECK(mutex->lock);
    lanepool_i_check_ok(pthread_mutex_lock(&mutex->mutex) == 0);
    LANEPOOL_I_HELD_ADD(mutex, mutex->lock);
}

void lanepool_i_mutex_unlock(lanepool_i_mutex *mutex)
{
    LANEPOOL_I_DOOR();
    LANEPOOL_I_HELD_REMOVE(mutex);
    lanepool_i_check_ok(pthread_mutex_unlock(&mutex->mutex) == 0);
}

bool lanepool_i_mutex_try(lanepool_i_mutex *mutex)
{
    LANEPOOL_I_DOOR();
    bool locked = pthread_mutex_trylock(&mutex->mutex) == 0;
    if (locked)
        LANEPOOL_I_HELD_ADD(mutex, mutex->lock);
    return locked;
}
