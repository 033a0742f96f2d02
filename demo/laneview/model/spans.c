/* Owns how spans are made from entries. */
#include "model/spans.h"

#include <stdlib.h>

#include "memory.h"

void spans_fini(struct lane_spans *spans)
{
    free(spans->items);
    *spans = (struct lane_spans){ 0 };
}

/* Returns true if the task has ended but its last attempt never began: the task ended while it
 * was parked, or was refused. */
static bool ends_without_start(const struct model_task *task, size_t number)
{
    return number == task->failed_count && (number > 0 || task->status == LANEPOOL_POISONED);
}

bool spans_of_attempt(const struct model *model, size_t index, size_t number, uint64_t earliest,
                      uint64_t *from, uint64_t *to)
{
    const struct model_task *task = &model->tasks[index];
    struct model_attempt attempt = model_attempt(task, number);
    *to = model_until(model, attempt.end);
    *from = attempt.start == MODEL_UNSEEN ? earliest : attempt.start;
    if (*from > *to) {
        *from = *to;
    }
    return attempt.start != MODEL_UNSEEN ||
           (attempt.end != MODEL_UNSEEN && !ends_without_start(task, number));
}

static void add_span(struct lane_spans *spans, struct lane_span span)
{
    if (span.from < span.to) {
        spans->items =
            memory_grow(spans->items, &spans->capacity, spans->count + 1, sizeof *spans->items);
        spans->items[spans->count++] = span;
    }
}

/* Rollups over more lanes than this get one latched span for each entry. */
#define SPLIT_MAX 32

/* The next moment after `time` at which another entry of the task is granted or given up; `end`
 * if there is none before. */
static uint64_t next_change(const struct model *model, size_t task, uint64_t time, uint64_t end)
{
    size_t index = model->tasks[task].first_entry;
    for (; index != MODEL_NONE; index = model->entries[index].next_of_task) {
        const struct model_entry *entry = &model->entries[index];
        uint64_t change = entry->arrive == MODEL_UNSEEN ? entry->release : entry->arrive;
        if (change > time && change < end) {
            end = change;
        }
    }
    return end;
}

static void add_latched(const struct model *model, struct lane_spans *spans, size_t entry,
                        uint64_t from, uint64_t to)
{
    size_t task = model->entries[entry].task;
    bool is_split = model->tasks[task].entry_count <= SPLIT_MAX;
    while (from < to) {
        uint64_t next = is_split ? next_change(model, task, from, to) : to;
        unsigned arrived = is_split ? model_arrived_at(model, task, from) : 0;
        add_span(spans, (struct lane_span){ .from = from,
                                            .to = next,
                                            .kind = LANE_LATCHED,
                                            .entry = entry,
                                            .task = task,
                                            .slot_count = 1,
                                            .arrived = arrived });
        from = next;
    }
}

static uint64_t earlier_of(uint64_t time, uint64_t limit)
{
    return time < limit ? time : limit;
}

/* Adds the spans before the first attempt: latched until the task is ready, then waiting for a
 * worker. */
static void add_before_run(const struct model *model, struct lane_spans *spans, size_t index,
                           uint64_t run_from)
{
    const struct model_entry *entry = &model->entries[index];
    const struct model_task *task = &model->tasks[entry->task];
    uint64_t end = earlier_of(earlier_of(run_from, entry->release), model->now);
    uint64_t ready = earlier_of(task->ready, end);
    if (entry->arrive == MODEL_UNSEEN) {
        return;
    }
    if (!model_is_rollup(task)) {
        ready = earlier_of(entry->arrive, end);
    }
    add_latched(model, spans, index, entry->arrive, ready);
    uint64_t from = entry->arrive > ready ? entry->arrive : ready;
    add_span(spans, (struct lane_span){ .from = from,
                                        .to = end,
                                        .kind = LANE_READY,
                                        .entry = index,
                                        .task = entry->task,
                                        .slot_count = 1 });
}

static uint64_t end_of_entry(const struct model *model, const struct model_entry *entry)
{
    return earlier_of(earlier_of(model->tasks[entry->task].end, entry->release), model->now);
}

/* Adds the spans after a failed attempt: retrying until the next attempt is due or the task is
 * parked; parked until it is ready again; ready until it starts. Returns the end of the last
 * one. */
static uint64_t add_after_attempt(const struct model *model, struct lane_spans *spans, size_t index,
                                  size_t number)
{
    const struct model_entry *entry = &model->entries[index];
    const struct model_task *task = &model->tasks[entry->task];
    const struct model_attempt failed = task->failed[number];
    const struct model_attempt next = model_attempt(task, number + 1);
    uint64_t end = earlier_of(end_of_entry(model, entry), earlier_of(next.start, next.end));
    uint64_t ready_again = earlier_of(failed.ready_again, end),
             parked = earlier_of(failed.parked, ready_again);
    struct lane_span span = { .from = failed.end,
                              .to = parked,
                              .kind = LANE_RETRYING,
                              .entry = index,
                              .task = entry->task,
                              .slot_count = 1,
                              .attempt = number };
    add_span(spans, span);
    span.from = parked;
    span.to = ready_again;
    span.kind = LANE_PARKED;
    add_span(spans, span);
    span.from = ready_again;
    span.to = end;
    span.kind = LANE_READY;
    add_span(spans, span);
    return end;
}

/* Adds the span of an attempt. Returns its end, or `earliest` if that is later. */
static uint64_t add_attempt(const struct model *model, struct lane_spans *spans, size_t index,
                            size_t number, uint64_t earliest)
{
    const struct model_entry *entry = &model->entries[index];
    uint64_t from, to;
    if (!spans_of_attempt(model, entry->task, number, earliest, &from, &to)) {
        return earliest;
    }
    to = earlier_of(to, entry->release);
    add_span(spans, (struct lane_span){ .from = from,
                                        .to = to,
                                        .kind = LANE_RUNS,
                                        .entry = index,
                                        .task = entry->task,
                                        .slot_count = 1,
                                        .attempt = number });
    return to > earliest ? to : earliest;
}

void spans_of_lane(const struct model *model, size_t index, struct lane_spans *spans)
{
    const struct model_lane *lane = &model->lanes[index];
    uint64_t last = 0; /* a run whose start was missed is drawn from the end of the previous run */
    spans->count = 0;
    for (size_t i = 0; i < lane->entry_count; i++) {
        size_t number = lane->entries[i];
        const struct model_entry *entry = &model->entries[number];
        uint64_t from, to;
        bool ran = spans_of_attempt(model, entry->task, 0, last, &from, &to);
        add_before_run(model, spans, number, ran ? from : end_of_entry(model, entry));
        for (size_t k = 0; k <= model->tasks[entry->task].failed_count; k++) {
            last = add_attempt(model, spans, number, k, last);
            if (k < model->tasks[entry->task].failed_count) {
                uint64_t end = add_after_attempt(model, spans, number, k);
                last = end > last ? end : last;
            }
        }
    }
}
