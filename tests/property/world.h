/*
 * The services that a workload needs from the place where it runs: threads, and time that passes.
 * They exist on the operating system, on the simulator, and for pools without threads; the checked
 * property is the same.
 */
#ifndef TESTS_PROPERTY_WORLD_H
#define TESTS_PROPERTY_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Calls main(arguments[i]) for each i, each on its own thread. Returns when all have returned. */
void world_run_threads(void (*main)(void *argument), void *const *arguments, uint32_t count);

/* Spends `ns` in the body of a task: sleeps in virtual time; elsewhere spins for about that many
 * rounds. */
void world_pass(uint64_t ns);

void world_sleep(uint64_t ns);
/* Sleeps between two polls. On real threads the sleep is long enough for other threads to run. */
void world_rest(uint64_t ns);

/* Returns the time of the clock that measures delays. */
uint64_t world_now(void);

/* Returns true if time passes only when no thread is ready, and every store is visible at once. */
bool world_is_strict(void);

/* Lets every thread see what has been stored by now. On real threads that takes no call, only time.
 * For promises about what happens after a call has returned, by the clock. */
void world_show_all(void);

/* Called after a call that may wait for ever has answered TIMED_OUT. Returns true if it must be
 * repeated: the pool has no threads, and others than the caller have acted since. */
bool world_waits_again(void);

/* Returns a number that is unique to the calling thread among the living ones. */
uint64_t world_thread(void);

/* Returns true if the calling thread has this name, or if the place where it runs cannot tell. */
bool world_thread_is_named(const char *name);

/* The memory of an allocator of the program's. `alignment` is that of a cache line, or `size`.
 * Returns NULL if the platform refuses it on purpose. */
void *world_memory_get(size_t size, size_t alignment);
void world_memory_put(void *memory, size_t size);

/* Returns true if the platform has refused a resource on purpose. */
bool world_has_refused(void);
/* Lets every further request succeed. */
void world_stop_refusing(void);

#endif
