/* The notes of a pool (platform/notes.h). feature/check/accesses.h says what they order. */
#ifndef LANEPOOL_SRC_ROUTE_POOL_NOTES_H
#define LANEPOOL_SRC_ROUTE_POOL_NOTES_H

#include "platform/notes.h"

#include <stdint.h>

/* The objects, which are names only. */
typedef struct lanepool_i_pool_notes {
    uint64_t submits;
    uint64_t ends;
    uint64_t controls;
    uint64_t asked; /* the rule was asked */
} lanepool_i_pool_notes;

/* A callback may read what the submitter, the rule and the task's calls have written. Another
 * thread may have made those calls. */
static inline void lanepool_i_note_callback_begins(const lanepool_i_pool_notes *notes)
{
    lanepool_i_note_acquire(&notes->submits);
    lanepool_i_note_acquire(&notes->asked);
    lanepool_i_note_acquire(&notes->ends);
}

/* A quiesce comes after all callbacks of the tasks that it waits for. */
static inline void lanepool_i_note_callback_ends(const lanepool_i_pool_notes *notes)
{
    lanepool_i_note_release(&notes->ends);
}

/* A wait for the pool is over: the program may free what tasks and the rule have read. */
static inline void lanepool_i_note_wait_ends(const lanepool_i_pool_notes *notes)
{
    lanepool_i_note_acquire(&notes->ends);
    lanepool_i_note_acquire(&notes->asked);
}

#endif
