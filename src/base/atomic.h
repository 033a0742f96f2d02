/*
 * Atomic operations with the memory order in their name.
 *
 * So the order is a constant at each place, visible in review and in the machine code. `seq`
 * operations take part in one total order; sleeping and waking rely on that. No fences are used,
 * since thread sanitizers do not follow them. Each operation goes through the platform.
 */
#ifndef LANEPOOL_SRC_BASE_ATOMIC_H
#define LANEPOOL_SRC_BASE_ATOMIC_H

#include "platform/platform.h"

#define load_relaxed(object)         LANEPOOL_I_LOAD(object, memory_order_relaxed)
#define load_acquire(object)         LANEPOOL_I_LOAD(object, memory_order_acquire)
#define load_seq(object)             LANEPOOL_I_LOAD(object, memory_order_seq_cst)
#define store_relaxed(object, value) LANEPOOL_I_STORE(object, value, memory_order_relaxed)
#define store_release(object, value) LANEPOOL_I_STORE(object, value, memory_order_release)
#define store_seq(object, value)     LANEPOOL_I_STORE(object, value, memory_order_seq_cst)
#define exchange_relaxed(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_exchange_explicit(object, value, memory_order_relaxed))
#define exchange_acquire(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_exchange_explicit(object, value, memory_order_acquire))
#define exchange_acq_rel(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_exchange_explicit(object, value, memory_order_acq_rel))
#define exchange_seq(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_exchange_explicit(object, value, memory_order_seq_cst))
#define fetch_add_relaxed(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_add_explicit(object, value, memory_order_relaxed))
#define fetch_add_acq_rel(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_add_explicit(object, value, memory_order_acq_rel))
#define fetch_add_seq(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_add_explicit(object, value, memory_order_seq_cst))
#define fetch_sub_relaxed(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_sub_explicit(object, value, memory_order_relaxed))
#define fetch_sub_acq_rel(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_sub_explicit(object, value, memory_order_acq_rel))
#define fetch_sub_seq(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_sub_explicit(object, value, memory_order_seq_cst))
#define fetch_or_relaxed(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_or_explicit(object, value, memory_order_relaxed))
#define fetch_or_acq_rel(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_or_explicit(object, value, memory_order_acq_rel))
#define fetch_or_seq(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_or_explicit(object, value, memory_order_seq_cst))
#define fetch_and_acq_rel(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_and_explicit(object, value, memory_order_acq_rel))

#define fetch_and_seq(object, value) \
    LANEPOOL_I_CHANGE(object, atomic_fetch_and_explicit(object, value, memory_order_seq_cst))

/* Compare and swap. On failure *expected receives the value found, read with the load part of the
 * order. */
#define cas_relaxed(object, expected, desired)                                                   \
    LANEPOOL_I_CHANGE(object, atomic_compare_exchange_strong_explicit(object, expected, desired, \
                                                                      memory_order_relaxed,      \
                                                                      memory_order_relaxed))
#define cas_acquire(object, expected, desired)                                                   \
    LANEPOOL_I_CHANGE(object, atomic_compare_exchange_strong_explicit(object, expected, desired, \
                                                                      memory_order_acquire,      \
                                                                      memory_order_acquire))
#define cas_release(object, expected, desired)                                                   \
    LANEPOOL_I_CHANGE(object, atomic_compare_exchange_strong_explicit(object, expected, desired, \
                                                                      memory_order_release,      \
                                                                      memory_order_relaxed))
#define cas_acq_rel(object, expected, desired)                                                   \
    LANEPOOL_I_CHANGE(object, atomic_compare_exchange_strong_explicit(object, expected, desired, \
                                                                      memory_order_acq_rel,      \
                                                                      memory_order_acquire))
#define cas_seq(object, expected, desired)                                                       \
    LANEPOOL_I_CHANGE(object, atomic_compare_exchange_strong_explicit(object, expected, desired, \
                                                                      memory_order_seq_cst,      \
                                                                      memory_order_seq_cst))

#endif
