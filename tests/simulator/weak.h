/*
 * The weak memory: what C11 allows a load to see, for the build in which SIM_WEAK is defined.
 *
 * Each atomic object remembers its last values, oldest first; a store adds the newest one. A load
 * may get any of them that C11 still allows the thread to see:
 *
 *   - not older than a value that the thread has read or written, or that an operation which
 *     happens before the load has read or written (coherence);
 *   - a `seq` load: not older than the last value that a `seq` operation has written.
 *
 * A read-modify-write gets the newest value. A release store takes along what its thread knows; an
 * acquire load that gets this value then knows it, too. A relaxed read-modify-write passes on what
 * the value before it took along. What a thread knows is a vector clock: how far each other thread
 * had come. Locks, semaphores and joins pass this knowledge on. membarrier() passes the knowledge
 * of all threads to its caller, and that of the caller to all.
 *
 * Each plain access is compared with earlier ones of the same bytes. If one of the two writes, and
 * the first does not happen before the second, the run fails: a data race.
 *
 * Every value is seen after a while: when time passes, and when a thread has read old values of one
 * object too often.
 *
 * Stronger than C11 in two respects: the values of one object are in the order in which the stores
 * were made, and no load gets a value that is stored later.
 */
#ifndef TESTS_SIMULATOR_WEAK_H
#define TESTS_SIMULATOR_WEAK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simulator/state.h"

/* --- weak.c: the knowledge of the threads, and the values of atomic objects --- */

void sim_weak_begin_run(void);
void sim_weak_begin_fiber(uint32_t fiber);
/* All threads see all values that exist now. */
void sim_weak_let_time_pass(void);
void sim_weak_membarrier(void);

/* The calling fiber gives memory back, which is a write. */
void sim_weak_spoil(void *memory, size_t size);

/* The calling fiber takes along what the object knows; or the object what the fiber knows. */
void sim_weak_acquire(const volatile void *object);
void sim_weak_release(const volatile void *object);

/* Returns the clock of the calling fiber. */
uint32_t sim_weak_now(void);
/* Returns true if the calling fiber knows that another one has reached this clock. */
bool sim_weak_knows(uint32_t fiber, uint32_t clock);

/* Atomic operations of the calling fiber. `order` is one of C11's, as a number. */
uint64_t sim_weak_load(const volatile void *object, size_t size, int order);
void sim_weak_store(volatile void *object, size_t size, uint64_t value, int order);
/* A read-modify-write in two parts: the value that it gets, and the one that it stores. */
uint64_t sim_weak_newest(const volatile void *object, size_t size, int order);
void sim_weak_replace(volatile void *object, size_t size, uint64_t value, int order);
/* Chooses what a compare-and-swap that expects `expected` sees: that value only if it is the
 * newest. Returns true if the swap must be made. Otherwise *seen has been loaded. */
bool sim_weak_may_swap(const volatile void *object, size_t size, uint64_t expected, int order,
                       uint64_t *seen);

/* --- weak_shadow.c: the accesses to each byte --- */

enum sim_access_kind { SIM_PLAIN_READ, SIM_PLAIN_WRITE, SIM_ATOMIC_READ, SIM_ATOMIC_WRITE };

/* Records an access, and fails the run if it races with an earlier one. `place` is its address in
 * the program. */
void sim_shadow_access(const volatile void *at, size_t size, enum sim_access_kind kind,
                       const void *place);
/* Forgets all accesses to memory that begins a new life, and the atomic objects there. */
void sim_shadow_forget(const volatile void *at, size_t size);
/* Return where the number of the object there, or of what is known there, is stored: 0 if there is
 * none in this run. */
uint32_t *sim_shadow_object(const volatile void *at);
uint32_t *sim_shadow_knowledge(const volatile void *at);
void sim_shadow_begin_run(void);

/* --- weak_sites.c: the sites, and the one whose order is weakened --- */

/* Returns the order of the operation that the calling fiber is about to make. Returns false in
 * *engine if it is not an operation of the engine. */
int sim_site_order(int order, bool *engine);

#endif
