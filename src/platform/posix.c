/*
 * The platform on POSIX threads: threads, memory, the process and the processors. Locks are in
 * posix_lock.c; waiting and clocks are in posix_wait.c.
 *
 * Owns the process-wide key through which a thread's slot is passed to `at_exit` when the thread
 * ends. The key is never deleted, since a thread may end after all pools are gone.
 */
#define _GNU_SOURCE
#include "platform/cgroup.h"
#include "platform/platform.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Makes the mask of a new thread. Faults that a thread causes itself stay unblocked, since the
 * system kills a process that blocks them. SIGABRT stays unblocked, too: musl's abort() would end
 * the program without calling its handler. */
static void make_thread_mask(sigset_t *mask)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT };
    lanepool_i_check_ok(sigfillset(mask) == 0);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        lanepool_i_check_ok(sigdelset(mask, own[i]) == 0);
}

/* Makes the attributes of a thread with such a stack. Returns false if the system refuses the
 * size. */
static bool init_attributes(pthread_attr_t *attributes, size_t stack_size)
{
    if (pthread_attr_init(attributes) != 0)
        return false;
    if (pthread_attr_setstacksize(attributes, stack_size) == 0)
        return true;
    lanepool_i_check_ok(pthread_attr_destroy(attributes) == 0);
    return false;
}

bool lanepool_i_stack_size_is_valid(size_t stack_size)
{
    pthread_attr_t attributes;
    if (!init_attributes(&attributes, stack_size))
        return false;
    lanepool_i_check_ok(pthread_attr_destroy(&attributes) == 0);
    return true;
}

/* This thread has the new thread's mask during the call, so that the new thread starts with it.
 * `attributes` may be NULL. */
static bool start_with(const pthread_attr_t *attributes, lanepool_i_thread *thread,
                       void *(*main)(void *), void *argument)
{
    sigset_t mask, before;
    make_thread_mask(&mask);
    lanepool_i_check_ok(pthread_sigmask(SIG_SETMASK, &mask, &before) == 0);
    bool started = pthread_create(&thread->id, attributes, main, argument) == 0;
    lanepool_i_check_ok(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    return started;
}

/* Without a stack size the thread has all of the process's default attributes. */
bool lanepool_i_thread_start(lanepool_i_thread *thread, size_t stack_size, void *(*main)(void *),
                             void *argument)
{
    LANEPOOL_I_DOOR();
    if (stack_size == 0)
        return start_with(NULL, thread, main, argument);
    pthread_attr_t attributes;
    if (!init_attributes(&attributes, stack_size))
        return false;
    bool started = start_with(&attributes, thread, main, argument);
    lanepool_i_check_ok(pthread_attr_destroy(&attributes) == 0);
    return started;
}

void lanepool_i_thread_join(lanepool_i_thread *thread)
{
    LANEPOOL_I_DOOR();
    int before = lanepool_i_cancellation_off();
    lanepool_i_check_ok(pthread_join(thread->id, NULL) == 0);
    lanepool_i_cancellation_back(before);
}

/* A failure does not matter: no promise of the library depends on the name. */
void lanepool_i_thread_set_name(const char *name)
{
    (void)pthread_setname_np(pthread_self(), name);
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
        lanepool_i_check_ok(munmap(mapped, before) == 0);
    lanepool_i_check_ok(munmap(mapped + before + size, size - before) == 0);
    return mapped + before;
}

void lanepool_i_pages_free(void *pages, size_t size)
{
    LANEPOOL_I_DOOR();
    lanepool_i_check_ok(munmap(pages, size) == 0);
}

void lanepool_i_pages_discard(void *pages, size_t size)
{
    lanepool_i_check_ok(madvise(pages, size, MADV_DONTNEED) == 0);
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
    lanepool_i_check_ok(pthread_once(&slot_once, slot_make_key) == 0);
    if (!slot_key_made)
        return false;
    __atomic_store_n(&slot_at_exit, at_exit, __ATOMIC_RELEASE);
    return pthread_setspecific(slot_key, &slot_key) == 0;
}

static unsigned count_affine_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (unsigned)CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (unsigned)online : 1;
}

unsigned lanepool_i_cpu_count(void)
{
    int before = lanepool_i_cancellation_off();
    unsigned limit = lanepool_i_cgroup_cpu_limit("/sys/fs/cgroup", "/proc/self/cgroup");
    lanepool_i_cancellation_back(before);
    unsigned affine = count_affine_cpus();
    return affine < limit ? affine : limit;
}

/* Without the system's random numbers, for instance in a sandbox: a seed that others may guess. */
uint64_t lanepool_i_seed(void)
{
    uint64_t seed;
    int before = lanepool_i_cancellation_off();
    ssize_t size = getrandom(&seed, sizeof seed, GRND_NONBLOCK);
    lanepool_i_cancellation_back(before);
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
    lanepool_i_check_ok(
        call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
        (lanepool_i_membarrier_init() && call_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)));
}

void lanepool_i_report_misuse(const char *function, const char *what)
{
#if defined(LANEPOOL_CHECKED)
    fprintf(stderr, "lanepool: %s(): %s\n", function, what);
#else
    (void)function, (void)what;
#endif
    abort();
}

void lanepool_i_yield(void)
{
    LANEPOOL_I_DOOR();
    sched_yield();
}
