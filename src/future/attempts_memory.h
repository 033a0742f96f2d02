/*
 * The memory of failed tasks' records. A submit reserves a record, and a failure takes it, so that
 * a failure allocates nothing. Few tasks fail: reserved memory is mapped but not touched, and costs
 * addresses only.
 *
 * A thread reserves several records at once, and keeps those of tasks that have ended for its next
 * tasks (lanepool_i_thread_record).
 *
 * Callers: any thread.
 */
#ifndef LANEPOOL_SRC_FUTURE_ATTEMPTS_MEMORY_H
#define LANEPOOL_SRC_FUTURE_ATTEMPTS_MEMORY_H

#include "base/allocator.h"
#include "base/list.h"
#include "platform/platform.h"

struct lanepool_i_attempts;

/* Guards: I immutable, L the lock. */
typedef struct lanepool_i_attempts_memory {
    lanepool_i_mutex lock;
    lanepool_i_list partial;             /* L: regions with records that were never taken */
    lanepool_i_list full;                /* L: regions without */
    void *given;                         /* L: records given back, linked */
    uint64_t unreserved;                 /* L: records that are not reserved */
    const lanepool_allocator *allocator; /* I: NULL for the system's */
} lanepool_i_attempts_memory;

void lanepool_i_attempts_memory_init(lanepool_i_attempts_memory *memory,
                                     const lanepool_allocator *allocator);
/* Frees all records. */
void lanepool_i_attempts_memory_fini(lanepool_i_attempts_memory *memory);

/* Reserves `count` records. Returns false, and changes nothing, if memory cannot be allocated. */
bool lanepool_i_attempts_memory_reserve(lanepool_i_attempts_memory *memory, uint64_t count);
void lanepool_i_attempts_memory_unreserve(lanepool_i_attempts_memory *memory, uint64_t count);
/* Takes a reserved record, not cleared. Never fails. */
struct lanepool_i_attempts *lanepool_i_attempts_memory_take(lanepool_i_attempts_memory *memory);
/* Gives back a record, which is not reserved any more. */
void lanepool_i_attempts_memory_give(lanepool_i_attempts_memory *memory, void *record);

#endif
