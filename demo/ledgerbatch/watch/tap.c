/* Owns the thread that reads the events of a pool. */
#include "watch/tap.h"

#include <stdlib.h>
#include <time.h>

#include "memory.h"

#define EVENTS_AT_ONCE 4096
/* The pause between two reads. A ring stores the events of many such pauses. */
#define PAUSE_NS 2000000

static bool trace_problem(struct problem *problem, lanepool_status status)
{
    return problem_set(problem, EXIT_CODE_IO, "the pool's events cannot be read: %s",
                       lanepool_status_text(status));
}

static void *read_events(void *context)
{
    struct tap *tap = context;
    const struct timespec pause = { 0, PAUSE_NS };
    while (tap->status == LANEPOOL_OK) {
        /* Read before the events: if the pool had ended, no events can follow these. */
        bool was_over = atomic_load(&tap->is_over);
        size_t count = 0;
        tap->status = lanepool_trace_read(tap->reader, tap->events, EVENTS_AT_ONCE, &count);
        tap->take(tap->context, tap->events, count);
        if (count == 0 && was_over) {
            break;
        }
        if (count == 0) {
            nanosleep(&pause, NULL);
        }
    }
    return NULL;
}

bool tap_start(struct tap *tap, lanepool_pool *pool, tap_take take, void *context,
               struct problem *problem)
{
    *tap = (struct tap){ .take = take, .context = context };
    atomic_init(&tap->is_over, false);
    lanepool_status status = lanepool_trace_open(pool, &tap->reader);
    if (status != LANEPOOL_OK) {
        return trace_problem(problem, status);
    }
    tap->events = memory_zeroed(EVENTS_AT_ONCE, sizeof *tap->events);
    if (pthread_create(&tap->thread, NULL, read_events, tap) != 0) {
        lanepool_trace_close(tap->reader);
        free(tap->events);
        return problem_set(problem, EXIT_CODE_IO,
                           "the thread that reads the pool's events cannot be started");
    }
    return true;
}

bool tap_end(struct tap *tap, uint64_t *missed, struct problem *problem)
{
    atomic_store(&tap->is_over, true);
    pthread_join(tap->thread, NULL);
    *missed = lanepool_trace_missed(tap->reader);
    lanepool_trace_close(tap->reader);
    free(tap->events);
    return tap->status == LANEPOOL_OK || trace_problem(problem, tap->status);
}
