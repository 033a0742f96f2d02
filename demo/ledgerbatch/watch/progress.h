/*
 * A progress bar on standard error, when that is a terminal.
 */
#ifndef LEDGERBATCH_WATCH_PROGRESS_H
#define LEDGERBATCH_WATCH_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    bool is_shown;
    uint64_t next_ns; /* not drawn again before */
    size_t total;
};

/* `is_wanted` is false where something else is drawn. */
void progress_begin(struct progress *progress, size_t total, bool is_wanted);
void progress_draw(struct progress *progress, const char *what, size_t done);
/* Wipes the bar away. */
void progress_end(struct progress *progress);

#endif
