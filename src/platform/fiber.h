/*
 * Fibers for a check of accesses (feature/check/accesses.c). A call on a fiber has a stack of its
 * own, and ThreadSanitizer takes it for a thread of its own. So what two such calls do has no order
 * unless a note says so, even if one thread makes them one after the other.
 *
 * After the return, the calling thread has the call's accesses behind it. Its own accesses before
 * the call have no order with the call.
 */
#ifndef LANEPOOL_SRC_PLATFORM_FIBER_H
#define LANEPOOL_SRC_PLATFORM_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct lanepool_i_fiber lanepool_i_fiber;

/* Returns NULL if fibers can be made here, otherwise a sentence that says why not. */
const char *lanepool_i_fibers_missing(void);

/* Returns NULL if memory cannot be allocated. Each call on the fiber comes after everything that
 * the calling thread has done so far. With a `mother` it comes after what the mother comes after,
 * and has no order with the calling thread. No other thread may use the mother during this call.
 * The stack has at least `stack_size` bytes, and at least 1 MiB. */
lanepool_i_fiber *lanepool_i_fiber_create(const lanepool_i_fiber *mother, size_t stack_size);
/* The fiber is in no call. */
void lanepool_i_fiber_destroy(lanepool_i_fiber *fiber);
/* Calls the function. It must return: it must not end its thread. */
void lanepool_i_fiber_call(lanepool_i_fiber *fiber, void (*function)(void *), void *argument);

/* The calling thread's thread-locals are not reported from now on: calls on fibers share them. */
void lanepool_i_fibers_share_thread_locals(void);

#endif
