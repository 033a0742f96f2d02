/*
 * The one door to the operating system: threads, locks, semaphores, events, clock, memory,
 * thread-locals, and atomic operations (atomic.h names their orders). No other code in src/ uses
 * the system for these. So another implementation of this header runs the same engine: a test build
 * names its own header in LANEPOOL_PLATFORM. That header defines
 *
 *     the types lanepool_i_thread, lanepool_i_mutex, lanepool_i_word_lock, lanepool_i_semaphore,
 *     lanepool_i_event
 *     the macros LANEPOOL_I_THREAD_END_PUSH and _POP, _LOAD, _STORE, _CHANGE,
 *     _POISON, _UNPOISON, and atomic_init
 *     lanepool_i_pause(), lanepool_i_thread_slot(), lanepool_i_thread_slot_set(),
 *     lanepool_i_thread_drains(), lanepool_i_thread_drains_set(), lanepool_i_counter(),
 *
 * and, where there are static probes, LANEPOOL_I_PROBE, as posix.h does.
 *
 * Any thread may call the functions below. Functions that can fail return false or NULL, and have
 * changed nothing then. The others abort if the system reports misuse: then the library is broken.
 */
#ifndef LANEPOOL_SRC_PLATFORM_H
#define LANEPOOL_SRC_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/lock_order.h"

#if defined(LANEPOOL_PLATFORM)
#include LANEPOOL_PLATFORM
#else
#include "platform/posix.h"
#endif

/* Data that several threads write often is this far apart: two lines, since processors fetch them
 * in pairs. */
#define LANEPOOL_I_CACHE_LINE 128

/* A thread, between start and join. The program's signal handlers do not run on it, except for
 * faults that the thread itself causes. Its stack has `stack_size` bytes; 0: the system's default.
 * LANEPOOL_I_THREAD_END_PUSH(done, argument) makes `done(argument)` run if the calling thread ends
 * before the matching POP. */
bool lanepool_i_thread_start(lanepool_i_thread *thread, size_t stack_size, void *(*main)(void *),
                             void *argument);
void lanepool_i_thread_join(lanepool_i_thread *thread);

/* Returns true if a thread's stack may have so many bytes. */
bool lanepool_i_stack_size_is_valid(size_t stack_size);

/* Aborts. A checked build first writes what the program has done wrong, or the library itself. */
void lanepool_i_report_misuse(const char *function, const char *what);

/* Sets the calling thread's name, as the system shows it. */
#define LANEPOOL_I_THREAD_NAME_SIZE 16 /* with the final zero */
void lanepool_i_thread_set_name(const char *name);

/* A lock for short, rare sections. No callback, no join and no allocation under it, with one
 * exception: the buckets of lane limits (lane_quota.h). lock_order.h says which lock it is, and
 * which others a thread may hold meanwhile. */
bool lanepool_i_mutex_init(lanepool_i_mutex *mutex, lanepool_i_lock lock);
/* Initializes a lock where that must not fail. */
void lanepool_i_mutex_init_static(lanepool_i_mutex *mutex, lanepool_i_lock lock);
void lanepool_i_mutex_fini(lanepool_i_mutex *mutex);
void lanepool_i_mutex_lock(lanepool_i_mutex *mutex);
void lanepool_i_mutex_unlock(lanepool_i_mutex *mutex);
/* Returns false if the lock is held. */
bool lanepool_i_mutex_try(lanepool_i_mutex *mutex);

/* A lock of one word, in records of which there are very many. Otherwise like a mutex. It has
 * nothing to give back, and cannot fail. */
void lanepool_i_word_lock_init(lanepool_i_word_lock *lock, lanepool_i_lock sort);
void lanepool_i_word_lock_lock(lanepool_i_word_lock *lock);
void lanepool_i_word_lock_unlock(lanepool_i_word_lock *lock);
/* Returns false if the lock is held. */
bool lanepool_i_word_lock_try(lanepool_i_word_lock *lock);

/* A counting semaphore. A post happens before the wait that it ends. */
bool lanepool_i_semaphore_init(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_fini(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_post(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_wait(lanepool_i_semaphore *semaphore);
/* Waits for a post until lanepool_i_clock_now() reaches `deadline_ns`. Returns false if there was
 * none by then. UINT64_MAX is never reached. */
bool lanepool_i_semaphore_wait_until(lanepool_i_semaphore *semaphore, uint64_t deadline_ns);

/* A flag with a file descriptor, for a program's event loop: readable while the flag is set. Set
 * and clear are called alternately, under one lock. */
bool lanepool_i_event_init(lanepool_i_event *event);
void lanepool_i_event_fini(lanepool_i_event *event);
void lanepool_i_event_set(lanepool_i_event *event);
void lanepool_i_event_clear(lanepool_i_event *event);
int lanepool_i_event_fd(const lanepool_i_event *event);

/* The monotonic clock in nanoseconds. */
uint64_t lanepool_i_clock_now(void);

/* Reads the monotonic clock for a fraction of the cost, up to some milliseconds late. */
uint64_t lanepool_i_clock_coarse(void);

/* Returns true if lanepool_i_counter() can be used as a clock: it is the same for all threads and
 * runs at a constant rate, in a unit of its own, and costs less. Like the clock it is read after
 * everything that this thread has read before, and before other threads see what this thread writes
 * afterwards. */
bool lanepool_i_counter_is_usable(void);

/* Long-lived memory, aligned to LANEPOOL_I_CACHE_LINE, not cleared. */
void *lanepool_i_memory_alloc(size_t size);
void lanepool_i_memory_free(void *memory);

/* Whole pages: zeroed, aligned to `size` (a power of two), not resident until touched. */
void *lanepool_i_pages_alloc(size_t size);
void lanepool_i_pages_free(void *pages, size_t size);
/* Gives the memory back but leaves the addresses mapped. They read as zero afterwards. */
void lanepool_i_pages_discard(void *pages, size_t size);
/* Makes a child of fork() find zeroes in these pages, if the system can do that; otherwise does
 * nothing. */
void lanepool_i_pages_wipe_on_fork(void *pages, size_t size);
#define LANEPOOL_I_PAGE_SIZE ((size_t)4096)

/* One pointer for each thread (lanepool_i_thread_slot). After a hook has succeeded, `at_exit`
 * gets the slot's value when the calling thread ends. `at_exit` must be the same function in all
 * calls. */
bool lanepool_i_thread_slot_hook(void (*at_exit)(void *value));

/* A second pointer for each thread (lanepool_i_thread_drains): the drains that the thread is inside
 * of. It has no hook. */

/* Returns the number of the process, which is unique while the process exists. A system call. */
uint32_t lanepool_i_process(void);

/* Returns the number of CPUs that the process may use, at least 1: those of its affinity, but no
 * more than its cgroup's CPU limit. */
unsigned lanepool_i_cpu_count(void);

/* Returns a number that differs from run to run. */
uint64_t lanepool_i_seed(void);

/* Lets another thread of this core run first, while this one waits for a few instructions of
 * another thread. lanepool_i_pause() only tells the core that this is a wait loop. */
void lanepool_i_yield(void);

/* Sleeps for `ns` nanoseconds, mostly a little longer. */
void lanepool_i_nap(uint64_t ns);

/* lanepool_i_membarrier_others() makes every other thread of the process pass a full memory barrier
 * between its call and its return, so those threads need no barrier of their own.
 * lanepool_i_membarrier_init() is called first; it returns true if the system supports this. */
bool lanepool_i_membarrier_init(void);
void lanepool_i_membarrier_others(void);

/* Fetches a line that will be written soon. */
static inline void lanepool_i_prefetch(const void *address)
{
    __builtin_prefetch(address, 1);
}

#endif
