/*
 * The platform on POSIX threads: its types, and the functions that are inline because a call would
 * cost more than the work.
 *
 * LANEPOOL_I_DOOR() is at each door to the system, and does nothing here. A test build that defines
 * it before it includes this header can disturb the threads there.
 */
#ifndef LANEPOOL_SRC_PLATFORM_POSIX_H
#define LANEPOOL_SRC_PLATFORM_POSIX_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#ifndef LANEPOOL_I_DOOR
#define LANEPOOL_I_DOOR() ((void)0)
#endif

typedef struct lanepool_i_thread {
    pthread_t id;
} lanepool_i_thread;

typedef struct lanepool_i_mutex {
    pthread_mutex_t mutex;
#if defined(LANEPOOL_CHECKED)
    lanepool_i_lock lock;
#endif
} lanepool_i_mutex;

/* FREE, TAKEN, or TAKEN_AWAITED if a thread may be waiting; see posix_word_lock.c. */
typedef struct lanepool_i_word_lock {
    _Atomic uint32_t word;
#if defined(LANEPOOL_CHECKED)
    lanepool_i_lock sort;
#endif
} lanepool_i_word_lock;

/* musl has no sem_clockwait(), so there a condition variable takes its place. */
#if defined(__GLIBC__)
typedef struct lanepool_i_semaphore {
    sem_t semaphore;
} lanepool_i_semaphore;
#else
typedef struct lanepool_i_semaphore {
    pthread_mutex_t lock;
    pthread_cond_t posted;
    unsigned count;
} lanepool_i_semaphore;
#endif

typedef struct lanepool_i_event {
    int fd;
} lanepool_i_event;

#define LANEPOOL_I_THREAD_END_PUSH(done, argument) pthread_cleanup_push(done, argument)
#define LANEPOOL_I_THREAD_END_POP()                pthread_cleanup_pop(0)

#define LANEPOOL_I_LOAD(object, order) (LANEPOOL_I_DOOR(), atomic_load_explicit(object, order))
#define LANEPOOL_I_STORE(object, value, order) \
    (LANEPOOL_I_DOOR(), atomic_store_explicit(object, value, order))
#define LANEPOOL_I_CHANGE(object, operation) (LANEPOOL_I_DOOR(), (operation))

/* The following up to lanepool_i_cancellation_back() is for this platform's own files. */

/* The locks that this thread holds, in the order in which it took them. A checked build compares
 * each lock that is to be taken with the last one; the other builds do nothing. */
#if defined(LANEPOOL_CHECKED)
void lanepool_i_held_check(lanepool_i_lock sort);
void lanepool_i_held_add(const void *lock, lanepool_i_lock sort);
void lanepool_i_held_remove(const void *lock);
#define LANEPOOL_I_HELD_CHECK(sort)     lanepool_i_held_check(sort)
#define LANEPOOL_I_HELD_ADD(lock, sort) lanepool_i_held_add((lock), (sort))
#define LANEPOOL_I_HELD_REMOVE(lock)    lanepool_i_held_remove(lock)
#else
#define LANEPOOL_I_HELD_CHECK(sort)     ((void)0)
#define LANEPOOL_I_HELD_ADD(lock, sort) ((void)0)
#define LANEPOOL_I_HELD_REMOVE(lock)    ((void)0)
#endif

/* Aborts if a call has failed that cannot fail. The library never prints, and a misused lock means
 * that memory is already corrupt. */
static inline void lanepool_i_check_ok(bool ok)
{
    if (!ok)
        abort();
}

/* While a thread waits, other threads have pointers into its stack. So a thread that is cancelled
 * (pthread_cancel) ends only after the call that waits has returned. */
int lanepool_i_cancellation_off(void);
void lanepool_i_cancellation_back(int before);

extern _Thread_local struct lanepool_i_thread_own {
    void *slot;
    void *drains;
} lanepool_i_thread_own __attribute__((tls_model("initial-exec"), visibility("hidden")));

static inline void *lanepool_i_thread_slot(void)
{
    return lanepool_i_thread_own.slot;
}

static inline void lanepool_i_thread_slot_set(void *value)
{
    lanepool_i_thread_own.slot = value;
}

static inline void *lanepool_i_thread_drains(void)
{
    return lanepool_i_thread_own.drains;
}

static inline void lanepool_i_thread_drains_set(void *value)
{
    lanepool_i_thread_own.drains = value;
}

static inline void lanepool_i_pause(void)
{
    LANEPOOL_I_DOOR();
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/*
 * Reads the processor's counter, as the system does for its clock: after all earlier loads are
 * done. rdtsc alone may execute while they still wait for their lines; rdtscp waits for them.
 *
 * No other thread sees a later store of this thread before the counter was read. On x86 a store
 * becomes visible after everything before it is done. On ARM the stores wait for the value: an
 * event's time is stored before the store that publishes the event.
 */
static inline uint64_t lanepool_i_counter(void)
{
#if defined(__x86_64__)
    uint32_t low, high;
    __asm__ volatile("rdtscp" : "=a"(low), "=d"(high) : : "rcx", "memory");
    return (uint64_t)high << 32 | low;
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
#else
    return 0; /* not called: lanepool_i_counter_is_usable() returns false */
#endif
}

/* Static probes. The build defines LANEPOOL_STATIC_PROBES where the header is installed. */
#if defined(LANEPOOL_STATIC_PROBES)
#include <sys/sdt.h>
#define LANEPOOL_I_PROBE(name, task, object, detail) \
    DTRACE_PROBE3(lanepool, name, task, object, detail)
#endif

/* Free memory that stays mapped is poisoned, so that AddressSanitizer finds accesses to it. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define LANEPOOL_I_POISON(address, size)   ASAN_POISON_MEMORY_REGION(address, size)
#define LANEPOOL_I_UNPOISON(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#else
#define LANEPOOL_I_POISON(address, size)   ((void)(address), (void)(size))
#define LANEPOOL_I_UNPOISON(address, size) ((void)(address), (void)(size))
#endif

#endif
