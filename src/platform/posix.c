/*
 * The platform on POSIX threads.
 *
 * Owns the process-wide key through which a thread's slot is passed to `at_exit` when the thread
 * ends. The key is never deleted, since a thread may end after all pools are gone.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u

/* ThreadSanitizer does not know sem_clockwait(), so posts and waits are announced to it. */
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define TSAN_POST(semaphore)   __tsan_release(semaphore)
#define TSAN_WAITED(semaphore) __tsan_acquire(semaphore)
#else
#define TSAN_POST(semaphore)   ((void)(semaphore))
#define TSAN_WAITED(semaphore) ((void)(semaphore))
#endif

/* Aborts if a call has failed that cannot fail. The library never prints, and a misused lock means
 * that memory is already corrupt. */
static void check_ok(bool ok)
{
    if (!ok)
        abort();
}

/* Makes the mask of a new thread. Faults that a thread causes itself stay unblocked, since the
 * system kills a process that blocks them. */
static void make_thread_mask(sigset_t *mask)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
    check_ok(sigfillset(mask) == 0);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        check_ok(sigdelset(mask, own[i]) == 0);
}

/* This thread has the new thread's mask during the call, so that the new thread starts with it. */
bool lanepool_i_thread_start(lanepool_i_thread *thread, void *(*main)(void *), void *argument)
{
    LANEPOOL_I_DOOR();
    sigset_t mask, before;
    make_thread_mask(&mask);
    check_ok(pthread_sigmask(SIG_SETMASK, &mask, &before) == 0);
    bool started = pthread_create(&thread->id, NULL, main, argument) == 0;
    check_ok(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return started;
}

/* While a thread waits, other threads have pointers into its stack. So a thread that is cancelled
 * (pthread_cancel) ends only after the call that waits has returned. */
static int cancellation_off(void)
{
    int before;
    check_ok(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before) == 0);
    return before;
}

static void cancellation_back(int before)
{
    check_ok(pthread_setcancelstate(before, NULL) == 0);
}

void lanepool_i_thread_join(lanepool_i_thread *thread)
{
    LANEPOOL_I_DOOR();
    int before = cancellation_off();
    check_ok(pthread_join(thread->id, NULL) == 0);
    cancellation_back(before);
}

/* A failure does not matter: no promise of the library depends on the name. */
void lanepool_i_thread_set_name(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name);
}

/* --- locks --- */

#if defined(LANEPOOL_CHECKED)

enum { HELD_MAX = 32 };

/* The locks that this thread holds, in the order in which it took them. */
static _Thread_local struct {
    const lanepool_i_mutex *all[HELD_MAX];
    size_t count;
} held;

static const char *const lock_names[] = {
#define NAME(lock, name) name,
    LANEPOOL_I_LOCKS(NAME)
#undef NAME
};

static void note_locked(const lanepool_i_mutex *mutex)
{
    if (held.count < HELD_MAX)
        held.all[held.count] = mutex;
    held.count++;
}

static void note_unlocked(const lanepool_i_mutex *mutex)
{
    size_t i = --held.count;
    if (i >= HELD_MAX)
        return;
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
    if (held.count == 0 || held.count > HELD_MAX)
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

void lanepool_i_mutex_fini(lanepool_i_mutex *mutex)
{
    check_ok(pthread_mutex_destroy(&mutex->mutex) == 0);
}

void lanepool_i_mutex_lock(lanepool_i_mutex *mutex)
{
    LANEPOOL_I_DOOR();
    check_order(mutex);
    check_ok(pthread_mutex_lock(&mutex->mutex) == 0);
    note_locked(mutex);
}

void lanepool_i_mutex_unlock(lanepool_i_mutex *mutex)
{
    LANEPOOL_I_DOOR();
    note_unlocked(mutex);
    check_ok(pthread_mutex_unlock(&mutex->mutex) == 0);
}

bool lanepool_i_mutex_try(lanepool_i_mutex *mutex)
{
    LANEPOOL_I_DOOR();
    bool locked = pthread_mutex_trylock(&mutex->mutex) == 0;
    if (locked)
        note_locked(mutex);
    return locked;
}

#if defined(__GLIBC__)

bool lanepool_i_semaphore_init(lanepool_i_semaphore *semaphore)
{
    return sem_init(&semaphore->semaphore, 0, 0) == 0;
}

void lanepool_i_semaphore_fini(lanepool_i_semaphore *semaphore)
{
    check_ok(sem_destroy(&semaphore->semaphore) == 0);
}

void lanepool_i_semaphore_post(lanepool_i_semaphore *semaphore)
{
    LANEPOOL_I_DOOR();
    TSAN_POST(semaphore);
    check_ok(sem_post(&semaphore->semaphore) == 0);
}

void lanepool_i_semaphore_wait(lanepool_i_semaphore *semaphore)
{
    LANEPOOL_I_DOOR();
    int before = cancellation_off();
    while (sem_wait(&semaphore->semaphore) != 0)
        check_ok(errno == EINTR);
    cancellation_back(before);
}

bool lanepool_i_semaphore_wait_until(lanepool_i_semaphore *semaphore, uint64_t deadline_ns)
{
    LANEPOOL_I_DOOR();
    if (deadline_ns == UINT64_MAX) {
        lanepool_i_semaphore_wait(semaphore);
        return true;
    }
    struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
                                 .tv_nsec = (long)(deadline_ns % NS_PER_S) };
    int before = cancellation_off();
    bool posted = true;
    while (posted && sem_clockwait(&semaphore->semaphore, CLOCK_MONOTONIC, &deadline) != 0) {
        posted = errno != ETIMEDOUT;
        check_ok(!posted || errno == EINTR);
    }
    cancellation_back(before);
    if (posted)
        TSAN_WAITED(semaphore);
    return posted;
}

#else

bool lanepool_i_semaphore_init(lanepool_i_semaphore *semaphore)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    check_ok(pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0);
    bool made = pthread_mutex_init(&semaphore->lock, NULL) == 0;
    if (made && pthread_cond_init(&semaphore->posted, &attributes) != 0) {
        check_ok(pthread_mutex_destroy(&semaphore->lock) == 0);
        made = false;
    }
    check_ok(pthread_condattr_destroy(&attributes) == 0);
    semaphore->count = 0;
    return made;
}

void lanepool_i_semaphore_fini(lanepool_i_semaphore *semaphore)
{
    check_ok(pthread_cond_destroy(&semaphore->posted) == 0);
    check_ok(pthread_mutex_destroy(&semaphore->lock) == 0);
}

/* Signals under the lock: the waiter may free the semaphore as soon as it has the lock. */
void lanepool_i_semaphore_post(lanepool_i_semaphore *semaphore)
{
    LANEPOOL_I_DOOR();
    check_ok(pthread_mutex_lock(&semaphore->lock) == 0);
    semaphore->count++;
    check_ok(pthread_cond_signal(&semaphore->posted) == 0);
    check_ok(pthread_mutex_unlock(&semaphore->lock) == 0);
}

void lanepool_i_semaphore_wait(lanepool_i_semaphore *semaphore)
{
    (void)lanepool_i_semaphore_wait_until(semaphore, UINT64_MAX);
}

bool lanepool_i_semaphore_wait_until(lanepool_i_semaphore *semaphore, uint64_t deadline_ns)
{
    LANEPOOL_I_DOOR();
    struct timespec deadline = { .tv_sec = (time_t)(deadline_ns / NS_PER_S),
                                 .tv_nsec = (long)(deadline_ns % NS_PER_S) };
    int before = cancellation_off();
    int error = 0;
    check_ok(pthread_mutex_lock(&semaphore->lock) == 0);
    while (semaphore->count == 0 && error == 0) {
        if (deadline_ns == UINT64_MAX)
            error = pthread_cond_wait(&semaphore->posted, &semaphore->lock);
        else
            error = pthread_cond_timedwait(&semaphore->posted, &semaphore->lock, &deadline);
    }
    bool posted = semaphore->count > 0;
    check_ok(posted || error == ETIMEDOUT);
    semaphore->count -= posted;
    check_ok(pthread_mutex_unlock(&semaphore->lock) == 0);
    cancellation_back(before);
    return posted;
}

#endif

bool lanepool_i_event_init(lanepool_i_event *event)
{
    event->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return event->fd >= 0;
}

void lanepool_i_event_fini(lanepool_i_event *event)
{
    int before = cancellation_off();
    check_ok(close(event->fd) == 0);
    cancellation_back(before);
}

/* The flag is never set twice in a row, so the counter cannot be full. */
void lanepool_i_event_set(lanepool_i_event *event)
{
    LANEPOOL_I_DOOR();
    int before = cancellation_off();
    check_ok(eventfd_write(event->fd, 1) == 0);
    cancellation_back(before);
}

/* The program may have read the counter, although it should not. */
void lanepool_i_event_clear(lanepool_i_event *event)
{
    LANEPOOL_I_DOOR();
    eventfd_t count;
    int before = cancellation_off();
    check_ok(eventfd_read(event->fd, &count) == 0 || errno == EAGAIN);
    cancellation_back(before);
}

int lanepool_i_event_fd(const lanepool_i_event *event)
{
    return event->fd;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    check_ok(clock_gettime(clock, &now) == 0);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t lanepool_i_clock_now(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t lanepool_i_clock_coarse(void)
{
#ifdef CLOCK_MONOTONIC_COARSE
    return read_clock(CLOCK_MONOTONIC_COARSE);
#else
    return read_clock(CLOCK_MONOTONIC);
#endif
}

void *lanepool_i_memory_alloc(size_t size)
{
    LANEPOOL_I_DOOR();
    if (size > SIZE_MAX - LANEPOOL_I_CACHE_LINE)
        return NULL;
    size_t rounded = (size + LANEPOOL_I_CACHE_LINE - 1) & ~(size_t)(LANEPOOL_I_CACHE_LINE - 1);
    return aligned_alloc(LANEPOOL_I_CACHE_LINE, rounded);
}

void lanepool_i_memory_free(void *memory)
{
    LANEPOOL_I_DOOR();
    free(memory);
}

/* Maps twice the size and unmaps all but the aligned part. No allocator aligns to so much at less
 * cost. */
void *lanepool_i_pages_alloc(size_t size)
{
    LANEPOOL_I_DOOR();
    char *mapped = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED)
        return NULL;
    size_t before = (size - ((uintptr_t)mapped & (size - 1))) & (size - 1);
    if (before != 0)
        check_ok(munmap(mapped, before) == 0);
    check_ok(munmap(mapped + before + size, size - before) == 0);
    return mapped + before;
}

void lanepool_i_pages_free(void *pages, size_t size)
{
    LANEPOOL_I_DOOR();
    check_ok(munmap(pages, size) == 0);
}

void lanepool_i_pages_discard(void *pages, size_t size)
{
    check_ok(madvise(pages, size, MADV_DONTNEED) == 0);
}

/* Linux has this since 4.14. A failure matters only to a process that forks. */
void lanepool_i_pages_wipe_on_fork(void *pages, size_t size)
{
#ifdef MADV_WIPEONFORK
    (void)madvise(pages, size, MADV_WIPEONFORK);
#else
    (void)pages, (void)size;
#endif
}

uint32_t lanepool_i_process(void)
{
    LANEPOOL_I_DOOR();
    return (uint32_t)getpid();
}

_Thread_local struct lanepool_i_thread_own lanepool_i_thread_own;
static pthread_once_t slot_once = PTHREAD_ONCE_INIT;
static pthread_key_t slot_key;
static bool slot_key_made;
static void (*slot_at_exit)(void *value);

static void slot_thread_ends(void *value)
{
    (void)value;
    __atomic_load_n(&slot_at_exit, __ATOMIC_ACQUIRE)(lanepool_i_thread_own.slot);
}

static void slot_make_key(void)
{
    slot_key_made = pthread_key_create(&slot_key, slot_thread_ends) == 0;
}

/* The key's value only requests the call at the thread's end; `at_exit` gets the slot's value. */
bool lanepool_i_thread_slot_hook(void (*at_exit)(void *value))
{
    check_ok(pthread_once(&slot_once, slot_make_key) == 0);
    if (!slot_key_made)
        return false;
    __atomic_store_n(&slot_at_exit, at_exit, __ATOMIC_RELEASE);
    return pthread_setspecific(slot_key, &slot_key) == 0;
}

unsigned lanepool_i_cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

/* Without the system's random numbers, for instance in a sandbox: a seed that others may guess. */
uint64_t lanepool_i_seed(void)
{
    uint64_t seed;
    int before = cancellation_off();
    ssize_t size = getrandom(&seed, sizeof seed, GRND_NONBLOCK);
    cancellation_back(before);
    if (size == (ssize_t)sizeof seed)
        return seed;
    uint64_t address = (uint64_t)(uintptr_t)&address;
    return lanepool_i_clock_now() * 0x9E3779B97F4A7C15u ^ address ^ ((uint64_t)getpid() << 48);
}

/* Linux 4.14 and later, unless a sandbox forbids the call. */
static bool call_membarrier(int command)
{
    return syscall(SYS_membarrier, command, 0, 0) == 0;
}

bool lanepool_i_membarrier_init(void)
{
    return call_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

/* A child process may have to register again. */
void lanepool_i_membarrier_others(void)
{
    LANEPOOL_I_DOOR();
    check_ok(call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
             (lanepool_i_membarrier_init() && call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)));
}

#if defined(LANEPOOL_CHECKED)
void lanepool_i_report_misuse(const char *function, const char *what)
{
    fprintf(stderr, "lanepool: %s(): %s\n", function, what);
    abort();
}
#endif

void lanepool_i_yield(void)
{
    LANEPOOL_I_DOOR();
    sched_yield();
}
