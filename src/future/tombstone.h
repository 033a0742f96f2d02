/*
 * The message that makes the router turn a cancelled task into a tombstone (cancel.c). A member has
 * one. For a task with only a future it is allocated when the task is cancelled.
 */
#ifndef LANEPOOL_SRC_FUTURE_TOMBSTONE_H
#define LANEPOOL_SRC_FUTURE_TOMBSTONE_H

#include "task/message.h"

/* Belongs to the canceller, then to the thread that carries it out. */
typedef struct lanepool_i_tombstone_message {
    lanepool_i_message message;
    lanepool_future *future; /* with one reference */
    bool is_allocated;       /* freed once it is carried out */
} lanepool_i_tombstone_message;

#endif
