/*
 * Owns the trace. Process 1 has a thread for each worker, process 2 has one for each lane. A lane
 * that tasks share at the same time has several threads, because slices of one thread must not
 * overlap.
 */
#include "draw/chrome.h"

#include <stdlib.h>

#include "memory.h"
#include "model/describe.h"
#include "model/spans.h"

#define WORKERS_PID 1
#define LANES_PID   2

/* The threads of the current lane, and until when each is in use. */
struct slots {
    uint64_t *ends;
    unsigned *threads;
    size_t count, end_capacity, thread_capacity;
};

struct trace {
    struct text *json;
    const struct model *model;
    bool has_event;
    size_t *lanes;           /* in the order of their names */
    unsigned lane_threads;   /* the number of threads in process 2 */
    unsigned *entry_threads; /* for each entry with a span, its thread in process 2; 0: none */
    struct slots slots;      /* of the current lane */
};

/* Writes a time in microseconds; nanoseconds follow the point. */
static void add_time(struct text *json, const char *name, uint64_t ns)
{
    text_add(json, ",\"%s\":%llu.%03u", name, (unsigned long long)(ns / 1000),
             (unsigned)(ns % 1000));
}

static void begin_event(struct trace *trace, const char *phase, unsigned pid, unsigned thread)
{
    text_add(trace->json, "%s\n{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u", trace->has_event ? "," : "",
             phase, pid, thread);
    trace->has_event = true;
}

static void add_string(struct text *json, const char *name, const char *value)
{
    text_add(json, "\"%s\":", name);
    text_add_quoted(json, value);
}

/* --- names of processes and threads --- */

static void add_metadata(struct trace *trace, const char *what, unsigned pid, unsigned thread,
                         const char *name)
{
    begin_event(trace, "M", pid, thread);
    text_add(trace->json, ",\"name\":\"%s\",\"args\":{", what);
    add_string(trace->json, "name", name);
    text_add(trace->json, "}}");
}

static void add_thread(struct trace *trace, unsigned pid, unsigned thread, const char *name,
                       size_t place)
{
    add_metadata(trace, "thread_name", pid, thread, name);
    begin_event(trace, "M", pid, thread);
    text_add(trace->json, ",\"name\":\"thread_sort_index\",\"args\":{\"sort_index\":%zu}}", place);
}

/* --- slices --- */

static void begin_slice(struct trace *trace, unsigned pid, unsigned thread, uint64_t from,
                        uint64_t to)
{
    begin_event(trace, "X", pid, thread);
    add_time(trace->json, "ts", from);
    add_time(trace->json, "dur", to - from);
}

static void end_slice(struct trace *trace, const char *category, const char *name,
                      const struct text *why)
{
    text_add(trace->json, ",");
    add_string(trace->json, "cat", category);
    text_add(trace->json, ",");
    add_string(trace->json, "name", name);
    if (why->size > 0) {
        text_add(trace->json, ",\"args\":{");
        add_string(trace->json, "why", why->data);
        text_add(trace->json, "}");
    }
    text_add(trace->json, "}");
}

/* Adds the lanes of a task as arguments of its slice. */
static void add_task_arguments(struct trace *trace, size_t task, size_t attempt)
{
    const struct model *model = trace->model;
    const char *before = "";
    text_add(trace->json, ",\"args\":{\"ticket\":%llu,\"attempt\":%zu,\"status\":%u,\"lanes\":[",
             (unsigned long long)model->replay->tasks[task].ticket, attempt + 1,
             model->replay->tasks[task].status);
    size_t index = model->replay->tasks[task].first_entry;
    for (; index != LANEPOOL_REPLAY_NONE; index = model->replay->entries[index].next_of_task) {
        if (model->replay->entries[index].lane != LANEPOOL_REPLAY_NONE) {
            text_add(trace->json, "%s", before);
            text_add_quoted(trace->json, model->lanes[model->replay->entries[index].lane].name);
            before = ",";
        }
    }
    text_add(trace->json, "]}}");
}

static void add_run(struct trace *trace, unsigned pid, unsigned thread, uint64_t from, uint64_t to,
                    size_t task)
{
    struct text name = { 0 };
    describe_task(&name, trace->model, task);
    begin_slice(trace, pid, thread, from, to);
    text_add(trace->json, ",\"cat\":\"running\",");
    add_string(trace->json, "name", name.data);
    add_task_arguments(trace, task, model_attempt_at(trace->model, task, from));
    text_fini(&name);
}

/* Adds the visit of a lane by a cut. */
static void add_visit(struct trace *trace, unsigned pid, unsigned thread, uint64_t from,
                      uint64_t to, size_t entry)
{
    struct text name = { 0 }, why = { 0 };
    describe_visit(&name, trace->model, entry);
    text_add(&why, "a cut visits the lane; all of its visits are one place in the order");
    begin_slice(trace, pid, thread, from, to);
    end_slice(trace, "visited", name.data, &why);
    text_fini(&name);
    text_fini(&why);
}

static void add_worker(struct trace *trace, unsigned index)
{
    const struct model_worker *worker = &trace->model->workers[index];
    struct text text = { 0 };
    text_add(&text, "worker %u", index);
    add_thread(trace, WORKERS_PID, index + 1, text.data, index);
    for (size_t i = 0; i < worker->span_count; i++) {
        const struct model_span *span = &worker->spans[i];
        uint64_t to = model_until(trace->model, span->to);
        if (span->kind == MODEL_RUNS && span->entry != LANEPOOL_REPLAY_NONE) {
            add_visit(trace, WORKERS_PID, index + 1, span->from, to, span->entry);
        } else if (span->kind == MODEL_RUNS) {
            add_run(trace, WORKERS_PID, index + 1, span->from, to, span->task);
        } else if (span->kind == MODEL_BLOCKED) {
            text.size = 0;
            describe_idle(&text, trace->model, span);
            begin_slice(trace, WORKERS_PID, index + 1, span->from, to);
            end_slice(trace, "idle", "blocked", &text);
        }
    }
    text_fini(&text);
}

/* --- lanes --- */

/* Finds a thread of the lane that is free from a time on, or adds one. Returns its number among
 * the lane's threads. */
static size_t find_free_slot(struct trace *trace, size_t row, uint64_t from)
{
    struct slots *slots = &trace->slots;
    size_t slot = 0;
    while (slot < slots->count && slots->ends[slot] > from) {
        slot++;
    }
    if (slot == slots->count) {
        const char *name = trace->model->lanes[trace->lanes[row]].name;
        slots->ends = memory_grow(slots->ends, &slots->end_capacity, slot + 1, sizeof *slots->ends);
        slots->threads =
            memory_grow(slots->threads, &slots->thread_capacity, slot + 1, sizeof *slots->threads);
        slots->threads[slots->count++] = ++trace->lane_threads;
        add_thread(trace, LANES_PID, trace->lane_threads, name, row);
    }
    return slot;
}

static void add_lane_span(struct trace *trace, unsigned thread, const struct lane_span *span)
{
    static const char *const categories[] = { [LANE_LATCHED] = "latched",
                                              [LANE_READY] = "ready",
                                              [LANE_RETRYING] = "retried",
                                              [LANE_PARKED] = "parked" };
    struct text name = { 0 }, why = { 0 };
    if (span->kind == LANE_RUNS) {
        add_run(trace, LANES_PID, thread, span->from, span->to, span->task);
        return;
    }
    if (span->kind == LANE_VISITED) {
        add_visit(trace, LANES_PID, thread, span->from, span->to, span->entry);
        return;
    }
    describe_task(&name, trace->model, span->task);
    if (span->kind == LANE_LATCHED) {
        text_add(&name, ": ");
        describe_latch(&name, trace->model, span);
        text_add(&why, "the task at the head waits for its other lanes");
    } else if (span->kind == LANE_PARKED) {
        text_add(&name, ": parked");
        text_add(&why, "the task at the head has failed, and the lane is poisoned");
    } else if (span->kind == LANE_RETRYING) {
        text_add(&name, ": failed, attempt %zu follows", span->attempt + 2);
        text_add(&why, "the task at the head has failed, and will be retried");
    } else {
        text_add(&name, ": ready");
        text_add(&why, "the task at the head waits for a worker");
    }
    begin_slice(trace, LANES_PID, thread, span->from, span->to);
    end_slice(trace, categories[span->kind], name.data, &why);
    text_fini(&name);
    text_fini(&why);
}

/* Adds the spans of a lane. All spans of one entry are on the same thread. */
static void add_lane(struct trace *trace, size_t row, struct lane_spans *spans)
{
    size_t slot = 0, entry = LANEPOOL_REPLAY_NONE;
    trace->slots.count = 0;
    spans_of_lane(trace->model, trace->lanes[row], spans);
    for (size_t i = 0; i < spans->count; i++) {
        const struct lane_span *span = &spans->items[i];
        if (span->entry != entry) {
            entry = span->entry;
            slot = find_free_slot(trace, row, span->from);
        }
        trace->slots.ends[slot] = span->to;
        trace->entry_threads[entry] = trace->slots.threads[slot];
        add_lane_span(trace, trace->slots.threads[slot], span);
    }
}

/* --- arrows --- */

static void add_arrow_end(struct trace *trace, const char *phase, unsigned pid, unsigned thread,
                          uint64_t time, size_t id)
{
    begin_event(trace, phase, pid, thread);
    add_time(trace->json, "ts", time);
    text_add(trace->json, ",\"cat\":\"arrival\",\"name\":\"arrival\",\"id\":%zu%s}", id,
             *phase == 'f' ? ",\"bp\":\"e\"" : "");
}

/* The time at which the arrow of an entry begins: when a rollup is granted the lane, or when a cut
 * has visited it. */
static uint64_t begin_of_arrow(const struct model *model, size_t index)
{
    const lanepool_replay_entry *entry = &model->replay->entries[index];
    struct model_visits visits = model_visits_of(model, index);
    return visits.count > 0 ? visits.items[visits.count - 1].from : entry->arrive_ns;
}

/* Adds an arrow for each lane of a rollup or cut. It ends on the worker when the function is
 * called. */
static void add_arrows(struct trace *trace)
{
    const struct model *model = trace->model;
    for (size_t i = 0; i < model->replay->entry_count; i++) {
        const lanepool_replay_entry *entry = &model->replay->entries[i];
        const lanepool_replay_task *task = &model->replay->tasks[entry->task];
        const lanepool_replay_attempt first = model_attempt(model, entry->task, 0);
        if (!model_is_rollup_or_cut(task) || trace->entry_threads[i] == 0 ||
            first.start_ns == LANEPOOL_REPLAY_UNSEEN ||
            entry->arrive_ns == LANEPOOL_REPLAY_UNSEEN || first.thread >= LANEPOOL_EVENT_OUTSIDE) {
            continue;
        }
        uint64_t begin = begin_of_arrow(model, i);
        begin = begin < first.start_ns ? begin : first.start_ns;
        add_arrow_end(trace, "s", LANES_PID, trace->entry_threads[i], begin, i + 1);
        add_arrow_end(trace, "f", WORKERS_PID, first.thread + 1u, first.start_ns, i + 1);
    }
}

/* --- counters --- */

static void add_counter(struct trace *trace, const char *name, uint64_t time, size_t value)
{
    begin_event(trace, "C", WORKERS_PID, 0);
    add_time(trace->json, "ts", time);
    text_add(trace->json, ",\"name\":\"%s\",\"args\":{\"%s\":%zu}}", name, name, value);
}

struct counters {
    size_t pending, ready, latched, parked;
};

static struct counters read_counters(const struct model *model)
{
    return (struct counters){ model_pending(model), model->replay->counts[LANEPOOL_REPLAY_READY],
                              model->replay->latched,
                              model->replay->counts[LANEPOOL_REPLAY_PARKED] };
}

static void add_changed(struct trace *trace, uint64_t time, const struct counters *old,
                        const struct counters *new)
{
    if (new->pending != old->pending) {
        add_counter(trace, "pending tasks", time, new->pending);
    }
    if (new->ready != old->ready) {
        add_counter(trace, "ready tasks", time, new->ready);
    }
    if (new->latched != old->latched) {
        add_counter(trace, "latched entries", time, new->latched);
    }
    if (new->parked != old->parked) {
        add_counter(trace, "parked tasks", time, new->parked);
    }
}

/* Replays the events, and adds the last value of each counter at each moment. */
static void add_counters(struct trace *trace)
{
    const struct recording *recording = trace->model->recording;
    struct counters shown = { 0 }, now;
    struct model again;
    model_init(&again, recording, true);
    for (size_t i = 0; i < recording->event_count; i++) {
        uint64_t before = again.now;
        now = read_counters(&again);
        model_feed(&again, &recording->events[i]);
        if (again.now != before) {
            add_changed(trace, before, &shown, &now);
            shown = now;
        }
    }
    now = read_counters(&again);
    add_changed(trace, again.now, &shown, &now);
    model_fini(&again);
}

void chrome_write(struct text *json, const struct model *model)
{
    struct lane_spans spans = { 0 };
    struct trace trace = { .json = json, .model = model, .lanes = model_sorted_lanes(model) };
    trace.entry_threads = memory_zeroed(model->replay->entry_count, sizeof *trace.entry_threads);
    text_add(json,
             "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"missed events\":%llu,"
             "\"ends early\":%s},\"traceEvents\":[",
             (unsigned long long)model->recording->missed,
             model->recording->ends_early ? "true" : "false");
    add_metadata(&trace, "process_name", WORKERS_PID, 0, "workers");
    add_metadata(&trace, "process_name", LANES_PID, 0, "lanes");
    for (unsigned i = 0; i < model->recording->worker_count; i++) {
        add_worker(&trace, i);
    }
    for (size_t row = 0; row < model->replay->lane_count; row++) {
        add_lane(&trace, row, &spans);
    }
    add_arrows(&trace);
    add_counters(&trace);
    text_add(json, "\n]}\n");
    spans_fini(&spans);
    free(trace.lanes);
    free(trace.entry_threads);
    free(trace.slots.ends);
    free(trace.slots.threads);
}
