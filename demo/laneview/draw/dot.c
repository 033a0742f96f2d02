/*
 * Owns the graph: a row for each lane with its queue, a node for each entry, and an edge from each
 * entry to the one that it waits for. Of a long queue only the oldest entries are drawn.
 */
#include "draw/dot.h"

#include <stdlib.h>

#include "base/units.h"
#include "model/describe.h"

#define QUEUE_MAX 12 /* entries that are drawn in each lane */

static void add_label(struct text *dot, const struct text *label)
{
    text_add(dot, "label=");
    text_add_quoted(dot, label->data);
}

/* The look of a node, by the state of its task. */
static const char *node_style_of(const struct model_task *task, bool is_granted)
{
    if (task->state == MODEL_RUNNING) {
        return "style=\"filled,rounded\", fillcolor=\"#a8d8b9\"";
    }
    if (task->state >= MODEL_ENDED) {
        return "style=\"filled,rounded\", fillcolor=\"#e4e8ed\"";
    }
    if (task->state == MODEL_PARKED) {
        return "style=\"filled,bold\", peripheries=2, color=\"#8e2a6b\", fillcolor=\"#f0d9e7\"";
    }
    if (task->state == MODEL_RETRYING) {
        return "style=\"filled,rounded,dotted\", color=\"#0b5fa5\", fillcolor=\"#dcebf8\"";
    }
    if (task->state == MODEL_READY) {
        return "style=\"filled,rounded\", fillcolor=\"#fbe9b7\"";
    }
    return is_granted ? "style=\"filled,rounded,dashed\", fillcolor=\"#f6d2b8\""
                      : "style=\"rounded\"";
}

static void add_state(struct text *label, const struct model *model, size_t index, bool is_granted)
{
    const struct model_task *task = &model->tasks[index];
    if (task->state == MODEL_RUNNING && task->thread < LANEPOOL_EVENT_OUTSIDE) {
        text_add(label, ": runs on worker %u", task->thread);
    } else if (task->state == MODEL_RUNNING) {
        text_add(label, ": runs outside");
    } else if (task->state >= MODEL_ENDED) {
        text_add(label, ": over");
    } else if (task->state == MODEL_READY) {
        text_add(label, ": ready");
    } else if (task->state == MODEL_PARKED) {
        text_add(label, ": parked, has failed");
    } else if (task->state == MODEL_RETRYING) {
        text_add(label, ": failed, attempt %zu follows", task->failed_count + 1);
    } else if (is_granted) {
        text_add(label, ": latched, ");
        describe_arrived(label, model, index, model->now);
    }
}

static void add_entry(struct text *dot, const struct model *model, size_t index)
{
    const struct model_entry *entry = &model->entries[index];
    bool is_granted = entry->arrive != MODEL_UNSEEN;
    struct text label = { 0 };
    describe_task(&label, model, entry->task);
    add_state(&label, model, entry->task, is_granted);
    if (entry->shared) {
        text_add(&label, " (shared)");
    }
    text_add(dot, "  e%zu [%s, ", index, node_style_of(&model->tasks[entry->task], is_granted));
    add_label(dot, &label);
    text_add(dot, "];\n");
    text_fini(&label);
}

/* Adds the edge from an entry to the one in front of it. Heads are drawn on the left. */
static void add_edge(struct text *dot, const char *kind, size_t entry, size_t front)
{
    text_add(dot, "  e%zu -> %s%zu [dir=back];\n", front, kind, entry);
}

static bool is_poisoned(const struct model *model, const struct model_lane *lane)
{
    size_t index = lane->first_open;
    while (index != MODEL_NONE && model->tasks[model->entries[index].task].state != MODEL_PARKED) {
        index = model->entries[index].next;
    }
    return index != MODEL_NONE;
}

/* Adds a row: the lane's name, its head, its waiting entries. Returns false for an empty lane,
 * which is left out. */
static bool add_lane(struct text *dot, const struct model *model, size_t number)
{
    const struct model_lane *lane = &model->lanes[number];
    struct text label = { 0 };
    size_t index = lane->first_open, drawn = 0;
    if (index == MODEL_NONE) {
        return false;
    }
    text_add(&label, "lane %s%s", lane->name, is_poisoned(model, lane) ? ", poisoned" : "");
    text_add(dot, "  l%zu [shape=plaintext, fontsize=12, ", number);
    add_label(dot, &label);
    text_add(dot, "];\n  l%zu -> e%zu [style=invis];\n", number, index);
    for (; index != MODEL_NONE && drawn < QUEUE_MAX; index = model->entries[index].next, drawn++) {
        add_entry(dot, model, index);
        if (drawn > 0) {
            add_edge(dot, "e", index, model->entries[index].previous);
        }
    }
    if (index != MODEL_NONE) {
        text_add(dot, "  more%zu [shape=plaintext, label=\"and %zu more\"];\n", number,
                 lane->open - drawn);
        add_edge(dot, "more", number, model->entries[index].previous);
    }
    text_fini(&label);
    return true;
}

/* Adds the rows one below another, in the order of their names. */
static void add_lanes(struct text *dot, const struct model *model)
{
    size_t *order = model_sorted_lanes(model);
    size_t above = MODEL_NONE;
    for (size_t i = 0; i < model->lane_count; i++) {
        if (!add_lane(dot, model, order[i])) {
            continue;
        }
        if (above != MODEL_NONE) {
            text_add(dot, "  { rank=same; l%zu -> l%zu [style=invis]; }\n", above, order[i]);
        }
        above = order[i];
    }
    free(order);
}

/* Ties the entries of a rollup together: they are one task. */
static void add_ties(struct text *dot, const struct model *model, size_t task)
{
    size_t before = MODEL_NONE, index = model->tasks[task].first_entry;
    for (; index != MODEL_NONE; index = model->entries[index].next_of_task) {
        const struct model_entry *entry = &model->entries[index];
        if (entry->lane == MODEL_NONE || entry->release != MODEL_UNSEEN) {
            continue;
        }
        if (before != MODEL_NONE) {
            text_add(dot,
                     "  e%zu -> e%zu [dir=none, style=bold, color=\"#c8570b\", "
                     "constraint=false];\n",
                     before, index);
        }
        before = index;
    }
}

/* Adds a task that has no lane. With a rule of the program's own, tasks wait directly behind
 * other tasks. */
static void add_task_without_lane(struct text *dot, const struct model *model, size_t task)
{
    struct text label = { 0 };
    size_t index = model->tasks[task].first_entry;
    describe_task(&label, model, task);
    add_state(&label, model, task, false);
    text_add(dot, "  t%llu [%s, ", (unsigned long long)model->tasks[task].ticket,
             node_style_of(&model->tasks[task], false));
    add_label(dot, &label);
    text_add(dot, "];\n");
    for (; index != MODEL_NONE; index = model->entries[index].next_of_task) {
        const struct model_entry *entry = &model->entries[index];
        if (entry->arrive == MODEL_UNSEEN && entry->object_type == LANEPOOL_EVENT_LANE_TASK) {
            text_add(dot, "  t%llu -> t%llu;\n", (unsigned long long)model->tasks[task].ticket,
                     (unsigned long long)entry->object);
        }
    }
    text_fini(&label);
}

/* Adds a line to the heading for each worker. */
static void add_workers(struct text *dot, const struct model *model)
{
    for (unsigned i = 0; i < model->recording->worker_count; i++) {
        struct model_span cause = model_cause(model, i);
        struct text label = { 0 };
        text_add(&label, "worker %u: ", i);
        if (cause.kind == MODEL_RUNS) {
            text_add(&label, "runs ");
            describe_task(&label, model, cause.task);
        } else {
            cause.from = model->now;
            describe_idle(&label, model, &cause);
        }
        text_add(dot, " +\n    ");
        text_add_quoted(dot, label.data);
        text_add(dot, " + \"\\l\"");
        text_fini(&label);
    }
}

void dot_write(struct text *dot, const struct model *model)
{
    char number[UNITS_TEXT_SIZE];
    text_add(dot,
             "digraph lanes {\n  rankdir=LR; newrank=true; ranksep=0.35; fontname=\"sans-serif\"; "
             "fontsize=12; labelloc=t; "
             "labeljust=l;\n"
             "  label=\"at %s: %zu waiting, %zu ready, %zu running",
             units_format(number, model->now), model->counts[MODEL_WAITING],
             model->counts[MODEL_READY], model->counts[MODEL_RUNNING]);
    if (model->counts[MODEL_RETRYING] + model->counts[MODEL_PARKED] > 0) {
        text_add(dot, ", %zu to retry, %zu parked", model->counts[MODEL_RETRYING],
                 model->counts[MODEL_PARKED]);
    }
    text_add(dot, "\\l\"");
    add_workers(dot, model);
    text_add(dot, " + \" \\l\";\n  node [shape=box, fontname=\"sans-serif\", fontsize=11];\n");
    add_lanes(dot, model);
    for (size_t i = 0; i < model->task_count; i++) {
        const struct model_task *task = &model->tasks[i];
        if (task->state < MODEL_ENDED && model_is_rollup(task)) {
            add_ties(dot, model, i);
        }
        if (task->state < MODEL_ENDED && task->lane_count == 0 && task->has_ticket) {
            add_task_without_lane(dot, model, i);
        }
    }
    text_add(dot, "}\n");
}
