/*
 * Owns the data of the page: arrays of numbers, one row after the other. Most numbers are
 * differences, which have few digits. A time is the difference to the last time before it that was
 * seen, and null if it was not seen itself. page/data.js reads them.
 */
#include <stdlib.h>

#include "draw/html.h"
#include "lanepool/status.h"
#include "memory.h"
#include "model/describe.h"
#include "model/spans.h"

#define STATUSES_NAMED 64 /* higher ones are only numbers */

struct data {
    struct text *json;
    const struct model *model;
    size_t *lanes; /* in the order of their rows */
    size_t *rows;  /* for each lane of the model, its row */
    bool has_item; /* the current array has an item */
};

/* --- items --- */

static void begin_item(struct data *data)
{
    if (data->has_item) {
        text_add_bytes(data->json, ",", 1);
    }
    data->has_item = true;
}

static void add_number(struct data *data, int64_t number)
{
    begin_item(data);
    text_add(data->json, "%lld", (long long)number);
}

static void add_time(struct data *data, uint64_t time, uint64_t *before)
{
    if (time == LANEPOOL_REPLAY_UNSEEN) {
        begin_item(data);
        text_add_bytes(data->json, "null", 4);
        return;
    }
    add_number(data, (int64_t)(time - *before));
    *before = time;
}

static void add_index(struct data *data, size_t index, size_t *before)
{
    add_number(data, (int64_t)(index - *before));
    *before = index;
}

static void begin_array(struct data *data)
{
    begin_item(data);
    text_add_bytes(data->json, "[", 1);
    data->has_item = false;
}

static void end_array(struct data *data)
{
    text_add_bytes(data->json, "]", 1);
    data->has_item = true;
}

static void begin_member(struct data *data, const char *name)
{
    text_add(data->json, ",\n\"%s\":[", name);
    data->has_item = false;
}

/* Adds a clean name without <, which could end the element that the data are in. */
static void add_name(struct text *json, const char *name)
{
    struct text quoted = { 0 };
    text_add_quoted(&quoted, name);
    for (size_t i = 0; i < quoted.size; i++) {
        if (quoted.data[i] == '<') {
            text_add(json, "\\u003c");
        } else {
            text_add_bytes(json, quoted.data + i, 1);
        }
    }
    text_fini(&quoted);
}

/* The number of a worker, or -1 for another thread. */
static int64_t worker_of(uint16_t thread)
{
    return thread < LANEPOOL_EVENT_OUTSIDE ? thread : -1;
}

/* --- tasks --- */

enum task_kind { KIND_TASK, KIND_ROLLUP, KIND_CUT, TASK_KINDS };

static enum task_kind kind_of(const lanepool_replay_task *task)
{
    return task->is_cut ? KIND_CUT : model_is_rollup(task) ? KIND_ROLLUP : KIND_TASK;
}

/* Adds [tag, name] for each pair of tag and kind of task, and sets the index of each pair. */
static void add_tags(struct data *data, unsigned indexes[RECORDING_TAGS][TASK_KINDS])
{
    unsigned count = 0;
    begin_member(data, "tags");
    for (size_t i = 0; i < data->model->replay->task_count; i++) {
        const lanepool_replay_task *task = &data->model->replay->tasks[i];
        unsigned *index = &indexes[task->tag][kind_of(task)];
        if (*index == 0) {
            *index = ++count;
            begin_item(data);
            text_add(data->json, "[%u,", task->tag);
            add_name(data->json, describe_tag(data->model, i));
            text_add(data->json, "]");
        }
    }
    end_array(data);
}

/* Adds for each task: ticket, tag, kind with state and status, worker; when it was submitted, was
 * ready, started and ended. */
static void add_tasks(struct data *data)
{
    unsigned tags[RECORDING_TAGS][TASK_KINDS] = { { 0 } };
    uint64_t ticket = 0, submitted = 0;
    add_tags(data, tags);
    begin_member(data, "tasks");
    for (size_t i = 0; i < data->model->replay->task_count; i++) {
        const lanepool_replay_task *task = &data->model->replay->tasks[i];
        uint64_t time = submitted;
        add_time(data, task->has_ticket ? task->ticket : LANEPOOL_REPLAY_UNSEEN, &ticket);
        add_number(data, tags[task->tag][kind_of(task)] - 1);
        add_number(data,
                   (int64_t)kind_of(task) + 4 * (int64_t)task->state + 32 * (int64_t)task->status);
        add_number(data, worker_of(task->thread));
        add_time(data, task->submit_ns, &time);
        submitted = time;
        add_time(data, task->ready_ns, &time);
        add_time(data, task->start_ns, &time);
        add_time(data, task->end_ns, &time);
    }
    end_array(data);
}

/* Adds [status, name] for each status other than LANEPOOL_OK with which a task has ended. */
static void add_statuses(struct data *data)
{
    bool is_there[STATUSES_NAMED] = { false };
    begin_member(data, "statuses");
    for (size_t i = 0; i < data->model->replay->task_count; i++) {
        uint32_t status = data->model->replay->tasks[i].status;
        if (status == LANEPOOL_OK || status >= STATUSES_NAMED || is_there[status]) {
            continue;
        }
        is_there[status] = true;
        begin_item(data);
        text_add(data->json, "[%u,", status);
        add_name(data->json, lanepool_status_name((lanepool_status)status));
        text_add(data->json, "]");
    }
    end_array(data);
}

/* Adds for each failed attempt: its task, worker, start, end; when the task was parked and was
 * ready again. */
static void add_attempts(struct data *data)
{
    size_t before = 0;
    begin_member(data, "attempts");
    for (size_t task = 0; task < data->model->replay->task_count; task++) {
        for (size_t i = 0; i < data->model->replay->tasks[task].failed_count; i++) {
            lanepool_replay_attempt attempt = model_attempt(data->model, task, i);
            uint64_t time = 0;
            add_index(data, task, &before);
            add_number(data, worker_of(attempt.thread));
            add_time(data, attempt.start_ns, &time);
            add_time(data, attempt.end_ns, &time);
            add_time(data, attempt.parked_ns, &time);
            add_time(data, attempt.ready_ns, &time);
        }
    }
    end_array(data);
}

/* --- entries --- */

/* Makes a table from tickets to tasks. The caller finishes it. */
static void map_tickets(const struct model *model, struct map *tickets)
{
    for (size_t i = 0; i < model->replay->task_count; i++) {
        if (model->replay->tasks[i].has_ticket) {
            map_set(tickets, 0, model->replay->tasks[i].ticket, i);
        }
    }
}

/* The row of an entry's lane. Of an entry without a lane: -2 - the task that it waits for, or -1 if
 * no such task is known. */
static int64_t row_or_task(const struct data *data, const lanepool_replay_entry *entry,
                           const struct map *tickets)
{
    if (entry->lane != LANEPOOL_REPLAY_NONE) {
        return (int64_t)data->rows[entry->lane];
    }
    size_t task = entry->object_type == LANEPOOL_EVENT_LANE_TASK
                      ? map_get(tickets, 0, entry->object)
                      : MAP_NONE;
    return task == MAP_NONE ? -1 : -2 - (int64_t)task;
}

/* Adds for each entry: its task, lane, mode; when it entered, was granted and was released. */
static void add_entries(struct data *data)
{
    struct map tickets = { 0 };
    size_t task = 0;
    uint64_t entered = 0;
    map_tickets(data->model, &tickets);
    begin_member(data, "entries");
    for (size_t i = 0; i < data->model->replay->entry_count; i++) {
        const lanepool_replay_entry *entry = &data->model->replay->entries[i];
        uint64_t time = entered;
        add_index(data, entry->task, &task);
        add_number(data, row_or_task(data, entry, &tickets));
        add_number(data, entry->mode);
        add_time(data, entry->enter_ns, &time);
        entered = time;
        add_time(data, entry->arrive_ns, &time);
        add_time(data, entry->release_ns, &time);
    }
    end_array(data);
    map_fini(&tickets);
}

/* Adds for each visit of a cut: its entry, worker, begin, end; 1 if it has failed. */
static void add_visits(struct data *data)
{
    size_t before = 0;
    begin_member(data, "visits");
    for (size_t i = 0; i < data->model->replay->entry_count; i++) {
        struct model_visits visits = model_visits_of(data->model, i);
        for (size_t k = 0; k < visits.count; k++) {
            const struct model_visit *visit = &visits.items[k];
            uint64_t time = 0;
            add_index(data, i, &before);
            add_number(data, worker_of(visit->thread));
            add_time(data, visit->from, &time);
            add_time(data, model_until(data->model, visit->to), &time);
            add_number(data, visit->has_failed);
        }
    }
    end_array(data);
}

/* --- rows --- */

/* Adds for each span of each lane: begin, length, its look, and its task. */
static void add_lane_spans(struct data *data)
{
    struct lane_spans spans = { 0 };
    begin_member(data, "laneSpans");
    for (size_t row = 0; row < data->model->replay->lane_count; row++) {
        uint64_t from = 0;
        size_t task = 0;
        begin_array(data);
        spans_of_lane(data->model, data->lanes[row], &spans);
        spans_divide(&spans);
        for (size_t i = 0; i < spans.count; i++) {
            const struct lane_span *span = &spans.items[i];
            size_t extra = span->kind == LANE_LATCHED ? span->arrived : span->attempt;
            add_time(data, span->from, &from);
            add_number(data, (int64_t)(span->to - span->from));
            add_number(data, (int64_t)span->kind + 8 * (int64_t)span->slot +
                                 64 * (int64_t)span->slot_count + 512 * (int64_t)extra);
            add_index(data, span->task, &task);
        }
        end_array(data);
    }
    end_array(data);
    spans_fini(&spans);
}

/* Adds for each span of each worker: length, kind with the holder's state, task; of a visit the
 * row of its lane, of a blocked worker the holder, both plus 1. Spans follow without a gap. */
static void add_worker_spans(struct data *data)
{
    begin_member(data, "workerSpans");
    for (unsigned i = 0; i < data->model->recording->worker_count; i++) {
        const struct model_worker *worker = &data->model->workers[i];
        size_t before = 0;
        begin_array(data);
        for (size_t k = 0; k < worker->span_count; k++) {
            const struct model_span *span = &worker->spans[k];
            bool has_task = span->task != LANEPOOL_REPLAY_NONE;
            bool is_visit = span->entry != LANEPOOL_REPLAY_NONE;
            size_t lane = is_visit ? data->model->replay->entries[span->entry].lane : 0;
            size_t second = is_visit && lane != LANEPOOL_REPLAY_NONE   ? data->rows[lane] + 1
                            : !is_visit && span->kind == MODEL_BLOCKED ? span->holder + 1
                                                                       : 0;
            add_number(data, (int64_t)(model_until(data->model, span->to) - span->from));
            add_number(data, (int64_t)span->kind + 8 * (int64_t)span->holder_state + 64 * has_task);
            add_index(data, has_task ? span->task : before, &before);
            add_number(data, (int64_t)second);
        }
        end_array(data);
    }
    end_array(data);
}

static void add_lane_names(struct data *data)
{
    begin_member(data, "lanes");
    for (size_t row = 0; row < data->model->replay->lane_count; row++) {
        begin_item(data);
        add_name(data->json, data->model->lanes[data->lanes[row]].name);
    }
    end_array(data);
}

void html_write_data(struct text *json, const struct model *model, const char *title)
{
    const struct recording *recording = model->recording;
    struct data data = { .json = json, .model = model, .lanes = model_sorted_lanes(model) };
    data.rows = memory_zeroed(model->replay->lane_count, sizeof *data.rows);
    for (size_t row = 0; row < model->replay->lane_count; row++) {
        data.rows[data.lanes[row]] = row;
    }
    text_add(json, "{\"title\":");
    add_name(json, title);
    text_add(json,
             ",\"workers\":%u,\"layout\":\"%s\",\"end\":%llu,\"missed\":%llu,\"endsEarly\":%s",
             recording->worker_count, recording->layout == LANEPOOL_PER_WORKER ? "worker" : "key",
             (unsigned long long)model->now, (unsigned long long)recording->missed,
             recording->ends_early ? "true" : "false");
    add_lane_names(&data);
    add_tasks(&data);
    add_statuses(&data);
    add_attempts(&data);
    add_entries(&data);
    add_visits(&data);
    add_lane_spans(&data);
    add_worker_spans(&data);
    text_add(json, "}");
    free(data.lanes);
    free(data.rows);
}
