/*
 * The order of all locks. A thread that holds a lock takes only locks that come after it here, so
 * no threads wait for one another in a circle. A checked build (LANEPOOL_CHECKED) and the simulator
 * check each lock that is taken. docs/concurrency.md says what each lock guards.
 *
 * The router role is not in the list: it comes before all locks, and no thread waits for it while
 * it holds one.
 */
#ifndef LANEPOOL_SRC_PLATFORM_LOCK_ORDER_H
#define LANEPOOL_SRC_PLATFORM_LOCK_ORDER_H

#include <stdbool.h>

/* X(constant, what the message calls it) */
#define LANEPOOL_I_LOCKS(X)                  \
    X(LIFECYCLE, "a pool's lifecycle")       \
    X(WAITS, "a pool's waits")               \
    X(CALL_RECORDS, "a pool's call records") \
    X(EXECUTOR, "an executor's")             \
    X(WORK, "a work's")                      \
    X(DELAYS, "a pool's delays")             \
    X(SUSPENDED, "a pool's suspended tasks") \
    X(CONTEXTS, "a pool's contexts")         \
    X(FUTURE, "a future's")                  \
    X(GROUP, "a group's")                    \
    X(TIMERS, "a timer heap's")              \
    X(ADMISSION, "a pool's admission")       \
    X(LANE_QUOTAS, "lane quotas'")           \
    X(JOURNAL, "a journal's")                \
    X(THREAD_RECORDS, "thread records'")     \
    X(OVERFLOW, "the overflow list's")       \
    X(RINGS, "the event rings'")             \
    X(SLAB_TRIM, "a slab's trim's")          \
    X(SLAB, "a slab's")                      \
    X(LANE_MEMORY, "lane memory's")          \
    X(ATTEMPTS_MEMORY, "attempts memory's")  \
    X(QUARANTINE, "a quarantine's")          \
    X(VISITS, "a cut's visits'")

typedef enum lanepool_i_lock {
#define LANEPOOL_I_LOCK_CONSTANT(lock, name) LANEPOOL_I_LOCK_##lock,
    LANEPOOL_I_LOCKS(LANEPOOL_I_LOCK_CONSTANT)
#undef LANEPOOL_I_LOCK_CONSTANT
} lanepool_i_lock;

/* The most locks that a pool has of the sort LANE_QUOTAS. A thread takes several of them in the
 * order of their addresses. Of each other sort it holds one at a time. */
#define LANEPOOL_I_STRIPES_MAX 16

static inline bool lanepool_i_lock_may_follow(lanepool_i_lock held, lanepool_i_lock lock)
{
    return lock > held || (lock == held && lock == LANEPOOL_I_LOCK_LANE_QUOTAS);
}

#endif
