/* Owns what status says about a run that has not ended. */
#include "inspect/running.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define MS_PER_SECOND 1000
#define TIME_SIZE     sizeof "YYYY-MM-DD hh:mm:ss"

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / 1000000;
}

static void write_time(char text[TIME_SIZE], int64_t ms)
{
    struct tm parts;
    time_t seconds = (time_t)(ms / MS_PER_SECOND);
    text[0] = 0;
    if (gmtime_r(&seconds, &parts)) {
        (void)strftime(text, TIME_SIZE, "%Y-%m-%d %H:%M:%S", &parts);
    }
}

/* Prints a time that is left or over, which is never negative: the clock may have been set. */
static void print_seconds(const char *before, int64_t ms, const char *after)
{
    int64_t seconds = ms > 0 ? (ms + MS_PER_SECOND - 1) / MS_PER_SECOND : 0;
    if (seconds < 120) {
        printf("%s%" PRId64 " s%s", before, seconds, after);
    } else {
        printf("%s%" PRId64 " min%s", before, (seconds + 59) / 60, after);
    }
}

/* Prints the rate from the begin of this run to its last commit, and what follows from it. */
static void print_rate(const struct store_activity *activity, size_t left)
{
    int64_t taken_ms = activity->commit_ms - activity->begin_ms;
    if (activity->done_now <= activity->done_before || taken_ms <= 0) {
        puts("rate: not known yet");
        return;
    }
    double rate = (double)(activity->done_now - activity->done_before) / (double)taken_ms;
    printf("rate: %.0f tasks a second", rate * MS_PER_SECOND);
    if (left > 0) {
        print_seconds("; time left: about ", (int64_t)((double)left / rate), "\n");
    } else {
        puts("; the outputs are being written");
    }
}

static void print_running(const struct store_activity *activity, size_t left)
{
    char time[TIME_SIZE];
    write_time(time, activity->begin_ms);
    printf("running: process %ld, since %s UTC\n", activity->process, time);
    print_rate(activity, left);
    if (activity->failed_count > 0) {
        printf("failed so far: %" PRIu32 "; held so far: %" PRIu32 "\n", activity->failed_count,
               activity->held_count);
    }
    write_time(time, activity->commit_ms);
    printf("last commit: %s UTC", time);
    print_seconds(", ", now_ms() - activity->commit_ms, " ago\n");
}

void running_print(const struct store_activity *activity, size_t left)
{
    if (activity->was_killed) {
        puts("the last run did not end by itself; to continue it: the same command again");
    } else if (activity->is_running && !activity->is_known) {
        puts("running: it has not said yet how far it is");
    } else if (activity->is_running) {
        print_running(activity, left);
    }
}
