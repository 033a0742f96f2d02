/*
 * Stands in for two parts of ledgerbatch: the output files, whose names are only checked, and the
 * watching of a batch, which is left out.
 */
#ifndef TESTS_FUZZ_CHECKED_OUTPUTS_H
#define TESTS_FUZZ_CHECKED_OUTPUTS_H

#include <stdbool.h>

/* Returns whether a set of outputs was finished since the last call. */
bool checked_outputs_finished(void);

#endif
