/*
 * A message: a request to the router. It goes through the inbox like a task, and the role's holder
 * carries it out in its turn.
 */
#ifndef LANEPOOL_SRC_TASK_MESSAGE_H
#define LANEPOOL_SRC_TASK_MESSAGE_H

#include "task/task.h"

struct lanepool_i_thread_record;
struct lanepool_i_grants;
typedef struct lanepool_i_message lanepool_i_message;

struct lanepool_i_message {
    lanepool_i_task node; /* its word says MESSAGE */
    bool urgent;          /* not held back behind a barrier; see barrier.h */
    /* Carries the request out. May free the message. */
    void (*carry_out)(lanepool_pool *pool, struct lanepool_i_thread_record *record,
                      lanepool_i_message *message, struct lanepool_i_grants *grants);
};

#endif
