/* Owns how a frame is drawn. */
#include "draw/frame.h"

#include <stdlib.h>

#include "base/units.h"
#include "model/describe.h"

#define NAME_WIDTH  14
#define STATE_WIDTH 30
#define DEPTH_SHOWN 40 /* at most this many squares are drawn for waiting entries */
#define BUSY_WIDTH  12

struct frame {
    struct cells *cells;
    const struct model *model;
    size_t y, end; /* the next row; the first row below workers and lanes */
};

/* --- heading --- */

static void add_counts(struct text *text, const struct model *model)
{
    const size_t *counts = model->replay->counts;
    text_add(text, "%zu pending, %zu ready, %zu latched", model_pending(model),
             counts[LANEPOOL_REPLAY_READY], model->replay->latched);
    if (counts[LANEPOOL_REPLAY_RETRYING] > 0) {
        text_add(text, ", %zu to retry", counts[LANEPOOL_REPLAY_RETRYING]);
    }
    if (counts[LANEPOOL_REPLAY_PARKED] > 0) {
        text_add(text, ", %zu parked", counts[LANEPOOL_REPLAY_PARKED]);
    }
}

static void draw_heading(struct frame *frame, const char *title)
{
    struct text text = { 0 };
    char number[UNITS_TEXT_SIZE];
    size_t x = cells_put(frame->cells, 0, frame->y, CELLS_BOLD, title);
    text_add(&text, "%s%s   ", *title ? "   " : "", units_format(number, frame->model->now));
    add_counts(&text, frame->model);
    cells_put(frame->cells, x, frame->y, CELLS_PLAIN, text.data);
    frame->y += 2;
    text_fini(&text);
}

static void draw_rest_count(struct frame *frame, size_t count, const char *of_what)
{
    struct text text = { 0 };
    text_add(&text, "and %zu more %s", count, of_what);
    cells_put(frame->cells, 0, frame->y++, CELLS_DIM, text.data);
    text_fini(&text);
}

/* --- workers --- */

static enum cells_style style_of_span(enum model_span_kind kind)
{
    switch (kind) {
    case MODEL_RUNS:
        return CELLS_GOOD;
    case MODEL_BLOCKED:
        return CELLS_BAD;
    case MODEL_NO_WORK:
        return CELLS_DIM;
    default:
        return CELLS_WARN;
    }
}

static void draw_worker(struct frame *frame, unsigned index)
{
    const struct model *model = frame->model;
    struct model_span cause = model_cause(model, index);
    struct text text = { 0 };
    char number[UNITS_TEXT_SIZE];
    text_add(&text, "worker %u", index);
    cells_put(frame->cells, 0, frame->y, CELLS_PLAIN, text.data);
    text.size = 0;
    if (cause.kind == MODEL_RUNS && cause.entry != LANEPOOL_REPLAY_NONE) {
        uint64_t start = model->replay->entries[cause.entry].visit_ns;
        text_add(&text, "visits ");
        describe_visit(&text, model, cause.entry);
        text_add(&text, " for %s", units_format(number, model->now - model_until(model, start)));
    } else if (cause.kind == MODEL_RUNS) {
        uint64_t start = model->replay->tasks[cause.task].start_ns;
        text_add(&text, "runs ");
        describe_task(&text, model, cause.task);
        text_add(&text, " for %s", units_format(number, model->now - model_until(model, start)));
        if (model->replay->tasks[cause.task].failed_count > 0) {
            text_add(&text, ", attempt %zu", model->replay->tasks[cause.task].failed_count + 1);
        }
    } else {
        cause.from = model->now;
        describe_idle(&text, model, &cause);
        if (NAME_WIDTH + text_length(text.data) + BUSY_WIDTH > frame->cells->width) {
            text.size = 0;
            describe_idle_short(&text, model, &cause);
        }
    }
    cells_put(frame->cells, NAME_WIDTH, frame->y, style_of_span(cause.kind), text.data);
    uint64_t percent =
        model->now > 0 ? model_worker_ns(model, index, MODEL_RUNS) * 100 / model->now : 0;
    if (frame->cells->width > NAME_WIDTH + BUSY_WIDTH) {
        text.size = 0;
        text_add(&text, "  %3llu %% busy", (unsigned long long)percent);
        cells_put(frame->cells, frame->cells->width - BUSY_WIDTH, frame->y, CELLS_DIM, text.data);
    }
    frame->y++;
    text_fini(&text);
}

/* If there is little room, lanes get half of it. The last row says how many workers are not
 * shown. */
static void draw_workers(struct frame *frame)
{
    const struct model *model = frame->model;
    size_t room = frame->end > frame->y + 1 ? frame->end - frame->y - 1 : 0;
    size_t count = model->recording->worker_count, lanes = model->replay->lane_count;
    size_t share = lanes < room / 2 ? room - lanes : room - room / 2;
    size_t shown = count <= share ? count : share > 0 ? share - 1 : 0;
    for (unsigned i = 0; i < shown; i++) {
        draw_worker(frame, i);
    }
    if (shown < count && share > 0) {
        draw_rest_count(frame, count - shown, "workers");
    }
    frame->y++;
}

/* --- lanes --- */

/* Adds a cut at the head of a lane that it visits or is about to visit. Returns false if it has
 * visited the lane, and the visit has failed. */
static bool add_head_cut(struct text *text, const struct model *model,
                         const lanepool_replay_entry *entry, enum cells_style *style)
{
    bool has_begun = entry->visit_ns != LANEPOOL_REPLAY_UNSEEN;
    if (entry->visited_ns != LANEPOOL_REPLAY_UNSEEN) {
        return false;
    }
    text_add(text, has_begun ? "visited by " : "ready ");
    describe_task(text, model, entry->task);
    *style = has_begun ? CELLS_GOOD : CELLS_WARN;
    return true;
}

/* Adds the task at the head of a lane, and its state. Returns the style for both. */
static enum cells_style add_head_task(struct text *text, const struct model *model,
                                      const lanepool_replay_entry *entry, bool is_ascii)
{
    const lanepool_replay_task *task = &model->replay->tasks[entry->task];
    bool is_granted =
        task->state == LANEPOOL_REPLAY_WAITING && entry->arrive_ns != LANEPOOL_REPLAY_UNSEEN;
    enum cells_style style;
    if (is_granted && task->is_cut && add_head_cut(text, model, entry, &style)) {
        return style;
    }
    if (is_granted && model_is_rollup_or_cut(task)) {
        text_add(text, "latched ");
        describe_number(text, model, entry->task);
        text_add(text, " ");
        describe_arrived(text, model, entry->task, model->now);
        return CELLS_BAD;
    }
    if (task->state == LANEPOOL_REPLAY_PARKED) {
        text_add(text, "%s poisoned by ", is_ascii ? "x" : "\xe2\x95\xb3");
        describe_task(text, model, entry->task);
        return CELLS_PARKED;
    }
    if (task->state == LANEPOOL_REPLAY_RETRYING) {
        text_add(text, "%s failed %zux ", is_ascii ? "^" : "\xe2\x86\xbb", task->failed_count);
        describe_task(text, model, entry->task);
        return CELLS_RETRYING;
    }
    text_add(text, "%s ",
             task->state == LANEPOOL_REPLAY_RUNNING ? "runs"
             : task->state == LANEPOOL_REPLAY_READY ? "ready"
             : task->state < LANEPOOL_REPLAY_READY  ? "waiting"
                                                    : "over");
    describe_task(text, model, entry->task);
    return task->state == LANEPOOL_REPLAY_RUNNING ? CELLS_GOOD : CELLS_WARN;
}

static void draw_lane(struct frame *frame, size_t index)
{
    const lanepool_replay_lane *lane = &frame->model->replay->lanes[index];
    struct text text = { 0 };
    enum cells_style style = CELLS_DIM;
    cells_put(frame->cells, 0, frame->y, CELLS_PLAIN, frame->model->lanes[index].name);
    cells_fill(frame->cells, NAME_WIDTH - 1, frame->y, frame->cells->width, CELLS_PLAIN, " ");
    if (lane->first_open == LANEPOOL_REPLAY_NONE) {
        text_add(&text, "empty");
    } else {
        style = add_head_task(&text, frame->model, &frame->model->replay->entries[lane->first_open],
                              frame->cells->is_ascii);
    }
    cells_put(frame->cells, NAME_WIDTH, frame->y, style, text.data);
    if (lane->waiting > 0) {
        size_t x = NAME_WIDTH + STATE_WIDTH;
        size_t squares = lane->waiting < DEPTH_SHOWN ? lane->waiting : DEPTH_SHOWN;
        text.size = 0;
        text_add(&text, " %zu", lane->waiting);
        cells_fill(frame->cells, x - 1, frame->y, 1, CELLS_PLAIN, " ");
        cells_fill(frame->cells, x, frame->y, squares, CELLS_DIM,
                   frame->cells->is_ascii ? "o" : "\xe2\x96\xa0");
        cells_put(frame->cells, x + squares, frame->y, CELLS_DIM, text.data);
    }
    frame->y++;
    text_fini(&text);
}

/* Draws as many lanes as fit; the last row says how many are not shown. */
static void draw_lanes(struct frame *frame)
{
    const struct model *model = frame->model;
    size_t *order = model_sorted_lanes(model);
    size_t room = frame->end > frame->y ? frame->end - frame->y : 0;
    size_t shown = model->replay->lane_count <= room ? model->replay->lane_count
                   : room > 0                        ? room - 1
                                                     : 0;
    for (size_t i = 0; i < shown; i++) {
        draw_lane(frame, order[i]);
    }
    if (shown < model->replay->lane_count && room > 0) {
        draw_rest_count(frame, model->replay->lane_count - shown, "lanes");
    }
    free(order);
}

/* --- idle time --- */

static uint64_t sum_of_kind(const struct model *model, unsigned kind)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model->recording->worker_count; i++) {
        sum += model_worker_ns(model, i, kind);
    }
    return sum;
}

static void draw_idle_times(struct frame *frame, size_t y)
{
    struct text text = { 0 };
    char blocked[UNITS_TEXT_SIZE], none[UNITS_TEXT_SIZE], other[UNITS_TEXT_SIZE];
    text_add(&text, "idle time of all workers: blocked %s, no work %s, about to work %s",
             units_format(blocked, sum_of_kind(frame->model, MODEL_BLOCKED)),
             units_format(none, sum_of_kind(frame->model, MODEL_NO_WORK)),
             units_format(other, sum_of_kind(frame->model, MODEL_SEARCHES) +
                                     sum_of_kind(frame->model, MODEL_SLEEPS)));
    cells_put(frame->cells, 0, y, CELLS_PLAIN, text.data);
    text_fini(&text);
}

/* Rows besides workers and lanes: the heading and the idle time, each with an empty row. */
#define OTHER_ROWS 4

size_t frame_height(const struct model *model)
{
    return model->recording->worker_count + 1 + model->replay->lane_count + OTHER_ROWS;
}

void frame_draw(struct cells *cells, const struct model *model, const struct frame_options *options)
{
    size_t height = options->height;
    struct frame frame = { cells, model, 0, 0 };
    cells_init(cells, options->width, options->height, options->is_ascii);
    if (options->footer && height > 0) {
        cells_put(cells, 0, --height, CELLS_BOLD, options->footer);
    }
    frame.end = height > 2 ? height - 2 : 0;
    if (height > 0) {
        draw_heading(&frame, options->title);
    }
    draw_workers(&frame);
    draw_lanes(&frame);
    if (height > 1) {
        draw_idle_times(&frame, height - 1);
    }
}

void frame_line(struct text *text, const struct model *model)
{
    char number[UNITS_TEXT_SIZE];
    size_t runs = 0;
    struct model_span blocked = { .kind = MODEL_NO_WORK };
    for (unsigned i = 0; i < model->recording->worker_count; i++) {
        struct model_span cause = model_cause(model, i);
        runs += cause.kind == MODEL_RUNS;
        blocked = cause.kind == MODEL_BLOCKED ? cause : blocked;
    }
    text_add(text, "%s: %zu of %u workers run; ", units_format(number, model->now), runs,
             model->recording->worker_count);
    add_counts(text, model);
    if (blocked.kind == MODEL_BLOCKED) {
        blocked.from = model->now;
        text_add(text, "; ");
        describe_idle(text, model, &blocked);
    }
    text_add(text, "\n");
}
