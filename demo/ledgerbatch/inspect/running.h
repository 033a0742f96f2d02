/*
 * The part of the status command about a run that has not ended.
 */
#ifndef LEDGERBATCH_INSPECT_RUNNING_H
#define LEDGERBATCH_INSPECT_RUNNING_H

#include "store/store.h"

/*
 * Prints how fast the run is that is posting now, how long it will take, what failed, and when it
 * committed last; or that the last run was killed. Prints nothing if neither is so. `left` tasks of
 * the batch are not done.
 */
void running_print(const struct store_activity *activity, size_t left);

#endif
