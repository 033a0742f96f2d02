/*
 * The state of a batch that processes of many machines run together, as a text.
 */
#ifndef LEDGERBATCH_REMOTE_STATUS_H
#define LEDGERBATCH_REMOTE_STATUS_H

#include "problem.h"

/* Prints how far the batch of a store is, and which processes work on it. Changes nothing. */
bool remote_status(const char *store, struct problem *problem);

#endif
