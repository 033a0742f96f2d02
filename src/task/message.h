/*
 * A message to the router: it goes through the inbox like a task.
 */
#ifndef LANEPOOL_SRC_TASK_MESSAGE_H
#define LANEPOOL_SRC_TASK_MESSAGE_H

#include "task/task.h"

struct lanepool_i_thread_record;
struct lanepool_i_grants;
typedef struct lanepool_i_message lanepool_i_message;

/* An order to the router, which stands in the inbox like a task and is carried
 * out in its turn, by the role's holder. */
struct lanepool_i_message {
    lanepool_i_task node; /* its word says MESSAGE */
    bool urgent;          /* not to be held back behind a barrier; see barrier.h */
    /* May free the message. */
    void (*carry_out)(lanepool_pool *pool, struct lanepool_i_thread_record *record,
                      lanepool_i_message *message, struct lanepool_i_grants *grants);
};

#endif
