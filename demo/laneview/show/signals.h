/*
 * Signals that a run receives while it waits: to end, to stop until it is continued, and that the
 * window's size has changed.
 */
#ifndef LANEVIEW_SIGNALS_H
#define LANEVIEW_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Blocks these signals outside signals_wait(). The calling thread alone receives them: threads that
 * are created later inherit the block.
 */
void signals_hold(void);

/* Waits until `ns` have passed, until `file` is readable (-1: no file), or for a signal. Returns
 * true if the file is readable. */
bool signals_wait(int file, uint64_t ns);

/* The last one of SIGINT, SIGTERM and SIGHUP; 0 if none has arrived. */
int signals_end(void);

/* Returns true if SIGWINCH or SIGTSTP has arrived since the last call. */
bool signals_take_resize(void);
bool signals_take_stop(void);

/* Ends the process by a signal, as its default action does. Call this last. */
void signals_die(int signal);

#endif
