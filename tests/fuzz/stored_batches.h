/*
 * Batches in databases, in the states in which runs leave them: each is the bytes of a database,
 * and the options of the command that goes on with it.
 */
#ifndef TESTS_FUZZ_STORED_BATCHES_H
#define TESTS_FUZZ_STORED_BATCHES_H

#include "base/buffer.h"
#include "run/run_command.h"

enum { STORED_BATCH_COUNT = 8 };

/* Returns whether a batch follows another one. What that has left is checked by verify only. */
bool stored_batch_is_day(unsigned number);

/* Returns the bytes of a batch's database, which are made only once. Loose tables take any value.
 */
struct slice stored_batch(unsigned number, bool is_loose);

/*
 * Runs the batch on in the open memory database: a run or its retry, which is for all clients; of
 * the last two batches, which have days, the day or the next one.
 */
bool stored_batch_run_on(unsigned number, bool is_retry, struct problem *problem);

#endif
