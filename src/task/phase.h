/*
 * The phase of a task: how far it has come. docs/phases.md has the whole table: each step, the
 * thread that takes it, and the guard under which it is decided.
 *
 * Up to its start a task is in one place after the other: the inbox, a barrier's list, its lanes, a
 * queue of ready tasks. The place says the phase, so nothing is stored. From the start on, the
 * task's future decides between threads, and stores the phase. Requests (to stop, to end without
 * another call) are flags beside it.
 *
 * A task without a future has no phase that threads decide about by a lock: its word has TOMBSTONE
 * and STARTED (task.h).
 */
#ifndef LANEPOOL_SRC_TASK_PHASE_H
#define LANEPOOL_SRC_TASK_PHASE_H

#include <stdbool.h>

typedef enum lanepool_i_phase {
    LANEPOOL_I_PHASE_PENDING,   /* not called yet: queued, held back, waiting or ready */
    LANEPOOL_I_PHASE_RUNNING,   /* called; a detached task, too, until it ends */
    LANEPOOL_I_PHASE_SUSPENDED, /* called, and not running: another call or a resolution follows */
    LANEPOOL_I_PHASE_CANCELLED, /* never called; the future is not complete yet */
    LANEPOOL_I_PHASE_DONE       /* the future is complete */
} lanepool_i_phase;

enum { LANEPOOL_I_PHASES = LANEPOOL_I_PHASE_DONE + 1 };

/* Returns true if a task may take this step. */
static inline bool lanepool_i_phase_may_follow(lanepool_i_phase from, lanepool_i_phase to)
{
    static const unsigned char following[LANEPOOL_I_PHASES] = {
        [LANEPOOL_I_PHASE_PENDING] = 1 << LANEPOOL_I_PHASE_RUNNING |
                                     1 << LANEPOOL_I_PHASE_CANCELLED | 1 << LANEPOOL_I_PHASE_DONE,
        [LANEPOOL_I_PHASE_RUNNING] = 1 << LANEPOOL_I_PHASE_PENDING |
                                     1 << LANEPOOL_I_PHASE_SUSPENDED | 1 << LANEPOOL_I_PHASE_DONE,
        [LANEPOOL_I_PHASE_SUSPENDED] = 1 << LANEPOOL_I_PHASE_RUNNING | 1 << LANEPOOL_I_PHASE_DONE,
        [LANEPOOL_I_PHASE_CANCELLED] = 1 << LANEPOOL_I_PHASE_DONE,
        [LANEPOOL_I_PHASE_DONE] = 1 << LANEPOOL_I_PHASE_PENDING,
    };
    return (following[from] >> to & 1) != 0;
}

#endif
