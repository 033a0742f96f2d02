/*
 * The platform on POSIX threads: locks of one word, on Linux's futex.
 *
 *   FREE --> TAKEN            a thread takes the lock
 *   TAKEN --> TAKEN_AWAITED   another thread wants it, and then sleeps while the word says so
 *   FREE --> TAKEN_AWAITED    a thread that had to wait takes it: others may still sleep
 *   any --> FREE              the holder leaves it, and wakes one thread if it was AWAITED
 *
 * A sleeper compares the word in the kernel. So if the holder has left the lock in between, the
 * sleeper does not sleep.
 *
 * After the word is FREE, the holder uses only the word's address, to wake a sleeper. The memory
 * may have been reused by then. At worst, a thread that sleeps on another lock there wakes up and
 * looks at its word again.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FREE, TAKEN, TAKEN_AWAITED };

/* How often a thread tries to take a lock before it sleeps. */
enum { TRIES = 30 };

/* The program must not see the system calls of a lock in its `errno`. */
static void call_futex(_Atomic uint32_t *word, int operation, uint32_t value)
{
    int saved_errno = errno;
    (void)syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
    errno = saved_errno;
}

void lanepool_i_word_lock_init(lanepool_i_word_lock *lock, lanepool_i_lock sort)
{
    atomic_init(&lock->word, FREE);
#if defined(LANEPOOL_CHECKED)
    lock->sort = sort;
#else
    (void)sort;
#endif
}

static bool try_to_lock(_Atomic uint32_t *word)
{
    uint32_t found = FREE;
    LANEPOOL_I_DOOR();
    return atomic_compare_exchange_strong_explicit(word, &found, TAKEN, memory_order_acquire,
                                                   memory_order_relaxed);
}

/* Most holders leave the lock sooner than a thread falls asleep. */
static bool try_for_a_while(_Atomic uint32_t *word)
{
    for (int i = 0; i < TRIES; i++) {
        lanepool_i_pause();
        if (atomic_load_explicit(word, memory_order_relaxed) == FREE && try_to_lock(word))
            return true;
    }
    return false;
}

static __attribute__((noinline)) void lock_slowly(_Atomic uint32_t *word)
{
    if (try_for_a_while(word))
        return;
    while (atomic_exchange_explicit(word, TAKEN_AWAITED, memory_order_acquire) != FREE)
        call_futex(word, FUTEX_WAIT, TAKEN_AWAITED);
}

void lanepool_i_word_lock_lock(lanepool_i_word_lock *lock)
{
    LANEPOOL_I_HELD_CHECK(lock->sort);
    if (__builtin_expect(!try_to_lock(&lock->word), 0))
        lock_slowly(&lock->word);
    LANEPOOL_I_HELD_ADD(lock, lock->sort);
}

void lanepool_i_word_lock_unlock(lanepool_i_word_lock *lock)
{
    LANEPOOL_I_DOOR();
    LANEPOOL_I_HELD_REMOVE(lock);
    uint32_t found = atomic_exchange_explicit(&lock->word, FREE, memory_order_release);
    if (__builtin_expect(found == TAKEN_AWAITED, 0))
        call_futex(&lock->word, FUTEX_WAKE, 1);
}

bool lanepool_i_word_lock_try(lanepool_i_word_lock *lock)
{
    bool locked = try_to_lock(&lock->word);
    if (locked)
        LANEPOOL_I_HELD_ADD(lock, lock->sort);
    return locked;
}
