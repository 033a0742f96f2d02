/*
 * What a run is told from outside while it waits: to end, to stop for a while, that the window has
 * another size.
 */
#ifndef LANEVIEW_SIGNALS_H
#define LANEVIEW_SIGNALS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * From now on these signals only arrive inside signals_wait(), and on this thread: threads that
 * are made later never see them.
 */
void signals_hold(void);

/* Waits so long, until `file` can be read (-1: no file), or for a signal. True: it can be read. */
bool signals_wait(int file, uint64_t ns);

/* SIGINT, SIGTERM or SIGHUP, whichever came last; 0: none. */
int signals_end(void);

/* Whether these have come since the last question. */
bool signals_take_resize(void);
bool signals_take_stop(void);

/* Ends the process as the signal would have done: for when everything is put away. */
void signals_die(int signal);

#endif
