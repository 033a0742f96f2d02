/* The events of a pool. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "support/event_judge.h"
#include "support/step.h"
#include "support/test.h"

enum { EVENTS = 1 << 16, READ_MAX = 1 << 12, SUBMITTERS = 4 };

static lanepool_pool *traced_pool(unsigned workers, size_t events)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = workers;
    options.trace_events = events;
    return pool_make_with(&options);
}

static lanepool_trace_reader *open_reader(lanepool_pool *pool)
{
    lanepool_trace_reader *reader;

    expect_ok(lanepool_trace_open(pool, &reader));
    return reader;
}

/* Reads all events that exist now; they fit into `events`. */
static size_t read_all(lanepool_trace_reader *reader, lanepool_event *events)
{
    size_t count;

    expect_ok(lanepool_trace_read(reader, events, READ_MAX, &count));
    expect(count < READ_MAX);
    return count;
}

/* Returns event number `which` of the type and the task; NULL if there are not that many. */
static const lanepool_event *find(const lanepool_event *events, size_t count,
                                  lanepool_event_type type, uint64_t task, int which)
{
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == type && events[i].task == task && which-- == 0) {
            return &events[i];
        }
    }
    return NULL;
}

static uint32_t count_of(const lanepool_event *events, size_t count, lanepool_event_type type)
{
    uint32_t found = 0;

    for (size_t i = 0; i < count; i++) {
        found += events[i].type == type;
    }
    return found;
}

Test(trace, a_pool_without_rings_has_no_events)
{
    lanepool_trace_reader *reader;
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    expect_status(lanepool_trace_open(pool, &reader), LANEPOOL_INVALID);
    expect(reader == NULL);
    expect_status(lanepool_trace_choose(pool, 0, 1), LANEPOOL_INVALID);
    pool_end(pool);
}

Test(trace, wrong_arguments_are_refused)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_trace_reader *reader;
    lanepool_event event;
    size_t count = 1;
    lanepool_pool *pool = traced_pool(1, 8);

    expect_status(lanepool_trace_open(NULL, &reader), LANEPOOL_INVALID);
    expect_status(lanepool_trace_open(pool, NULL), LANEPOOL_INVALID);
    reader = open_reader(pool);
    expect_status(lanepool_trace_read(NULL, &event, 1, &count), LANEPOOL_INVALID);
    expect_eq(count, 0);
    expect_status(lanepool_trace_read(reader, NULL, 1, &count), LANEPOOL_INVALID);
    expect_status(lanepool_trace_read(reader, &event, 1, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_trace_choose(NULL, 0, 1), LANEPOOL_INVALID);
    expect_status(lanepool_trace_choose(pool, 0, 0), LANEPOOL_INVALID);
    expect_status(lanepool_trace_choose(pool, 0, 12), LANEPOOL_INVALID);
    lanepool_trace_close(reader);
    lanepool_trace_close(NULL);
    pool_end(pool);
    options.trace_events = LANEPOOL_TRACE_EVENTS_MAX + 1;
    expect_status(lanepool_pool_create(&options, &pool), LANEPOOL_INVALID);
}

Test(trace, a_task_leaves_its_events_in_order)
{
    static const lanepool_event_type wanted[] = { LANEPOOL_EVENT_SUBMIT, LANEPOOL_EVENT_ROUTE,
                                                  LANEPOOL_EVENT_ENTER,  LANEPOOL_EVENT_READY,
                                                  LANEPOOL_EVENT_START,  LANEPOOL_EVENT_END,
                                                  LANEPOOL_EVENT_RELEASE };
    lanepool_event events[READ_MAX];
    struct step step = { .code = 7 };
    lanepool_claim claim = lanepool_shared(42);
    lanepool_task task = step_task(&step, &claim, 1);
    lanepool_pool *pool = traced_pool(1, EVENTS);
    lanepool_trace_reader *reader = open_reader(pool);
    size_t place = 0;

    task.tag = 3;
    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    size_t count = read_all(reader, events);
    for (size_t i = 0; i < count; i++) {
        if (events[i].type == LANEPOOL_EVENT_SLEEP || events[i].type == LANEPOOL_EVENT_WAKE) {
            continue;
        }
        expect(place < 7);
        expect_eq(events[i].type, wanted[place]);
        expect(i == 0 || events[i].time_ns >= events[i - 1].time_ns);
        expect_eq(events[i].task, place == 0 ? 0 : step.ticket);
        place++;
    }
    expect_eq(place, 7);
    const lanepool_event *submit = find(events, count, LANEPOOL_EVENT_SUBMIT, 0, 0);
    const lanepool_event *route = find(events, count, LANEPOOL_EVENT_ROUTE, step.ticket, 0);
    const lanepool_event *enter = find(events, count, LANEPOOL_EVENT_ENTER, step.ticket, 0);
    expect(submit->thread >= LANEPOOL_EVENT_OUTSIDE);
    expect_eq(route->object, submit->object);
    expect_eq(route->detail, 3);
    expect_eq(enter->object, 42);
    expect_eq(enter->object_type, LANEPOOL_EVENT_LANE_ID);
    expect_eq(enter->detail, LANEPOOL_EVENT_SHARED | LANEPOOL_EVENT_GRANTED);
    expect_eq(lanepool_event_mode(enter->detail), LANEPOOL_SHARED);
    expect_eq(find(events, count, LANEPOOL_EVENT_START, step.ticket, 0)->thread, 0);
    expect_eq(find(events, count, LANEPOOL_EVENT_END, step.ticket, 0)->detail, LANEPOOL_FAILED);
    lanepool_trace_close(reader);
    pool_end(pool);
}

Test(trace, a_latched_rollup_is_seen_to_arrive)
{
    lanepool_event events[READ_MAX];
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step rollup = { 0 };
    struct step witness = { .gate = &gate };
    lanepool_pool *pool = traced_pool(2, EVENTS);
    lanepool_trace_reader *reader = open_reader(pool);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit_rollup(pool, &rollup, 1, 2));
    expect_ok(step_submit_on(pool, &witness, 3));
    expect(gate_await(&gate, 1)); /* the rollup was submitted before, and is routed */
    gate_open(&gate, 2);
    pool_settle(pool);
    size_t count = read_all(reader, events);
    const lanepool_event *first = find(events, count, LANEPOOL_EVENT_ENTER, rollup.ticket, 0);
    const lanepool_event *second = find(events, count, LANEPOOL_EVENT_ENTER, rollup.ticket, 1);
    const lanepool_event *arrive = find(events, count, LANEPOOL_EVENT_ARRIVE, rollup.ticket, 0);
    const lanepool_event *release = find(events, count, LANEPOOL_EVENT_RELEASE, holder.ticket, 0);
    const lanepool_event *ready = find(events, count, LANEPOOL_EVENT_READY, rollup.ticket, 0);
    expect_eq(first->object, 1);
    expect_eq(first->detail, 0);
    expect_eq(second->object, 2);
    expect_eq(second->detail, LANEPOOL_EVENT_GRANTED);
    expect_eq(lanepool_event_mode(second->detail), LANEPOOL_EXCLUSIVE);
    expect_eq(arrive->object, 1);
    expect(release < arrive && arrive < ready);
    expect(find(events, count, LANEPOOL_EVENT_ARRIVE, rollup.ticket, 1) == NULL);
    lanepool_trace_close(reader);
    gate_fini(&gate);
    pool_end(pool);
}

/* From lanepool_trace_choose() on, only submits are recorded, so only this thread's ring overflows.
 * The workers' rings hold all events that they wrote before. */
Test(trace, overwritten_events_are_counted_exactly)
{
    enum { TASKS = 5000 };
    static struct step steps[TASKS];
    lanepool_event event;
    lanepool_pool *pool = traced_pool(2, 16);
    lanepool_trace_reader *reader = open_reader(pool);
    uint64_t read = 0;
    size_t count;

    expect_ok(lanepool_trace_choose(pool, 1u << LANEPOOL_EVENT_SUBMIT, 1));
    for (uint32_t i = 0; i < TASKS; i++) {
        expect_ok(step_submit_on(pool, &steps[i], i % 7));
    }
    pool_settle(pool);
    do {
        expect_ok(lanepool_trace_read(reader, &event, 1, &count));
        read += count > 0 && event.type == LANEPOOL_EVENT_SUBMIT;
    } while (count > 0);
    expect(read >= 16 && read < 32);
    expect_eq(read + lanepool_trace_missed(reader), TASKS);
    lanepool_trace_close(reader);
    pool_end(pool);
}

Test(trace, a_sample_of_the_tasks_can_be_recorded)
{
    enum { TASKS = 1000, EVERY = 64 };
    static struct step steps[TASKS];
    static lanepool_event events[READ_MAX];
    lanepool_pool *pool = traced_pool(2, EVENTS);
    lanepool_trace_reader *reader = open_reader(pool);
    uint32_t chosen = 0;

    expect_ok(lanepool_trace_choose(pool, UINT32_MAX, EVERY));
    for (uint32_t i = 0; i < TASKS; i++) {
        expect_ok(step_submit_on(pool, &steps[i], i % 7));
    }
    pool_settle(pool);
    for (uint32_t i = 0; i < TASKS; i++) {
        chosen += steps[i].ticket % EVERY == 0;
    }
    size_t count = read_all(reader, events);
    expect_eq(count_of(events, count, LANEPOOL_EVENT_SUBMIT), 0);
    expect_eq(count_of(events, count, LANEPOOL_EVENT_ROUTE), chosen);
    expect_eq(count_of(events, count, LANEPOOL_EVENT_READY), chosen);
    expect_eq(count_of(events, count, LANEPOOL_EVENT_END), chosen);
    expect_eq(count_of(events, count, LANEPOOL_EVENT_RELEASE), chosen);
    for (size_t i = 0; i < count; i++) {
        expect_eq(events[i].task % EVERY, 0);
    }
    lanepool_trace_close(reader);
    pool_end(pool);
}

/* --- many threads --- */

struct submitter {
    lanepool_pool *pool;
    struct step *steps;
    uint32_t count;
    lanepool_status status;
};

static void *submit_all(void *argument)
{
    struct submitter *submitter = argument;

    for (uint32_t i = 0; i < submitter->count && submitter->status == LANEPOOL_OK; i++) {
        submitter->status =
            step_submit_rollup(submitter->pool, &submitter->steps[i], i % 11, 5 + i % 3);
    }
    return NULL;
}

/* Reads events while they are written. */
static void watch_submitters(const lanepool_options *options)
{
    enum { EACH = 400 };
    static struct step steps[SUBMITTERS][EACH];
    struct submitter submitters[SUBMITTERS];
    pthread_t threads[SUBMITTERS];
    lanepool_pool *pool = pool_make_with(options);
    lanepool_trace_reader *reader = open_reader(pool);
    struct event_judge *judge = event_judge_create();

    memset(steps, 0, sizeof steps);
    for (int i = 0; i < SUBMITTERS; i++) {
        submitters[i] = (struct submitter){ pool, steps[i], EACH, LANEPOOL_OK };
        expect_eq(pthread_create(&threads[i], NULL, submit_all, &submitters[i]), 0);
    }
    while (event_judge_tasks(judge) < SUBMITTERS * EACH && event_judge_problem(judge) == NULL) {
        expect(event_judge_read(judge, reader));
    }
    for (int i = 0; i < SUBMITTERS; i++) {
        pthread_join(threads[i], NULL);
        expect_ok(submitters[i].status);
    }
    pool_settle(pool);
    expect(event_judge_read(judge, reader));
    expect_eq(lanepool_trace_missed(reader), 0);
    const char *problem = event_judge_end(judge);
    if (problem != NULL) {
        test_fail(__FILE__, __LINE__, "%s", problem);
    }
    expect_eq(event_judge_tasks(judge), SUBMITTERS * EACH);
    event_judge_destroy(judge);
    lanepool_trace_close(reader);
    pool_end(pool);
}

Test(trace, each_tasks_events_come_in_order_while_many_threads_write)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 3;
    options.trace_events = EVENTS;
    watch_submitters(&options);
}

Test(trace, lanes_of_workers_are_seen_too)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 3;
    options.layout = LANEPOOL_PER_WORKER;
    options.trace_events = EVENTS;
    watch_submitters(&options);
}

/* --- a rule of the program --- */

/* A rule by which all tasks conflict, except with the one whose context is `user`. */
static bool conflict_but_for(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    return a->context == user || b->context == user;
}

Test(trace, with_a_rule_tasks_stand_behind_tasks)
{
    lanepool_event events[READ_MAX];
    struct gate gate;
    struct step first = { .gate = &gate };
    struct step second = { 0 };
    struct step witness = { .gate = &gate };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 2;
    options.is_compatible = conflict_but_for;
    options.user = &witness;
    options.trace_events = EVENTS;
    gate_init(&gate);
    lanepool_pool *pool = pool_make_with(&options);
    lanepool_trace_reader *reader = open_reader(pool);
    expect_ok(step_submit(pool, &first));
    expect(gate_await(&gate, 1));
    expect_ok(step_submit(pool, &second));
    expect_ok(step_submit(pool, &witness));
    expect(gate_await(&gate, 1)); /* the second task was submitted before, and is routed */
    gate_open(&gate, 2);
    pool_settle(pool);
    size_t count = read_all(reader, events);
    const lanepool_event *enter = find(events, count, LANEPOOL_EVENT_ENTER, second.ticket, 0);
    const lanepool_event *arrive = find(events, count, LANEPOOL_EVENT_ARRIVE, second.ticket, 0);
    expect_eq(enter->object_type, LANEPOOL_EVENT_LANE_TASK);
    expect_eq(enter->object, first.ticket);
    expect_eq(arrive->object, first.ticket);
    expect(find(events, count, LANEPOOL_EVENT_END, first.ticket, 0) < arrive);
    lanepool_trace_close(reader);
    gate_fini(&gate);
    pool_end(pool);
}

/* --- the end of a pool --- */

Test(trace, what_does_not_run_is_cancelled)
{
    enum { WAITING = 5 };
    lanepool_event events[READ_MAX];
    struct gate gate;
    struct step holder = { .gate = &gate };
    struct step waiting[WAITING] = { { 0 } };
    lanepool_pool *pool = traced_pool(1, EVENTS);
    lanepool_trace_reader *reader = open_reader(pool);

    gate_init(&gate);
    expect_ok(step_submit_on(pool, &holder, 1));
    expect(gate_await(&gate, 1));
    for (int i = 0; i < WAITING; i++) {
        expect_ok(step_submit_on(pool, &waiting[i], 1));
    }
    expect_ok(lanepool_pool_shutdown_now(pool, NULL, NULL));
    gate_open(&gate, 1);
    expect_ok(lanepool_pool_await(pool, LANEPOOL_FOREVER));
    size_t count = read_all(reader, events);
    expect_eq(count_of(events, count, LANEPOOL_EVENT_START), 1);
    expect_eq(count_of(events, count, LANEPOOL_EVENT_CANCEL), WAITING);
    for (int i = 0; i < WAITING; i++) {
        uint64_t ticket = holder.ticket + 1 + (uint64_t)i;
        expect(find(events, count, LANEPOOL_EVENT_CANCEL, ticket, 0) != NULL);
    }
    lanepool_trace_close(reader);
    gate_fini(&gate);
    pool_end(pool);
}

/* --- names --- */

/* Joins the parts of a lane's name; it is the lane that the task entered. */
static size_t name_of(const lanepool_event *events, size_t count, uint64_t task, char *name)
{
    size_t size = 0;

    const lanepool_event *enter = find(events, count, LANEPOOL_EVENT_ENTER, task, 0);

    for (size_t i = 0; i < count; i++) {
        if (events[i].type != LANEPOOL_EVENT_NAME || events[i].object != enter->object) {
            continue;
        }
        size = events[i].detail >> 16;
        for (size_t at = 0; at < 8; at++) {
            name[(events[i].detail & 0xFFFF) + at] = (char)(events[i].task >> (8 * at));
        }
    }
    return size;
}

static size_t client_name(void *user, lanepool_key key, char *text, size_t size)
{
    int length = snprintf(text, size, "%s %llu", (const char *)user, (unsigned long long)key.id);

    return (size_t)length;
}

Test(trace, byte_strings_name_their_lanes)
{
    lanepool_event events[READ_MAX];
    char name[LANEPOOL_EVENT_NAME_MAX + 8] = { 0 };
    struct step step = { 0 };
    lanepool_claim claim =
        lanepool_claim_of(lanepool_key_string("Assets:Bank:Checking"), LANEPOOL_EXCLUSIVE);
    lanepool_task task = step_task(&step, &claim, 1);
    lanepool_pool *pool = traced_pool(1, EVENTS);
    lanepool_trace_reader *reader = open_reader(pool);

    expect_ok(lanepool_pool_submit(pool, &task));
    pool_settle(pool);
    size_t count = read_all(reader, events);
    expect_eq(name_of(events, count, step.ticket, name), strlen("Assets:Bank:Checking"));
    expect(strcmp(name, "Assets:Bank:Checking") == 0);
    lanepool_trace_close(reader);
    pool_end(pool);
}

Test(trace, a_program_can_name_its_keys)
{
    static char user[] = "client";
    lanepool_event events[READ_MAX];
    char name[LANEPOOL_EVENT_NAME_MAX + 8] = { 0 };
    struct step step = { 0 };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.workers = 1;
    options.trace_events = EVENTS;
    options.key_name = client_name;
    options.user = user;
    lanepool_pool *pool = pool_make_with(&options);
    lanepool_trace_reader *reader = open_reader(pool);
    expect_ok(step_submit_on(pool, &step, 17));
    pool_settle(pool);
    size_t count = read_all(reader, events);
    expect_eq(name_of(events, count, step.ticket, name), strlen("client 17"));
    expect(strcmp(name, "client 17") == 0);
    lanepool_trace_close(reader);
    pool_end(pool);
}

Test(trace, a_tag_out_of_range_is_refused)
{
    struct step step = { 0 };
    lanepool_task task = step_task(&step, NULL, 0);
    lanepool_pool *pool = pool_make(1, LANEPOOL_PER_KEY);

    task.tag = LANEPOOL_TAG_MAX + 1;
    expect_status(lanepool_pool_submit(pool, &task), LANEPOOL_INVALID);
    pool_end(pool);
}
