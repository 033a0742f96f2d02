/*
 * The state of a batch that processes of many machines run together, as a text.
 */
#ifndef LEDGERBATCH_REMOTE_STATUS_H
#define LEDGERBATCH_REMOTE_STATUS_H

#include <stdint.h>

#include "problem.h"

/*
 * Prints how far the batch of a store is, and which processes work on it; and of the task with this
 * number in the store, unless it is 0, why it is not done. Changes nothing of the batch.
 */
bool remote_status(const char *store, uint64_t task, struct problem *problem);

#endif
