/* Owns the step from entries to spans. */
#include "spans.h"

#include <stdlib.h>

#include "memory.h"

void spans_fini(struct lane_spans *spans)
{
    free(spans->items);
    *spans = (struct lane_spans){ 0 };
}

bool spans_of_run(const struct model *model, size_t index, uint64_t earliest, uint64_t *from,
                  uint64_t *to)
{
    const struct model_task *task = &model->tasks[index];
    *to = model_until(model, task->end);
    *from = task->start == MODEL_UNSEEN ? earliest : task->start;
    if (*from > *to) {
        *from = *to;
    }
    return task->start != MODEL_UNSEEN || task->end != MODEL_UNSEEN;
}

static void add_span(struct lane_spans *spans, struct lane_span span)
{
    if (span.from < span.to) {
        spans->items =
            memory_grow(spans->items, &spans->capacity, spans->count + 1, sizeof *spans->items);
        spans->items[spans->count++] = span;
    }
}

/* Latches of rollups over more lanes than this are shown as one span each. */
#define SPLIT_MAX 32

/* The next moment after `time` at which one more entry of the task arrives; `end` if none does. */
static uint64_t next_arrival(const struct model *model, size_t task, uint64_t time, uint64_t end)
{
    size_t index = model->tasks[task].first_entry;
    for (; index != MODEL_NONE; index = model->entries[index].next_of_task) {
        uint64_t arrive = model->entries[index].arrive;
        if (arrive > time && arrive < end) {
            end = arrive;
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
        uint64_t next = is_split ? next_arrival(model, task, from, to) : to;
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

static uint64_t at_most(uint64_t time, uint64_t limit)
{
    return time < limit ? time : limit;
}

/* Before its run: latched until it is ready, then waiting for a worker. */
static void add_before_run(const struct model *model, struct lane_spans *spans, size_t index,
                           uint64_t run_from)
{
    const struct model_entry *entry = &model->entries[index];
    const struct model_task *task = &model->tasks[entry->task];
    uint64_t end = at_most(at_most(run_from, entry->release), model->now);
    uint64_t ready = at_most(task->ready, end);
    if (entry->arrive == MODEL_UNSEEN) {
        return;
    }
    if (!model_is_rollup(task)) {
        ready = at_most(entry->arrive, end);
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

void spans_of_lane(const struct model *model, size_t index, struct lane_spans *spans)
{
    const struct model_lane *lane = &model->lanes[index];
    uint64_t last = 0; /* a run whose beginning was missed began after the one before it */
    spans->count = 0;
    for (size_t i = 0; i < lane->entry_count; i++) {
        size_t number = lane->entries[i];
        const struct model_entry *entry = &model->entries[number];
        uint64_t from, to;
        bool ran = spans_of_run(model, entry->task, last, &from, &to);
        add_before_run(model, spans, number, ran ? from : MODEL_UNSEEN);
        if (ran) {
            to = at_most(to, entry->release);
            add_span(spans, (struct lane_span){ .from = from,
                                                .to = to,
                                                .kind = LANE_RUNS,
                                                .entry = number,
                                                .task = entry->task,
                                                .slot_count = 1 });
            last = to > last ? to : last;
        }
    }
}
