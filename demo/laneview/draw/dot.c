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

/* A node: an entry in a lane, or a task without one. */
struct node {
    size_t task;
    bool is_granted;
    bool is_visited; /* a cut visits the lane */
    bool is_ready;   /* the task waits for a worker, here or everywhere */
};

static struct node node_of_task(const struct model *model, size_t task)
{
    return (struct node){ .task = task,
                          .is_ready = model->replay->tasks[task].state == LANEPOOL_REPLAY_READY };
}

static struct node node_of_entry(const struct model *model, const lanepool_replay_entry *entry)
{
    const lanepool_replay_task *task = &model->replay->tasks[entry->task];
    struct node node = node_of_task(model, entry->task);
    bool has_begun = entry->visit_ns != LANEPOOL_REPLAY_UNSEEN;
    bool is_before_end = task->is_cut && task->state == LANEPOOL_REPLAY_WAITING &&
                         entry->visited_ns == LANEPOOL_REPLAY_UNSEEN;
    node.is_granted = entry->arrive_ns != LANEPOOL_REPLAY_UNSEEN;
    node.is_visited = is_before_end && has_begun;
    node.is_ready |= is_before_end && node.is_granted && !has_begun;
    return node;
}

/* The look of a node, by the state of its task. */
static const char *node_style_of(const struct model *model, const struct node *node)
{
    const lanepool_replay_task *task = &model->replay->tasks[node->task];
    if (task->state == LANEPOOL_REPLAY_RUNNING || node->is_visited) {
        return "style=\"filled,rounded\", fillcolor=\"#a8d8b9\"";
    }
    if (task->state >= LANEPOOL_REPLAY_ENDED) {
        return "style=\"filled,rounded\", fillcolor=\"#e4e8ed\"";
    }
    if (task->state == LANEPOOL_REPLAY_PARKED) {
        return "style=\"filled,bold\", peripheries=2, color=\"#8e2a6b\", fillcolor=\"#f0d9e7\"";
    }
    if (task->state == LANEPOOL_REPLAY_RETRYING) {
        return "style=\"filled,rounded,dotted\", color=\"#0b5fa5\", fillcolor=\"#dcebf8\"";
    }
    if (node->is_ready) {
        return "style=\"filled,rounded\", fillcolor=\"#fbe9b7\"";
    }
    return node->is_granted ? "style=\"filled,rounded,dashed\", fillcolor=\"#f6d2b8\""
                            : "style=\"rounded\"";
}

static void add_state(struct text *label, const struct model *model, const struct node *node)
{
    const lanepool_replay_task *task = &model->replay->tasks[node->task];
    if (node->is_visited) {
        text_add(label, ": visits");
    } else if (task->state == LANEPOOL_REPLAY_RUNNING && task->thread < LANEPOOL_EVENT_OUTSIDE) {
        text_add(label, ": runs on worker %u", task->thread);
    } else if (task->state == LANEPOOL_REPLAY_RUNNING) {
        text_add(label, ": runs outside");
    } else if (task->state >= LANEPOOL_REPLAY_ENDED) {
        text_add(label, ": over");
    } else if (node->is_ready) {
        text_add(label, ": ready");
    } else if (task->state == LANEPOOL_REPLAY_PARKED) {
        text_add(label, ": parked, has failed");
    } else if (task->state == LANEPOOL_REPLAY_RETRYING) {
        text_add(label, ": failed, attempt %zu follows", task->failed_count + 1);
    } else if (node->is_granted) {
        text_add(label, ": latched, ");
        describe_arrived(label, model, node->task, model->now);
    }
}

static void add_entry(struct text *dot, const struct model *model, size_t index)
{
    const lanepool_replay_entry *entry = &model->replay->entries[index];
    struct node node = node_of_entry(model, entry);
    struct text label = { 0 };
    describe_task(&label, model, entry->task);
    add_state(&label, model, &node);
    text_add(&label, "%s", describe_mode(entry->mode));
    text_add(dot, "  e%zu [%s, ", index, node_style_of(model, &node));
    add_label(dot, &label);
    text_add(dot, "];\n");
    text_fini(&label);
}

/* Adds the edge from an entry to the one in front of it. Heads are drawn on the left. */
static void add_edge(struct text *dot, const char *kind, size_t entry, size_t front)
{
    text_add(dot, "  e%zu -> %s%zu [dir=back];\n", front, kind, entry);
}

static bool is_poisoned(const struct model *model, const lanepool_replay_lane *lane)
{
    size_t index = lane->first_open;
    while (index != LANEPOOL_REPLAY_NONE &&
           model->replay->tasks[model->replay->entries[index].task].state !=
               LANEPOOL_REPLAY_PARKED) {
        index = model->replay->entries[index].next;
    }
    return index != LANEPOOL_REPLAY_NONE;
}

/* Adds a row: the lane's name, its head, its waiting entries. Returns false for an empty lane,
 * which is left out. */
static bool add_lane(struct text *dot, const struct model *model, size_t number)
{
    const lanepool_replay_lane *lane = &model->replay->lanes[number];
    struct text label = { 0 };
    size_t index = lane->first_open, drawn = 0;
    if (index == LANEPOOL_REPLAY_NONE) {
        return false;
    }
    text_add(&label, "lane %s%s", model->lanes[number].name,
             is_poisoned(model, lane) ? ", poisoned" : "");
    text_add(dot, "  l%zu [shape=plaintext, fontsize=12, ", number);
    add_label(dot, &label);
    text_add(dot, "];\n  l%zu -> e%zu [style=invis];\n", number, index);
    for (; index != LANEPOOL_REPLAY_NONE && drawn < QUEUE_MAX;
         index = model->replay->entries[index].next, drawn++) {
        add_entry(dot, model, index);
        if (drawn > 0) {
            add_edge(dot, "e", index, model->replay->entries[index].previous);
        }
    }
    if (index != LANEPOOL_REPLAY_NONE) {
        text_add(dot, "  more%zu [shape=plaintext, label=\"and %zu more\"];\n", number,
                 lane->open - drawn);
        add_edge(dot, "more", number, model->replay->entries[index].previous);
    }
    text_fini(&label);
    return true;
}

/* Adds the rows one below another, in the order of their names. */
static void add_lanes(struct text *dot, const struct model *model)
{
    size_t *order = model_sorted_lanes(model);
    size_t above = LANEPOOL_REPLAY_NONE;
    for (size_t i = 0; i < model->replay->lane_count; i++) {
        if (!add_lane(dot, model, order[i])) {
            continue;
        }
        if (above != LANEPOOL_REPLAY_NONE) {
            text_add(dot, "  { rank=same; l%zu -> l%zu [style=invis]; }\n", above, order[i]);
        }
        above = order[i];
    }
    free(order);
}

/* Ties the entries of a rollup or cut together: they are one task. The lanes of a cut do not wait
 * for one another, so its tie is dashed. */
static void add_ties(struct text *dot, const struct model *model, size_t task)
{
    const char *style = model->replay->tasks[task].is_cut ? "dashed" : "bold";
    size_t before = LANEPOOL_REPLAY_NONE, index = model->replay->tasks[task].first_entry;
    for (; index != LANEPOOL_REPLAY_NONE; index = model->replay->entries[index].next_of_task) {
        const lanepool_replay_entry *entry = &model->replay->entries[index];
        if (entry->lane == LANEPOOL_REPLAY_NONE || entry->release_ns != LANEPOOL_REPLAY_UNSEEN) {
            continue;
        }
        if (before != LANEPOOL_REPLAY_NONE) {
            text_add(dot,
                     "  e%zu -> e%zu [dir=none, style=%s, color=\"#c8570b\", "
                     "constraint=false];\n",
                     before, index, style);
        }
        before = index;
    }
}

/* Adds a task that has no lane. With a rule of the program's own, tasks wait directly behind
 * other tasks. */
static void add_task_without_lane(struct text *dot, const struct model *model, size_t task)
{
    struct node node = node_of_task(model, task);
    struct text label = { 0 };
    size_t index = model->replay->tasks[task].first_entry;
    describe_task(&label, model, task);
    add_state(&label, model, &node);
    text_add(dot, "  t%llu [%s, ", (unsigned long long)model->replay->tasks[task].ticket,
             node_style_of(model, &node));
    add_label(dot, &label);
    text_add(dot, "];\n");
    for (; index != LANEPOOL_REPLAY_NONE; index = model->replay->entries[index].next_of_task) {
        const lanepool_replay_entry *entry = &model->replay->entries[index];
        if (entry->arrive_ns == LANEPOOL_REPLAY_UNSEEN &&
            entry->object_type == LANEPOOL_EVENT_LANE_TASK) {
            text_add(dot, "  t%llu -> t%llu;\n",
                     (unsigned long long)model->replay->tasks[task].ticket,
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
        if (cause.kind == MODEL_RUNS && cause.entry != LANEPOOL_REPLAY_NONE) {
            text_add(&label, "visits ");
            describe_visit(&label, model, cause.entry);
        } else if (cause.kind == MODEL_RUNS) {
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
             units_format(number, model->now), model->replay->counts[LANEPOOL_REPLAY_WAITING],
             model->replay->counts[LANEPOOL_REPLAY_READY],
             model->replay->counts[LANEPOOL_REPLAY_RUNNING]);
    if (model->replay->counts[LANEPOOL_REPLAY_RETRYING] +
            model->replay->counts[LANEPOOL_REPLAY_PARKED] >
        0) {
        text_add(dot, ", %zu to retry, %zu parked", model->replay->counts[LANEPOOL_REPLAY_RETRYING],
                 model->replay->counts[LANEPOOL_REPLAY_PARKED]);
    }
    text_add(dot, "\\l\"");
    add_workers(dot, model);
    text_add(dot, " + \" \\l\";\n  node [shape=box, fontname=\"sans-serif\", fontsize=11];\n");
    add_lanes(dot, model);
    for (size_t i = 0; i < model->replay->task_count; i++) {
        const lanepool_replay_task *task = &model->replay->tasks[i];
        if (task->state < LANEPOOL_REPLAY_ENDED && model_is_rollup_or_cut(task)) {
            add_ties(dot, model, i);
        }
        if (task->state < LANEPOOL_REPLAY_ENDED && task->lane_count == 0 && task->has_ticket) {
            add_task_without_lane(dot, model, i);
        }
    }
    text_add(dot, "}\n");
}
