/*
 * The functions of src/platform/platform.h on the simulator's fibers.
 *
 * A run fails if a lock or a semaphore is misused: destroyed while in use, or used after that.
 */
#include <stdio.h>
#include <string.h>

#include "inspect/memory.h"
#include "platform/platform.h"
#include "simulator/memory.h"
#include "simulator/state.h"

#if defined(SIM_WEAK)
#include "simulator/weak.h"
#endif
#if defined(SIM_THREAD_SANITIZER)
#include <sanitizer/tsan_interface.h>
#define HAPPENS_BEFORE(object) __tsan_release(object)
#define HAPPENS_AFTER(object)  __tsan_acquire(object)
#else
#define HAPPENS_BEFORE(object) ((void)(object))
#define HAPPENS_AFTER(object)  ((void)(object))
#endif

/* --- threads --- */

/* All fibers have stacks of one size. Only the range of the option is as on a system. */
enum { STACK_MIN = 16384 };

bool lanepool_i_stack_size_is_valid(size_t stack_size)
{
    return stack_size >= STACK_MIN;
}

bool lanepool_i_thread_start(lanepool_i_thread *thread, size_t stack_size, void *(*main)(void *),
                             void *argument)
{
    (void)stack_size;
    sim_step(SIM_CHANGE, thread);
    if (sim_fault())
        return false;
    thread->fiber = sim_start(main, argument);
    sim.held++;
    return true;
}

void lanepool_i_thread_join(lanepool_i_thread *thread)
{
    sim_join(thread->fiber);
    sim.held--;
}

void lanepool_i_thread_set_name(const char *name)
{
    (void)snprintf(sim.current->name, sizeof sim.current->name, "%s", name);
}

void *lanepool_i_thread_slot(void)
{
    return sim.current != NULL ? sim.current->slot : NULL;
}

void lanepool_i_thread_slot_set(void *value)
{
    sim.current->slot = value;
}

void *lanepool_i_thread_drains(void)
{
    return sim.current != NULL ? sim.current->drains : NULL;
}

void lanepool_i_thread_drains_set(void *value)
{
    sim.current->drains = value;
}

bool lanepool_i_thread_slot_hook(void (*at_exit)(void *value))
{
    if (sim_fault())
        return false;
    sim.slot_at_exit = at_exit;
    return true;
}

/* --- locks --- */

static void take_lock(lanepool_i_mutex *mutex)
{
    mutex->owner = sim.current;
    mutex->held_before = sim.current->last_lock;
    sim.current->last_lock = mutex;
    HAPPENS_AFTER(mutex);
}

static void leave_lock(lanepool_i_mutex *mutex)
{
    lanepool_i_mutex **at = &sim.current->last_lock;

    while (*at != mutex)
        at = &(*at)->held_before;
    *at = mutex->held_before;
    mutex->owner = NULL;
}

void lanepool_i_mutex_init_static(lanepool_i_mutex *mutex, lanepool_i_lock lock)
{
    *mutex = (lanepool_i_mutex){ .lock = lock, .usable = true };
    sim.held++;
}

bool lanepool_i_mutex_init(lanepool_i_mutex *mutex, lanepool_i_lock lock)
{
    if (sim_fault())
        return false;
    lanepool_i_mutex_init_static(mutex, lock);
    return true;
}

void lanepool_i_report_misuse(const char *function, const char *what)
{
    sim_fail("%s(): %s", function, what);
}

void lanepool_i_mutex_fini(lanepool_i_mutex *mutex)
{
    sim_empty_buffer();
    if (!mutex->usable || mutex->owner != NULL)
        sim_fail("a lock is destroyed that does not exist or is held");
    mutex->usable = false;
    sim.held--;
}

void lanepool_i_mutex_lock(lanepool_i_mutex *mutex)
{
    sim_step(SIM_LOCK, mutex);
    if (!mutex->usable)
        sim_fail("a lock is used that does not exist");
    if (mutex->owner == sim.current)
        sim_fail("a lock is taken twice by one thread");
    const lanepool_i_mutex *last = sim.current->last_lock;
    if (last != NULL && !lanepool_i_lock_may_follow(last->lock, mutex->lock))
        sim_fail("lock %d is taken under lock %d, against the order of lock_order.h",
                 (int)mutex->lock, (int)last->lock);
    while (mutex->owner != NULL)
        (void)sim_wait(mutex, UINT64_MAX);
    take_lock(mutex);
}

bool lanepool_i_mutex_try(lanepool_i_mutex *mutex)
{
    sim_step(SIM_LOCK, mutex);
    if (mutex->owner != NULL)
        return false;
    take_lock(mutex);
    return true;
}

void lanepool_i_mutex_unlock(lanepool_i_mutex *mutex)
{
    sim_step(SIM_LOCK, mutex);
    if (!mutex->usable || mutex->owner != sim.current)
        sim_fail("a lock is released by a thread that does not hold it");
    HAPPENS_BEFORE(mutex);
    leave_lock(mutex);
    sim_wake(mutex);
}

/* A lock of one word has no end, so it is not counted among the locks that must be destroyed. */
void lanepool_i_word_lock_init(lanepool_i_word_lock *lock, lanepool_i_lock sort)
{
    sim_empty_buffer();
    lock->mutex = (lanepool_i_mutex){ .lock = sort, .usable = true };
}

void lanepool_i_word_lock_lock(lanepool_i_word_lock *lock)
{
    lanepool_i_mutex_lock(&lock->mutex);
}

void lanepool_i_word_lock_unlock(lanepool_i_word_lock *lock)
{
    lanepool_i_mutex_unlock(&lock->mutex);
}

bool lanepool_i_word_lock_try(lanepool_i_word_lock *lock)
{
    return lanepool_i_mutex_try(&lock->mutex);
}

/* --- semaphores --- */

bool lanepool_i_semaphore_init(lanepool_i_semaphore *semaphore)
{
    if (sim_fault())
        return false;
    *semaphore = (lanepool_i_semaphore){ 0, 0, true };
    sim.held++;
    return true;
}

void lanepool_i_semaphore_fini(lanepool_i_semaphore *semaphore)
{
    sim_empty_buffer();
    if (!semaphore->usable || semaphore->waiting > 0)
        sim_fail("a semaphore is destroyed that does not exist or has waiters");
    semaphore->usable = false;
    sim.held--;
}

void lanepool_i_semaphore_post(lanepool_i_semaphore *semaphore)
{
    sim_step(SIM_LOCK, semaphore);
    if (!semaphore->usable)
        sim_fail("a semaphore is posted that does not exist");
    HAPPENS_BEFORE(semaphore);
    semaphore->count++;
    sim_wake(semaphore);
}

void lanepool_i_semaphore_wait(lanepool_i_semaphore *semaphore)
{
    (void)lanepool_i_semaphore_wait_until(semaphore, UINT64_MAX);
}

bool lanepool_i_semaphore_wait_until(lanepool_i_semaphore *semaphore, uint64_t deadline_ns)
{
    sim_step(SIM_LOCK, semaphore);
    if (!semaphore->usable)
        sim_fail("a thread waits for a semaphore that does not exist");
    bool in_time = true;
    semaphore->waiting++;
    while (semaphore->count == 0 && in_time)
        in_time = sim.now < deadline_ns && sim_wait(semaphore, deadline_ns);
    semaphore->waiting--;
    if (semaphore->count == 0)
        return false;
    semaphore->count--;
    HAPPENS_AFTER(semaphore);
    return true;
}

/* --- events --- */

/* There are no file descriptors here: scenarios read the flag `set`. */
bool lanepool_i_event_init(lanepool_i_event *event)
{
    if (sim_fault())
        return false;
    *event = (lanepool_i_event){ true, false };
    sim.held++;
    return true;
}

void lanepool_i_event_fini(lanepool_i_event *event)
{
    if (!event->usable)
        sim_fail("an event is destroyed that does not exist");
    event->usable = false;
    sim.held--;
}

static void change_event(lanepool_i_event *event, bool set)
{
    sim_step(SIM_LOCK, event);
    if (!event->usable || event->set == set)
        sim_fail("an event is set or cleared twice, or does not exist");
    event->set = set;
}

void lanepool_i_event_set(lanepool_i_event *event)
{
    change_event(event, true);
}

void lanepool_i_event_clear(lanepool_i_event *event)
{
    change_event(event, false);
}

int lanepool_i_event_fd(const lanepool_i_event *event)
{
    return event->usable ? 0 : -1;
}

/* --- the clock --- */

/* Every reading is larger than the one before. */
uint64_t lanepool_i_clock_now(void)
{
    return sim.now++;
}

uint64_t lanepool_i_clock_coarse(void)
{
    return sim.now;
}

/* The counter is used in runs with store buffers. In runs without them, events use the clock. */
bool lanepool_i_counter_is_usable(void)
{
    return sim.options.buffers;
}

uint64_t lanepool_i_counter(void)
{
    return 3 * sim.now++;
}

/* --- memory --- */

/* Precedes each piece of memory, so that freeing knows its size. */
struct header {
    size_t size;
};

void *lanepool_i_memory_alloc(size_t size)
{
    if (sim_fault() || size > SIZE_MAX / 2)
        return NULL;
    size_t whole = (size + 2 * LANEPOOL_I_CACHE_LINE - 1) & ~(size_t)(LANEPOOL_I_CACHE_LINE - 1);
    char *memory = sim_memory_get(whole, LANEPOOL_I_CACHE_LINE);
    ((struct header *)(void *)memory)->size = whole;
    sim.held++;
    return memory + LANEPOOL_I_CACHE_LINE;
}

void lanepool_i_memory_free(void *memory)
{
    if (memory == NULL)
        return;
    sim_empty_buffer();
    struct header *header = (struct header *)(void *)((char *)memory - LANEPOOL_I_CACHE_LINE);
    sim_memory_put(header, header->size);
    sim.held--;
}

void *lanepool_i_inspect_alloc(size_t size)
{
    return lanepool_i_memory_alloc(size);
}

void lanepool_i_inspect_free(void *memory)
{
    lanepool_i_memory_free(memory);
}

void *lanepool_i_pages_alloc(size_t size)
{
    if (sim_fault())
        return NULL;
    sim.held++;
    return memset(sim_memory_get(size, size), 0, size);
}

void lanepool_i_pages_free(void *pages, size_t size)
{
    sim_empty_buffer();
    sim_memory_put(pages, size);
    sim.held--;
}

void lanepool_i_pages_discard(void *pages, size_t size)
{
    sim_empty_buffer();
    memset(pages, 0, size);
#if defined(SIM_WEAK)
    sim_shadow_forget(pages, size);
#endif
}

void lanepool_i_pages_wipe_on_fork(void *pages, size_t size)
{
    (void)pages, (void)size;
}

#if !defined(__SANITIZE_ADDRESS__)
void sim_spoil(void *address, size_t size)
{
    sim_empty_buffer();
    memset(address, 0xa5, size);
#if defined(SIM_WEAK)
    sim_weak_spoil(address, size);
#endif
}
#endif

/* --- the rest --- */

/* The simulator has one process. */
uint32_t lanepool_i_process(void)
{
    return 1;
}

unsigned lanepool_i_cpu_count(void)
{
    return 2;
}

/* The seed is constant, so that a schedule repeats the same steps. */
uint64_t lanepool_i_seed(void)
{
    return 0;
}

/* membarrier is used in runs with store buffers. Runs without them test the operations that do not
 * need it. */
bool lanepool_i_membarrier_init(void)
{
    return sim.options.buffers;
}

void lanepool_i_membarrier_others(void)
{
    sim_step(SIM_CHANGE, NULL);
#if defined(SIM_WEAK)
    sim_weak_membarrier();
#else
    sim_buffers_empty_all();
#endif
}

void lanepool_i_yield(void)
{
    sim_step(SIM_YIELD, NULL);
}

void lanepool_i_nap(uint64_t ns)
{
    sim_nap(ns);
}
