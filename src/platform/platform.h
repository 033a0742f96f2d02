/*
 * The one door to the operating system: threads, locks, semaphores, events, clock,
 * memory, thread-locals, and atomic operations (atomic.h names their orders).
 * Nothing else in src/ may use the system for these, so that another
 * implementation of this header runs the same engine: a test build names the
 * header of its own in LANEPOOL_PLATFORM. That header gives
 *
 *     the types lanepool_i_thread, lanepool_i_mutex, lanepool_i_semaphore, lanepool_i_event
 *     the macros LANEPOOL_I_THREAD_END_PUSH and _POP, _LOAD, _STORE, _CHANGE,
 *     _POISON, _UNPOISON, and atomic_init
 *     lanepool_i_pause(), lanepool_i_thread_slot(), lanepool_i_thread_slot_set(),
 *     lanepool_i_thread_drains(), lanepool_i_thread_drains_set(), lanepool_i_counter(),
 *
 * and, where there are static probes, LANEPOOL_I_PROBE, as posix.h does; the functions below may be
 * called from any thread. What can fail returns false or NULL and has changed nothing; what cannot
 * fail aborts when the system says that it was misused, since then the library itself is broken.
 */
#ifndef LANEPOOL_SRC_PLATFORM_H
#define LANEPOOL_SRC_PLATFORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(LANEPOOL_PLATFORM)
#include LANEPOOL_PLATFORM
#else
#include "platform/posix.h"
#endif

/* What two threads write often is kept this far apart: two lines, since
 * processors fetch them in pairs. */
#define LANEPOOL_I_CACHE_LINE 128

/* A thread, between start and join; the program's signal handlers do not run on it, but for those
 * of its own faults. LANEPOOL_I_THREAD_END_PUSH(done, argument) makes `done(argument)` run if the
 * calling thread ends before the matching POP. */
bool lanepool_i_thread_start(lanepool_i_thread *thread, void *(*main)(void *), void *argument);
void lanepool_i_thread_join(lanepool_i_thread *thread);

/* Says how the calling thread is called, for those who look at the process. */
#define LANEPOOL_I_THREAD_NAME_SIZE 16 /* with the final zero */
void lanepool_i_thread_set_name(const char *name);

/* A lock for short, rare sections: no user code, allocation or join under it. */
bool lanepool_i_mutex_init(lanepool_i_mutex *mutex);
void lanepool_i_mutex_fini(lanepool_i_mutex *mutex);
void lanepool_i_mutex_lock(lanepool_i_mutex *mutex);
void lanepool_i_mutex_unlock(lanepool_i_mutex *mutex);
/* False: it is held. */
bool lanepool_i_mutex_try(lanepool_i_mutex *mutex);

/* A counting semaphore. A post happens before the wait that it ends. */
bool lanepool_i_semaphore_init(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_fini(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_post(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_wait(lanepool_i_semaphore *semaphore);
/* Waits until lanepool_i_clock_now() has reached `deadline_ns`; false if it passed first.
 * UINT64_MAX never passes. */
bool lanepool_i_semaphore_wait_until(lanepool_i_semaphore *semaphore, uint64_t deadline_ns);

/* A flag with a file descriptor, for a program's event loop: readable while the flag is set. Who
 * sets and clears it does so under one lock, and in turn. */
bool lanepool_i_event_init(lanepool_i_event *event);
void lanepool_i_event_fini(lanepool_i_event *event);
void lanepool_i_event_set(lanepool_i_event *event);
void lanepool_i_event_clear(lanepool_i_event *event);
int lanepool_i_event_fd(const lanepool_i_event *event);

/* The monotonic clock in nanoseconds. */
uint64_t lanepool_i_clock_now(void);

/* The same clock, read for a fraction of the cost, up to some milliseconds late. */
uint64_t lanepool_i_clock_coarse(void);

/* Whether lanepool_i_counter() is a clock, too, in a unit of its own and for less: one for all
 * threads, that goes evenly. Like the clock it is read after all that this thread has read before,
 * and before others see what this thread writes afterwards. */
bool lanepool_i_counter_is_usable(void);

/* Memory for things that live long; aligned to LANEPOOL_I_CACHE_LINE, not cleared. */
void *lanepool_i_memory_alloc(size_t size);
void lanepool_i_memory_free(void *memory);

/* Whole pages: zeroed, aligned to `size` (a power of two), not resident until touched. */
void *lanepool_i_pages_alloc(size_t size);
void lanepool_i_pages_free(void *pages, size_t size);
/* Gives the memory back but keeps the addresses; reads as zero afterwards. */
void lanepool_i_pages_discard(void *pages, size_t size);
/* From now on a child of fork() finds zeroes there, if the system can do that; else as without. */
void lanepool_i_pages_wipe_on_fork(void *pages, size_t size);
#define LANEPOOL_I_PAGE_SIZE ((size_t)4096)

/* One pointer per thread (lanepool_i_thread_slot). After a successful `hook` with the same function
 * as always, `at_exit` gets the slot's value when the calling thread ends. */
bool lanepool_i_thread_slot_hook(void (*at_exit)(void *value));

/* Another one (lanepool_i_thread_drains), for the drains that the thread is inside of; nobody is
 * told when the thread ends. */

/* The number of the process, which no other one has as long as there is this one. A call of the
 * system's. */
uint32_t lanepool_i_process(void);

/* The number of CPUs that the process may use, at least 1. */
unsigned lanepool_i_cpu_count(void);

/* A number that differs from run to run. */
uint64_t lanepool_i_seed(void);

/* Lets another thread of this core go first, for waits of a few instructions of another thread;
 * lanepool_i_pause() only tells the core that this is a wait loop. */
void lanepool_i_yield(void);

/* A barrier that others pay for: when it returns, every other thread of the process has passed a
 * full one since it was called. `init` says whether the system has it; it is called first. */
bool lanepool_i_membarrier_init(void);
void lanepool_i_membarrier_others(void);

/* Brings a line that will be written soon. */
static inline void lanepool_i_prefetch(const void *address)
{
    __builtin_prefetch(address, 1);
}

#endif
