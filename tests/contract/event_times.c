/* The times of events are those of the monotonic clock, for every reader, at any time. */
#define _POSIX_C_SOURCE 200809L
#include <time.h>

#include "support/step.h"
#include "support/test.h"

/* EXACT_NS: how much a time may differ from the clock (trace.h). */
enum { ROUNDS = 60, EVENTS_MAX = 1 << 12, EXACT_NS = 1000000 };

/* The events that one reader has read. */
struct reading {
    lanepool_trace_reader *reader;
    size_t count;
    lanepool_event events[EVENTS_MAX];
};

static struct reading often, seldom;

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void open_reading(struct reading *reading, lanepool_pool *pool)
{
    reading->count = 0;
    expect_ok(lanepool_trace_open(pool, &reading->reader));
}

static void read_on(struct reading *reading)
{
    size_t count;

    expect_ok(lanepool_trace_read(reading->reader, &reading->events[reading->count],
                                  EVENTS_MAX - reading->count, &count));
    reading->count += count;
    expect(reading->count < EVENTS_MAX);
}

/* One reads after the other: each thread's events are read in the order in which it wrote them. */
static lanepool_pool *one_worker(void)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.trace_events = EVENTS_MAX;
    return pool_make_with(&options);
}

static void run_one(lanepool_pool *pool, struct step *step)
{
    *step = (struct step){ 0 };
    expect_ok(step_submit_on(pool, step, 1));
    pool_settle(pool);
}

static const lanepool_event *event_of(const struct reading *reading, lanepool_event_type type,
                                      const struct step *step)
{
    const lanepool_event *found = NULL;

    for (size_t i = 0; i < reading->count && found == NULL; i++) {
        if (reading->events[i].type == type && reading->events[i].task == step->ticket) {
            found = &reading->events[i];
        }
    }
    expect(found != NULL);
    return found;
}

static bool lies_between(uint64_t time_ns, uint64_t first_ns, uint64_t last_ns)
{
    return time_ns + EXACT_NS >= first_ns && time_ns <= last_ns + EXACT_NS;
}

/* Events are read at once, and long afterwards. */
Test(event_times, a_time_lies_where_the_clock_was)
{
    static struct step steps[ROUNDS];
    uint64_t began_ns[ROUNDS], ended_ns[ROUNDS];
    lanepool_pool *pool = one_worker();

    open_reading(&often, pool);
    open_reading(&seldom, pool);
    for (int i = 0; i < ROUNDS; i++) {
        began_ns[i] = clock_ns();
        run_one(pool, &steps[i]);
        ended_ns[i] = clock_ns();
        read_on(&often);
    }
    read_on(&seldom);
    for (int i = 0; i < ROUNDS; i++) {
        for (int which = 0; which < 2; which++) {
            const struct reading *reading = which == 0 ? &often : &seldom;
            uint64_t start_ns = event_of(reading, LANEPOOL_EVENT_START, &steps[i])->time_ns;
            uint64_t end_ns = event_of(reading, LANEPOOL_EVENT_END, &steps[i])->time_ns;
            expect(lies_between(start_ns, began_ns[i], ended_ns[i]));
            expect(lies_between(end_ns, began_ns[i], ended_ns[i]));
        }
    }
    lanepool_trace_close(often.reader);
    lanepool_trace_close(seldom.reader);
    pool_end(pool);
}

Test(event_times, a_threads_times_never_go_back_from_one_read_to_the_next)
{
    static struct step step;
    uint64_t last_ns[2] = { 0, 0 }; /* of the worker and of the submitter */
    lanepool_pool *pool = one_worker();

    open_reading(&often, pool);
    for (int i = 0; i < ROUNDS; i++) {
        run_one(pool, &step);
        read_on(&often);
    }
    for (size_t i = 0; i < often.count; i++) {
        uint64_t *last = &last_ns[often.events[i].thread >= LANEPOOL_EVENT_OUTSIDE];
        expect(often.events[i].time_ns >= *last);
        *last = often.events[i].time_ns;
    }
    expect(last_ns[0] > 0 && last_ns[1] > 0);
    lanepool_trace_close(often.reader);
    pool_end(pool);
}

static void expect_same_times(const struct step *step)
{
    static const lanepool_event_type types[] = { LANEPOOL_EVENT_ROUTE, LANEPOOL_EVENT_ENTER,
                                                 LANEPOOL_EVENT_READY, LANEPOOL_EVENT_START,
                                                 LANEPOOL_EVENT_END,   LANEPOOL_EVENT_RELEASE };

    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        expect_eq(event_of(&often, types[i], step)->time_ns,
                  event_of(&seldom, types[i], step)->time_ns);
    }
}

Test(event_times, readers_that_take_turns_agree)
{
    static struct step steps[ROUNDS];
    lanepool_pool *pool = one_worker();

    open_reading(&often, pool);
    open_reading(&seldom, pool);
    for (int i = 0; i < ROUNDS; i++) {
        run_one(pool, &steps[i]);
        read_on(i % 7 == 6 ? &seldom : &often);
    }
    read_on(&often);
    read_on(&seldom);
    for (int i = 0; i < ROUNDS; i++) {
        expect_same_times(&steps[i]);
    }
    lanepool_trace_close(often.reader);
    lanepool_trace_close(seldom.reader);
    pool_end(pool);
}
