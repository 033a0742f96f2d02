/*
 * A flag for a program's event loop: a file descriptor that is readable while the flag is set. The
 * descriptor is opened when the program first asks for it. A lock, which the owner names, guards
 * the flag.
 */
#ifndef LANEPOOL_SRC_BASE_READY_FLAG_H
#define LANEPOOL_SRC_BASE_READY_FLAG_H

#include "lanepool/pool.h"
#include "platform/platform.h"

/* All zero: not set, not opened. Guard: L the owner's lock. */
typedef struct lanepool_i_ready_flag {
    bool is_set;    /* L */
    bool has_event; /* L */
    lanepool_i_event event;
} lanepool_i_ready_flag;

/* Under the lock: sets or clears the flag. */
void lanepool_i_ready_flag_put_locked(lanepool_i_ready_flag *flag, bool set);
/* Without the lock: returns the descriptor in *fd. Returns NO_RESOURCE if none can be opened. */
lanepool_status lanepool_i_ready_flag_fd(lanepool_i_ready_flag *flag, lanepool_i_mutex *lock,
                                         int *fd);
/* Closes the descriptor. */
void lanepool_i_ready_flag_fini(lanepool_i_ready_flag *flag);

#endif
