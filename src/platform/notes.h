/*
 * Notes for ThreadSanitizer. It sees only code that it has instrumented, and the library as it is
 * shipped is not. So in a program that is instrumented, it sees no order that the library makes. A
 * note names one: all that this thread has done before the release of an object happens before all
 * that a thread does after the acquire of it. The object is only a name: neither touches its
 * memory.
 *
 * A note costs one comparison where the program is not instrumented. In a library that is
 * instrumented itself there are no notes: they would hide races in it.
 */
#ifndef LANEPOOL_SRC_PLATFORM_NOTES_H
#define LANEPOOL_SRC_PLATFORM_NOTES_H

#include <stddef.h>

#if defined(__SANITIZE_THREAD__)
#define LANEPOOL_I_INSTRUMENTED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LANEPOOL_I_INSTRUMENTED 1
#endif
#endif

#if defined(LANEPOOL_I_INSTRUMENTED)
static inline void lanepool_i_note_release(const void *object)
{
    (void)object;
}

static inline void lanepool_i_note_acquire(const void *object)
{
    (void)object;
}

static inline void lanepool_i_note_restart(long long *object)
{
    (void)object;
}
#else
/* ThreadSanitizer's, in the program; NULL without it. */
extern void __tsan_acquire(void *object) __attribute__((weak));
extern void __tsan_release(void *object) __attribute__((weak));
extern void __tsan_atomic64_store(volatile long long *object, long long value, int order)
    __attribute__((weak));

static inline void lanepool_i_note_release(const void *object)
{
    if (__builtin_expect(__tsan_release != NULL, 0))
        __tsan_release((void *)object);
}

static inline void lanepool_i_note_acquire(const void *object)
{
    if (__builtin_expect(__tsan_acquire != NULL, 0))
        __tsan_acquire((void *)object);
}

/* Like a release, but forgets the earlier releases of the object. Writes to it. */
static inline void lanepool_i_note_restart(long long *object)
{
    enum { RELEASE = 3 }; /* an order's number, as ThreadSanitizer has it */
    if (__builtin_expect(__tsan_atomic64_store != NULL, 0))
        __tsan_atomic64_store(object, 0, RELEASE);
}
#endif

#endif
