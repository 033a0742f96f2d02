/*
 * SIGTERM asks a batch to stop: it commits what is done, and ends.
 */
#ifndef LEDGERBATCH_BASE_STOP_H
#define LEDGERBATCH_BASE_STOP_H

#include <stdbool.h>

/* From here to stop_end() the signal does not end the program. */
void stop_begin(void);
void stop_end(void);

/* Returns whether the signal has come since stop_begin(). */
bool stop_is_asked(void);

#endif
