/*
 * The sizes at which parts of the engine behave differently: what fits, what
 * spills, what is done in one go. A test build makes them so small that a few
 * tasks reach every boundary; nothing but speed and memory depends on them.
 */
#ifndef LANEPOOL_SRC_BASE_SIZES_H
#define LANEPOOL_SRC_BASE_SIZES_H

#include <stddef.h>
#include <stdint.h>

#if !defined(LANEPOOL_SMALL_SIZES)

/* Ready tasks that a worker's queue holds: a power of two. */
#define LANEPOOL_I_READY_SLOTS 256u
/* How many a worker takes from another's queue at most. */
#define LANEPOOL_I_TAKE_MAX 32u
/* How many tasks are routed in one hold of the role; and how many by claims while none of them
 * became ready: behind a backlog of one key there may be others that could run. */
#define LANEPOOL_I_ROUTE_BATCH 64u
#define LANEPOOL_I_ROUTE_MAX   16384u
/* With so many tasks in its queue a worker does not route; so often in a row, once a quantum. */
#define LANEPOOL_I_ENOUGH_READY 32u
#define LANEPOOL_I_PUT_OFF_MAX  32u
/* So many tasks of a batch are appended at once: workers get something to do while the rest is
 * built. */
#define LANEPOOL_I_APPEND_BATCH 64u
/* So many timers that are due fire before what came of them is passed on. */
#define LANEPOOL_I_FIRE_BATCH 64u
/* How often a worker looks everywhere before it lies down. Between two looks it pauses, longer each
 * time, at most so often: who looks takes lines from those who work. */
#define LANEPOOL_I_SEARCH_ROUNDS 7
#define LANEPOOL_I_SEARCH_PAUSES 32
/* If a thread cannot be had for a worker, another one is tried for after so long. */
#define LANEPOOL_I_TRY_AGAIN_NS ((uint64_t)10000000)
/* Pauses while a link in the inbox is expected to be made at any moment. */
#define LANEPOOL_I_LINK_PAUSES 8
/* Bytes of a region of blocks and of lanes: powers of two. */
#define LANEPOOL_I_BLOCK_REGION ((size_t)1 << 21)
#define LANEPOOL_I_LANE_REGION  ((size_t)1 << 20)
/* Chains of free blocks of each size that trimming leaves: half a MiB. */
#define LANEPOOL_I_RESERVE_CHAINS ((size_t)64)
/* The table of poisoned lanes has two to the power of this many chains. */
#define LANEPOOL_I_POISON_BITS 9
/* So many lanes (1 MiB) are kept, idle or not, until the pool is quiesced. */
#define LANEPOOL_I_RESERVE_LANES ((size_t)16384)
/* Lanes that a thread reserves beyond what it needs at once. */
#define LANEPOOL_I_LANE_CREDIT 256u
/* Buckets of an index of keys when it is empty: a power of two. */
#define LANEPOOL_I_FIRST_BUCKETS ((size_t)256)
#define LANEPOOL_I_FIRST_TICKET  ((uint64_t)0)
/* Moments at which counter and clock were compared that are kept: a power of two. */
#define LANEPOOL_I_CLOCK_ANCHORS ((size_t)1024)
/* The watchdog does not look more often than once in so many nanoseconds. */
#define LANEPOOL_I_LOOK_NS_MIN UINT64_C(1000000)
/* So many tasks of a sequence run before its errand is handed to the executor anew. */
#define LANEPOOL_I_DRAIN_BATCH 64u

#else

/* The smallest pages that the build's platform has. */
#if !defined(LANEPOOL_SMALL_PAGE)
#define LANEPOOL_SMALL_PAGE ((size_t)1 << 10)
#endif

#define LANEPOOL_I_READY_SLOTS    2u
#define LANEPOOL_I_TAKE_MAX       2u
#define LANEPOOL_I_ROUTE_BATCH    2u
#define LANEPOOL_I_ROUTE_MAX      3u
#define LANEPOOL_I_ENOUGH_READY   1u
#define LANEPOOL_I_PUT_OFF_MAX    1u
#define LANEPOOL_I_APPEND_BATCH   2u
#define LANEPOOL_I_FIRE_BATCH     2u
#define LANEPOOL_I_SEARCH_ROUNDS  1
#define LANEPOOL_I_SEARCH_PAUSES  0
#define LANEPOOL_I_LINK_PAUSES    0
#define LANEPOOL_I_TRY_AGAIN_NS   ((uint64_t)10)
#define LANEPOOL_I_BLOCK_REGION   ((size_t)1 << 14)
#define LANEPOOL_I_LANE_REGION    LANEPOOL_SMALL_PAGE
#define LANEPOOL_I_RESERVE_CHAINS ((size_t)1)
#define LANEPOOL_I_POISON_BITS    1
#define LANEPOOL_I_RESERVE_LANES  ((size_t)2)
#define LANEPOOL_I_LANE_CREDIT    1u
#define LANEPOOL_I_FIRST_BUCKETS  ((size_t)2)
#define LANEPOOL_I_FIRST_TICKET   (((uint64_t)1 << 40) - 3) /* it wraps around soon */
#define LANEPOOL_I_CLOCK_ANCHORS  ((size_t)2)
#define LANEPOOL_I_LOOK_NS_MIN    UINT64_C(1)
#define LANEPOOL_I_DRAIN_BATCH    2u

#endif

#endif
