/* Locks of one word: one thread at a time holds such a lock, and the others wait for it. */
#include <errno.h>
#include <pthread.h>

#include "platform/platform.h"
#include "support/test.h"

enum { THREADS = 4, ROUNDS = 20000 };

struct shared {
    lanepool_i_word_lock lock;
    uint64_t count; /* changed under the lock */
    _Atomic unsigned errors;
};

/* Waiting for a lock must not change `errno`. */
static void *count_under_lock(void *argument)
{
    struct shared *shared = argument;

    for (int i = 0; i < ROUNDS; i++) {
        errno = i;
        lanepool_i_word_lock_lock(&shared->lock);
        shared->count++;
        lanepool_i_word_lock_unlock(&shared->lock);
        atomic_fetch_add(&shared->errors, errno != i);
    }
    return NULL;
}

Test(word_lock, one_thread_at_a_time_holds_it)
{
    struct shared shared = { .count = 0 };
    pthread_t threads[THREADS];

    lanepool_i_word_lock_init(&shared.lock, LANEPOOL_I_LOCK_FUTURE);
    for (int i = 0; i < THREADS; i++) {
        expect_eq(pthread_create(&threads[i], NULL, count_under_lock, &shared), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        expect_eq(pthread_join(threads[i], NULL), 0);
    }
    expect_eq(shared.count, THREADS * ROUNDS);
    expect_eq(shared.errors, 0);
}

static void *try_to_lock(void *argument)
{
    lanepool_i_word_lock *lock = argument;
    bool locked = lanepool_i_word_lock_try(lock);

    if (locked) {
        lanepool_i_word_lock_unlock(lock);
    }
    return locked ? lock : NULL;
}

static bool can_other_thread_lock(lanepool_i_word_lock *lock)
{
    pthread_t thread;
    void *locked;

    expect_eq(pthread_create(&thread, NULL, try_to_lock, lock), 0);
    expect_eq(pthread_join(thread, &locked), 0);
    return locked != NULL;
}

Test(word_lock, a_try_fails_while_it_is_held)
{
    lanepool_i_word_lock lock;

    lanepool_i_word_lock_init(&lock, LANEPOOL_I_LOCK_FUTURE);
    lanepool_i_word_lock_lock(&lock);
    expect(!can_other_thread_lock(&lock));
    lanepool_i_word_lock_unlock(&lock);
    expect(can_other_thread_lock(&lock));
}

/* The holder keeps the lock until the other thread sleeps or is about to. */
Test(word_lock, the_holder_wakes_a_thread_that_waits)
{
    struct shared shared = { .count = 0 };
    pthread_t thread;

    lanepool_i_word_lock_init(&shared.lock, LANEPOOL_I_LOCK_FUTURE);
    lanepool_i_word_lock_lock(&shared.lock);
    expect_eq(pthread_create(&thread, NULL, count_under_lock, &shared), 0);
    while (atomic_load(&shared.lock.word) < 2) {
        lanepool_i_yield();
    }
    expect_eq(shared.count, 0);
    lanepool_i_word_lock_unlock(&shared.lock);
    expect_eq(pthread_join(thread, NULL), 0);
    expect_eq(shared.count, ROUNDS);
    expect_eq(shared.errors, 0);
}
