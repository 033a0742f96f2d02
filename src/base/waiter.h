/*
 * A thread that waits to be called: the record on its stack, in a list that a lock guards. Another
 * thread takes the record from the list and posts its semaphore, both under the lock.
 */
#ifndef LANEPOOL_SRC_BASE_WAITER_H
#define LANEPOOL_SRC_BASE_WAITER_H

#include "base/driver.h"
#include "base/list.h"

/* Guards: I immutable, L the lock. */
typedef struct lanepool_i_waiter {
    lanepool_i_link link; /* L */
    bool called;          /* L: what the thread waits for has come */
    uint64_t deadline_ns; /* I */
    lanepool_i_semaphore semaphore;
    lanepool_i_driver *driver; /* I: of the pool without threads that it waits for, or NULL */
} lanepool_i_waiter;

/* Sets no driver. Returns false if a semaphore cannot be allocated. */
bool lanepool_i_waiter_init(lanepool_i_waiter *waiter, uint64_t deadline_ns);
void lanepool_i_waiter_fini(lanepool_i_waiter *waiter);

/* Under the lock: adds the waiter as the last one. */
void lanepool_i_waiter_enter_locked(lanepool_i_waiter *waiter, lanepool_i_list *list);
/* Under the lock: removes the waiter from its list and posts it. Its memory may be gone once the
 * lock is released. */
void lanepool_i_waiter_call_locked(lanepool_i_waiter *waiter);
/* Under the lock: calls the oldest waiter. Returns false if there is none. */
bool lanepool_i_waiter_call_first_locked(lanepool_i_list *list);
/* The waiting thread, without the lock: sleeps until it is called. Returns false if its deadline
 * has passed before. The waiter is not in the list any more in either case. */
bool lanepool_i_waiter_sleep(lanepool_i_waiter *waiter, lanepool_i_mutex *lock);

#endif
