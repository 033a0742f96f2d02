/*
 * A progress bar on standard error, if that is a terminal.
 */
#ifndef LEDGERBATCH_WATCH_PROGRESS_H
#define LEDGERBATCH_WATCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    bool is_shown;
    uint64_t next_ns; /* the time of the next drawing */
    size_t total;
};

/* `is_wanted` is false if a live view is drawn instead. */
void progress_begin(struct progress *progress, size_t total, bool is_wanted);
void progress_draw(struct progress *progress, const char *what, size_t done);
/* Removes the bar. */
void progress_end(struct progress *progress);

#endif
