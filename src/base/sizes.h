/*
 * The sizes at which parts of the engine behave differently. A test build makes them so small that
 * a few tasks reach every boundary. Only speed and memory depend on them.
 */
#ifndef LANEPOOL_SRC_BASE_SIZES_H
#define LANEPOOL_SRC_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

#if !defined(LANEPOOL_SMALL_SIZES)

/* Tasks that a worker's ready ring holds: a power of two. */
#define LANEPOOL_I_READY_SLOTS 256u
/* The most tasks that a worker takes from another worker's ring at once. */
#define LANEPOOL_I_TAKE_MAX 32u
/* The most tasks routed in one hold of the role. MAX applies to routing by claims while no task has
 * become ready: behind a backlog of one key there may be tasks that can run. */
#define LANEPOOL_I_ROUTE_BATCH 64u
#define LANEPOOL_I_ROUTE_MAX   16384u
/* A worker with this many ready tasks skips routing, at most PUT_OFF_MAX quanta in a row. */
#define LANEPOOL_I_ENOUGH_READY 32u
#define LANEPOOL_I_PUT_OFF_MAX  32u
/* The quantum where all ready tasks are in one order. */
#define LANEPOOL_I_ORDER_QUANTUM_TASKS 64u
#define LANEPOOL_I_ORDER_QUANTUM_NS    ((uint64_t)1000000)
/* How long a worker naps that finds nothing to run while the lanes are crowded. */
#define LANEPOOL_I_NAP_NS ((uint64_t)20000)
/* The tasks of a batch appended at once. Workers can start on them while the rest is built. */
#define LANEPOOL_I_APPEND_BATCH 64u
/* The most due timers that fire before their results are passed on. */
#define LANEPOOL_I_FIRE_BATCH 64u
/* How often a worker searches everywhere before it sleeps or searches for longer. Between two
 * rounds it pauses, each time longer, up to SEARCH_PAUSES: a searcher takes cache lines from
 * threads that work. */
#define LANEPOOL_I_SEARCH_ROUNDS 7
#define LANEPOOL_I_SEARCH_PAUSES 32
/* How long one worker searches if the program has not said. */
#define LANEPOOL_I_SEARCH_NS ((uint64_t)20000)
/* How long after the system has refused a thread another one is tried for. */
#define LANEPOOL_I_TRY_AGAIN_NS ((uint64_t)10000000)
/* Pauses while a missing link in the inbox is expected at any moment. */
#define LANEPOOL_I_LINK_PAUSES 8
/* Bytes of a region of blocks and of lanes: powers of two. */
#define LANEPOOL_I_BLOCK_REGION ((size_t)1 << 21)
#define LANEPOOL_I_LANE_REGION  ((size_t)1 << 20)
/* A block size with fewer chains of free blocks than this (half a MiB) is not trimmed. */
#define LANEPOOL_I_RESERVE_CHAINS ((size_t)64)
/* Free memory goes back to the system once the pool has not grown for this long. */
#define LANEPOOL_I_TRIM_AFTER_NS ((uint64_t)200000000)
/* The longest rest between two trims. */
#define LANEPOOL_I_TRIM_REST_MAX_NS ((uint64_t)10000000000)
/* How often busy workers trim, and the parts of a trim that one of them does then. */
#define LANEPOOL_I_TRIM_BUSY_NS    ((uint64_t)1000000)
#define LANEPOOL_I_TRIM_BUSY_PARTS 16
/* Buckets of the index of keys that are trimmed in one hold of the role. */
#define LANEPOOL_I_TRIM_BUCKETS ((size_t)128)
/* The stripes of a table of lane quotas: a power of two. */
#define LANEPOOL_I_QUOTA_STRIPES ((size_t)16)
/* The chains that each table of parked tasks has at first: a power of two. */
#define LANEPOOL_I_PARKED_CHAINS ((size_t)64)
/* With no more lanes than this (1 MiB), idle ones are removed only by a trim. */
#define LANEPOOL_I_RESERVE_LANES ((size_t)16384)
/* Lanes that a thread reserves beyond those it needs at once. */
#define LANEPOOL_I_LANE_CREDIT 256u
/* Buckets of an empty key index: a power of two. */
#define LANEPOOL_I_FIRST_BUCKETS ((size_t)64)
#define LANEPOOL_I_FIRST_TICKET  ((uint64_t)0)
/* Anchors of counter and clock that are stored: a power of two. */
#define LANEPOOL_I_CLOCK_ANCHORS ((size_t)1024)
/* The shortest interval between two checks of the watchdog. */
#define LANEPOOL_I_WATCHDOG_MIN_NS UINT64_C(1000000)
/* The tasks of a sequence that run before its work is handed to the executor again. */
#define LANEPOOL_I_DRAIN_BATCH 64u
/* The visits that a visitor of a cut makes before it queues behind the ready tasks, and the listed
 * entries that it takes in one hold of the cut's lock. */
#define LANEPOOL_I_VISITS_AT_ONCE 64u
#define LANEPOOL_I_VISIT_SHARE    16u

#else

/* The smallest pages of the build's platform. */
#if !defined(LANEPOOL_SMALL_PAGE)
#define LANEPOOL_SMALL_PAGE ((size_t)1 << 10)
#endif

#define LANEPOOL_I_READY_SLOTS         2u
#define LANEPOOL_I_TAKE_MAX            2u
#define LANEPOOL_I_ROUTE_BATCH         2u
#define LANEPOOL_I_ROUTE_MAX           3u
#define LANEPOOL_I_ENOUGH_READY        1u
#define LANEPOOL_I_PUT_OFF_MAX         1u
#define LANEPOOL_I_ORDER_QUANTUM_TASKS 4u
#define LANEPOOL_I_ORDER_QUANTUM_NS    ((uint64_t)200)
#define LANEPOOL_I_NAP_NS              ((uint64_t)20)
#define LANEPOOL_I_APPEND_BATCH        2u
#define LANEPOOL_I_FIRE_BATCH          2u
#define LANEPOOL_I_SEARCH_ROUNDS       1
#define LANEPOOL_I_SEARCH_PAUSES       0
#define LANEPOOL_I_SEARCH_NS           ((uint64_t)10)
#define LANEPOOL_I_LINK_PAUSES         0
#define LANEPOOL_I_TRY_AGAIN_NS        ((uint64_t)10)
#define LANEPOOL_I_BLOCK_REGION        ((size_t)1 << 14)
#define LANEPOOL_I_LANE_REGION         LANEPOOL_SMALL_PAGE
#define LANEPOOL_I_RESERVE_CHAINS      ((size_t)1)
#define LANEPOOL_I_TRIM_AFTER_NS       ((uint64_t)200)
#define LANEPOOL_I_TRIM_REST_MAX_NS    ((uint64_t)1600)
#define LANEPOOL_I_TRIM_BUSY_NS        ((uint64_t)1)
#define LANEPOOL_I_TRIM_BUSY_PARTS     2
#define LANEPOOL_I_TRIM_BUCKETS        ((size_t)2)
#define LANEPOOL_I_QUOTA_STRIPES       ((size_t)2)
#define LANEPOOL_I_PARKED_CHAINS       ((size_t)2)
#define LANEPOOL_I_RESERVE_LANES       ((size_t)2)
#define LANEPOOL_I_LANE_CREDIT         1u
#define LANEPOOL_I_FIRST_BUCKETS       ((size_t)2)
#define LANEPOOL_I_FIRST_TICKET        (((uint64_t)1 << 40) - 3) /* wraps around soon */
#define LANEPOOL_I_CLOCK_ANCHORS       ((size_t)2)
#define LANEPOOL_I_WATCHDOG_MIN_NS     UINT64_C(1)
#define LANEPOOL_I_DRAIN_BATCH         2u
#define LANEPOOL_I_VISITS_AT_ONCE      4u
#define LANEPOOL_I_VISIT_SHARE         3u

#endif

#endif
