/* Owns the progress bar. */
#include "watch/progress.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH 40
#define REDRAW_NS 100000000u

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void progress_begin(struct progress *progress, size_t total, bool is_wanted)
{
    bool is_shown = is_wanted && isatty(STDERR_FILENO) == 1;
    *progress = (struct progress){ .is_shown = is_shown, .total = total };
}

void progress_draw(struct progress *progress, const char *what, size_t done)
{
    uint64_t now = progress->is_shown ? now_ns() : 0;
    if (!progress->is_shown || progress->total == 0 || now < progress->next_ns) {
        return;
    }
    progress->next_ns = now + REDRAW_NS;
    char bar[BAR_WIDTH + 1];
    size_t filled = done * BAR_WIDTH / progress->total;
    for (size_t i = 0; i < BAR_WIDTH; i++) {
        bar[i] = i < filled ? '#' : '.';
    }
    bar[BAR_WIDTH] = 0;
    fprintf(stderr, "\r%s [%s] %3zu%%  %zu of %zu", what, bar, done * 100 / progress->total, done,
            progress->total);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->is_shown) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
}
