/*
 * The one door to the operating system: threads, locks, semaphores, clock,
 * memory and thread-locals. Nothing else in src/ may use the system for these,
 * so that another implementation of this header runs the same engine.
 *
 * Every function can be called from any thread. What can fail returns false or
 * NULL and has changed nothing; what cannot fail aborts when the system says
 * that it was misused, since then the library itself is broken.
 */
#ifndef LANEPOOL_SRC_PLATFORM_H
#define LANEPOOL_SRC_PLATFORM_H

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What two threads write often is kept this far apart: two lines, since
 * processors fetch them in pairs. */
#define LANEPOOL_I_APART 128

/* A thread, between start and join. */
typedef struct lanepool_i_thread {
    pthread_t id;
} lanepool_i_thread;

bool lanepool_i_thread_start(lanepool_i_thread *thread, void *(*main)(void *), void *argument);
void lanepool_i_thread_join(lanepool_i_thread *thread);

/* Makes `done(argument)` run if the calling thread ends between push and pop. */
#define LANEPOOL_I_THREAD_END_PUSH(done, argument) pthread_cleanup_push(done, argument)
#define LANEPOOL_I_THREAD_END_POP()                pthread_cleanup_pop(0)

/* A lock for short, rare sections: no user code, allocation or join under it. */
typedef struct lanepool_i_mutex {
    pthread_mutex_t mutex;
} lanepool_i_mutex;

bool lanepool_i_mutex_init(lanepool_i_mutex *mutex);
void lanepool_i_mutex_fini(lanepool_i_mutex *mutex);
void lanepool_i_mutex_lock(lanepool_i_mutex *mutex);
void lanepool_i_mutex_unlock(lanepool_i_mutex *mutex);

/* A counting semaphore. A post happens before the wait that it ends. */
typedef struct lanepool_i_semaphore {
    sem_t semaphore;
} lanepool_i_semaphore;

bool lanepool_i_semaphore_init(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_fini(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_post(lanepool_i_semaphore *semaphore);
void lanepool_i_semaphore_wait(lanepool_i_semaphore *semaphore);
/* Waits until lanepool_i_clock_now() has reached `deadline_ns`; false if it passed first.
 * UINT64_MAX never passes. */
bool lanepool_i_semaphore_wait_until(lanepool_i_semaphore *semaphore, uint64_t deadline_ns);

/* The monotonic clock in nanoseconds. */
uint64_t lanepool_i_clock_now(void);

/* The same clock, read for a fraction of the cost, up to some milliseconds late. */
uint64_t lanepool_i_clock_coarse(void);

/* Memory for things that live long; aligned to LANEPOOL_I_APART, not cleared. */
void *lanepool_i_memory_alloc(size_t size);
void lanepool_i_memory_free(void *memory);

/* Whole pages: zeroed, aligned to `size` (a power of two), not resident until touched. */
void *lanepool_i_pages_alloc(size_t size);
void lanepool_i_pages_free(void *pages, size_t size);
/* Gives the memory back but keeps the addresses; reads as zero afterwards. */
void lanepool_i_pages_discard(void *pages, size_t size);
#define LANEPOOL_I_PAGE_SIZE ((size_t)4096)

/* One pointer per thread. After a successful `hook` with the same function as
 * always, `at_exit` gets the slot's value when the calling thread ends. */
bool lanepool_i_thread_slot_hook(void (*at_exit)(void *value));
extern _Thread_local void *lanepool_i_thread_slot_value
    __attribute__((tls_model("initial-exec"), visibility("hidden")));
static inline void *lanepool_i_thread_slot(void)
{
    return lanepool_i_thread_slot_value;
}
static inline void lanepool_i_thread_slot_set(void *value)
{
    lanepool_i_thread_slot_value = value;
}

/* The number of CPUs that the process may use, at least 1. */
unsigned lanepool_i_cpu_count(void);

/* A number that differs from run to run. */
uint64_t lanepool_i_seed(void);

/* Lets another thread of this core go first: for waits of a few instructions of another thread. */
void lanepool_i_yield(void);

/* Tells the core that this is a wait loop. */
static inline void lanepool_i_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Brings a line that will be written soon. */
static inline void lanepool_i_prefetch(const void *address)
{
    __builtin_prefetch(address, 1);
}

/* Free memory that stays mapped is marked, so that AddressSanitizer sees its use. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define LANEPOOL_I_POISON(address, size)   ASAN_POISON_MEMORY_REGION(address, size)
#define LANEPOOL_I_UNPOISON(address, size) ASAN_UNPOISON_MEMORY_REGION(address, size)
#else
#define LANEPOOL_I_POISON(address, size)   ((void)(address), (void)(size))
#define LANEPOOL_I_UNPOISON(address, size) ((void)(address), (void)(size))
#endif

#endif
