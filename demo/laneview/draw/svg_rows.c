/* Owns the rows: the work of workers, the heads of lanes, and how many tasks wait behind them. */
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "draw/svg_internal.h"
#include "memory.h"
#include "model/describe.h"

#define WIDTH_MIN    0.8 /* a narrower bar could not be seen */
#define LABEL_HEIGHT 13.0
#define WIDTH_NOTED  2.0 /* shorter waits are not drawn, or not in the legend */

/* A bar of a row. */
struct bar {
    double x, y, width, height;
    struct text label; /* the longest text that fits; longer texts are tried first */
    struct text tip;
};

/*
 * Sets where a bar begins and how wide it is. Returns false if the bar is outside the time that is
 * shown, would be narrower than `least`, or ends before *reached, the right end of what the row
 * already has. So a row never has more bars than pixels.
 */
static bool place_bar(const struct svg_canvas *canvas, struct bar *bar, uint64_t from, uint64_t to,
                      double least, double *reached)
{
    double end = svg_x(canvas, to);
    bar->x = svg_x(canvas, from);
    bar->x = bar->x < *reached ? *reached : bar->x;
    bar->width = end - bar->x < WIDTH_MIN ? WIDTH_MIN : end - bar->x;
    bar->label.size = bar->tip.size = 0;
    if (to <= canvas->from || from >= canvas->to || end <= *reached || bar->width < least) {
        return false;
    }
    *reached = bar->x + bar->width;
    return true;
}

static void draw_bar(const struct svg_canvas *canvas, struct bar *bar, const char *style,
                     const char *text_style)
{
    struct text *svg = canvas->svg;
    text_add(svg, "<g><rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"%s\" %s/>",
             bar->x, bar->y, bar->width, bar->height, bar->width > 5 ? "2.5" : "0", style);
    if (bar->label.size > 0 && bar->height > LABEL_HEIGHT) {
        svg_text(svg, bar->x + bar->width / 2, bar->y + bar->height / 2 + 4, text_style,
                 bar->label.data);
    }
    text_add(svg, "<title>");
    text_add_xml(svg, bar->tip.data);
    text_add(svg, "</title></g>\n");
}

static bool label_fits(const struct bar *bar)
{
    return SVG_CHARACTER * (double)text_length(bar->label.data) + 6 <= bar->width;
}

/* Labels a bar "#4 close" or "#4", or not at all. */
static void label_task(const struct svg_canvas *canvas, struct bar *bar, size_t task)
{
    describe_task(&bar->label, canvas->model, task);
    if (!label_fits(bar)) {
        bar->label.size = 0;
        describe_number(&bar->label, canvas->model, task);
    }
    if (!label_fits(bar)) {
        bar->label.size = 0;
    }
}

static void add_duration(struct text *tip, const char *what, uint64_t from, uint64_t to)
{
    char start[UNITS_TEXT_SIZE], length[UNITS_TEXT_SIZE];
    text_add(tip, "\n%s for %s, from %s on", what, units_format(length, to - from),
             units_format(start, from));
}

/* Draws the bar of a task that runs or visits, once it has its label and its tip. */
static void draw_busy(const struct svg_canvas *canvas, struct bar *bar, size_t task)
{
    bool is_dark = model_is_rollup_or_cut(&canvas->model->replay->tasks[task]);
    struct text style = { 0 };
    text_add(&style, "fill=\"%s\" stroke=\"#ffffff\" stroke-width=\"%s\"", svg_colour(canvas, task),
             bar->width > 5 ? "1" : "0");
    draw_bar(canvas, bar, style.data,
             is_dark ? "text-anchor=\"middle\" font-weight=\"600\" fill=\"#ffffff\""
                     : "text-anchor=\"middle\" fill=\"#1d2733\"");
    text_fini(&style);
}

static void draw_run(const struct svg_canvas *canvas, struct bar *bar, size_t task)
{
    label_task(canvas, bar, task);
    describe_history(&bar->tip, canvas->model, task);
    draw_busy(canvas, bar, task);
}

/* Labels the bar of a visit "#4 close at A", "#4 close", "#4", or not at all. */
static void draw_visit(const struct svg_canvas *canvas, struct bar *bar, size_t entry,
                       uint64_t from, uint64_t to)
{
    size_t task = canvas->model->replay->entries[entry].task;
    describe_visit(&bar->label, canvas->model, entry);
    text_add_bytes(&bar->tip, bar->label.data, bar->label.size);
    add_duration(&bar->tip, "a visit", from, to);
    if (!label_fits(bar)) {
        bar->label.size = 0;
        label_task(canvas, bar, task);
    }
    draw_busy(canvas, bar, task);
}

/* --- workers --- */

/* Returns true if the label fits; otherwise empties it. */
static bool keep_label_if_it_fits(struct bar *bar)
{
    if (0.9 * SVG_CHARACTER * (double)text_length(bar->label.data) + 4 <= bar->width) {
        return true;
    }
    bar->label.size = 0;
    return false;
}

/* Tries one of the texts for a blocked worker. Returns true if the text fits. */
static bool try_blocked_label(const struct svg_canvas *canvas, struct bar *bar, const char *before,
                              size_t first, const char *between, size_t second)
{
    bar->label.size = 0;
    text_add(&bar->label, "%s", before);
    if (first != LANEPOOL_REPLAY_NONE) {
        describe_number(&bar->label, canvas->model, first);
    }
    text_add(&bar->label, "%s", between);
    if (second != LANEPOOL_REPLAY_NONE) {
        describe_number(&bar->label, canvas->model, second);
    }
    return keep_label_if_it_fits(bar);
}

static bool try_failed_label(const struct svg_canvas *canvas, struct bar *bar, const char *before,
                             const struct model_span *span)
{
    bar->label.size = 0;
    text_add(&bar->label, "%s", before);
    describe_blocked_short(&bar->label, canvas->model, span);
    return keep_label_if_it_fits(bar);
}

/* Labels a blocked worker with the latch and the task that all wait for, in the longest text
 * that fits. */
static void label_blocked(const struct svg_canvas *canvas, struct bar *bar,
                          const struct model_span *span)
{
    size_t latch = span->task, holder = span->holder;
    bool has_failed = span->holder_state != LANEPOOL_REPLAY_RUNNING;
    bool fits =
        has_failed ? try_failed_label(canvas, bar, "blocked: ", span) ||
                         try_failed_label(canvas, bar, "", span)
        : latch == LANEPOOL_REPLAY_NONE
            ? try_blocked_label(canvas, bar, "blocked, waits for ", holder, "",
                                LANEPOOL_REPLAY_NONE) ||
                  try_blocked_label(canvas, bar, "waits for ", holder, "", LANEPOOL_REPLAY_NONE)
            : try_blocked_label(canvas, bar, "blocked: ", latch, " is latched, waits for ",
                                holder) ||
                  try_blocked_label(canvas, bar, "", latch, " waits for ", holder);
    if (!fits) {
        try_blocked_label(canvas, bar, "blocked", LANEPOOL_REPLAY_NONE, "", LANEPOOL_REPLAY_NONE);
    }
}

static void draw_idle(struct svg_canvas *canvas, struct bar *bar, const struct model_span *span,
                      uint64_t to)
{
    describe_idle(&bar->tip, canvas->model, span);
    add_duration(&bar->tip, "idle", span->from, to);
    if (span->kind == MODEL_BLOCKED) {
        canvas->has_blocked = true;
        label_blocked(canvas, bar, span);
        draw_bar(canvas, bar, "fill=\"#fbe3e3\"",
                 "text-anchor=\"middle\" font-size=\"11\" fill=\"#9c2b2b\"");
    } else if (span->kind == MODEL_NO_WORK) {
        draw_bar(canvas, bar, "fill=\"#f1f4f7\"", "");
    } else {
        canvas->has_late = canvas->has_late || bar->width > WIDTH_NOTED;
        draw_bar(canvas, bar, "fill=\"#fbe9b7\"", "");
    }
}

static void draw_worker(struct svg_canvas *canvas, unsigned index)
{
    const struct model_worker *worker = &canvas->model->workers[index];
    struct bar bar = { .y = canvas->workers_y + index * SVG_WORKER_STEP, .height = SVG_BAR };
    double reached = 0;
    struct text name = { 0 };
    text_add(&name, "worker %u", index);
    svg_text(canvas->svg, SVG_LEFT - 10, bar.y + SVG_BAR / 2 + 4, "text-anchor=\"end\"", name.data);
    for (size_t i = 0; i < worker->span_count; i++) {
        const struct model_span *span = &worker->spans[i];
        uint64_t to = model_until(canvas->model, span->to);
        if (!place_bar(canvas, &bar, span->from, to, WIDTH_MIN, &reached)) {
            continue;
        }
        if (span->kind == MODEL_RUNS && span->entry != LANEPOOL_REPLAY_NONE) {
            draw_visit(canvas, &bar, span->entry, span->from, to);
        } else if (span->kind == MODEL_RUNS) {
            draw_run(canvas, &bar, span->task);
        } else {
            draw_idle(canvas, &bar, span, to);
        }
    }
    text_fini(&name);
    text_fini(&bar.label);
    text_fini(&bar.tip);
}

void svg_worker_rows(struct svg_canvas *canvas)
{
    for (unsigned i = 0; i < canvas->model->recording->worker_count; i++) {
        draw_worker(canvas, i);
    }
}

/* --- lanes --- */

/* The look of texts on hatched, dotted and crossed bars. */
static const char on_pattern[] =
    "text-anchor=\"middle\" font-weight=\"600\" fill=\"#1d2733\" stroke=\"#ffffff\" "
    "stroke-width=\"3.5\" stroke-linejoin=\"round\" paint-order=\"stroke\"";

static void draw_latched(struct svg_canvas *canvas, struct bar *bar, const struct lane_span *span)
{
    struct text style = { 0 };
    canvas->has_latched = true;
    text_add(&style, "fill=\"url(#latched%u)\" stroke=\"%s\" stroke-opacity=\"0.6\"",
             svg_rollup_shade(canvas, span->task), svg_colour(canvas, span->task));
    describe_number(&bar->label, canvas->model, span->task);
    text_add(&bar->label, ": ");
    describe_latch(&bar->label, canvas->model, span);
    if (!label_fits(bar) && span->arrived > 0) {
        bar->label.size = 0;
        describe_latch_short(&bar->label, canvas->model, span);
    }
    if (!label_fits(bar)) {
        bar->label.size = 0;
    }
    describe_task(&bar->tip, canvas->model, span->task);
    text_add(&bar->tip, " is latched here: ");
    describe_latch(&bar->tip, canvas->model, span);
    add_duration(&bar->tip, "so", span->from, span->to);
    draw_bar(canvas, bar, style.data, on_pattern);
    text_fini(&style);
}

static void draw_failed(struct svg_canvas *canvas, struct bar *bar, const struct lane_span *span)
{
    bool is_parked = span->kind == LANE_PARKED;
    *(is_parked ? &canvas->has_parked : &canvas->has_retrying) = true;
    describe_failed(&bar->label, canvas->model, span);
    text_add_bytes(&bar->tip, bar->label.data, bar->label.size);
    if (!label_fits(bar)) {
        bar->label.size = 0;
        describe_failed_short(&bar->label, canvas->model, span);
    }
    if (!label_fits(bar)) {
        bar->label.size = 0;
    }
    add_duration(&bar->tip, is_parked ? "the lane is poisoned" : "so", span->from, span->to);
    draw_bar(canvas, bar, is_parked ? SVG_PARKED_STYLE : SVG_RETRYING_STYLE, on_pattern);
}

static void draw_ready(struct svg_canvas *canvas, struct bar *bar, const struct lane_span *span)
{
    canvas->has_ready = true;
    label_task(canvas, bar, span->task);
    describe_task(&bar->tip, canvas->model, span->task);
    text_add(&bar->tip, " is ready and waits for a worker");
    add_duration(&bar->tip, "so", span->from, span->to);
    draw_bar(canvas, bar, "fill=\"#ffffff\" stroke=\"#8795a6\" stroke-dasharray=\"3 2\"",
             "text-anchor=\"middle\" fill=\"#66758a\"");
}

static unsigned most_waiting(const struct model *model)
{
    unsigned most = 1;
    for (size_t i = 0; i < model->replay->lane_count; i++) {
        struct model_depths depths = model_depths(model, i);
        for (size_t k = 0; k < depths.count; k++) {
            most = depths.items[k].waiting > most ? depths.items[k].waiting : most;
        }
        free(depths.items);
    }
    return most;
}

/* Draws steps below the bars, as high as the number of tasks that wait. The first of the highest
 * steps shows its number. */
static void draw_depth(const struct svg_canvas *canvas, size_t lane, double y, unsigned most)
{
    struct model_depths depths = model_depths(canvas->model, lane);
    double bottom = y + SVG_BAR + 2 + SVG_DEPTH, reached = 0;
    struct text peak = { 0 };
    double peak_x = 0;
    unsigned highest = 0;
    for (size_t i = 0; i < depths.count; i++) {
        unsigned waiting = depths.items[i].waiting;
        uint64_t until = i + 1 < depths.count ? depths.items[i + 1].time : canvas->model->now;
        double x = svg_x(canvas, depths.items[i].time), end = svg_x(canvas, until);
        double height = SVG_DEPTH * waiting / most;
        if (waiting == 0 || end - x < 0.05 || end <= reached) {
            continue;
        }
        reached = end;
        text_add(canvas->svg,
                 "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"#b9c4d0\"/>\n",
                 x, bottom - height, end - x, height);
        if (waiting > highest && end - x > 7) {
            highest = waiting;
            peak_x = x;
        }
    }
    if (highest > 0) {
        text_add(&peak, "%u", highest);
        svg_text(canvas->svg, peak_x + 3, bottom - 2,
                 "font-size=\"10\" fill=\"#3d4b5c\" stroke=\"#ffffff\" stroke-width=\"2.5\" "
                 "stroke-linejoin=\"round\" paint-order=\"stroke\"",
                 peak.data);
    }
    text_fini(&peak);
    free(depths.items);
}

/* Draws a lane's name, cut to the room on the left of the plot. */
static void draw_name(const struct svg_canvas *canvas, const char *name, double y)
{
    struct text cut = { 0 };
    size_t room = (size_t)((SVG_LEFT - 16) / SVG_CHARACTER), length = 0, size = 0;
    while (name[size] && length < room) {
        size += text_character(name + size, strlen(name + size));
        length++;
    }
    text_add_bytes(&cut, name, size);
    if (name[size]) {
        text_add(&cut, "\xe2\x80\xa6");
    }
    text_add(canvas->svg, "<g>");
    svg_text(canvas->svg, SVG_LEFT - 10, y + SVG_BAR / 2 + 4,
             "text-anchor=\"end\" font-weight=\"600\" fill=\"#1d2733\"", cut.data);
    text_add(canvas->svg, "<title>");
    text_add_xml(canvas->svg, name);
    text_add(canvas->svg, "</title></g>\n");
    text_fini(&cut);
}

/* A bar with an outline must be wider than that; short waits for a worker are not noted. */
static double least_width(enum lane_span_kind kind)
{
    if (kind == LANE_RUNS || kind == LANE_VISITED) {
        return WIDTH_MIN;
    }
    return kind == LANE_READY ? WIDTH_NOTED : 1;
}

static void draw_lane(struct svg_canvas *canvas, size_t row, unsigned most)
{
    size_t lane = canvas->lanes[row];
    struct bar bar = { 0 };
    struct lane_spans spans = { 0 };
    double y = canvas->lanes_y + (double)row * SVG_LANE_STEP, reached[SPANS_SLOTS] = { 0 };
    draw_name(canvas, canvas->model->lanes[lane].name, y);
    draw_depth(canvas, lane, y, most);
    spans_of_lane(canvas->model, lane, &spans);
    spans_divide(&spans);
    for (size_t i = 0; i < spans.count; i++) {
        const struct lane_span *span = &spans.items[i];
        bar.height = SVG_BAR / span->slot_count;
        bar.y = y + bar.height * span->slot;
        if (!place_bar(canvas, &bar, span->from, span->to, least_width(span->kind),
                       &reached[span->slot])) {
            continue;
        }
        if (span->kind == LANE_RUNS) {
            draw_run(canvas, &bar, span->task);
        } else if (span->kind == LANE_VISITED) {
            draw_visit(canvas, &bar, span->entry, span->from, span->to);
        } else if (span->kind == LANE_LATCHED) {
            draw_latched(canvas, &bar, span);
        } else if (span->kind == LANE_PARKED || span->kind == LANE_RETRYING) {
            draw_failed(canvas, &bar, span);
        } else {
            draw_ready(canvas, &bar, span);
        }
    }
    spans_fini(&spans);
    text_fini(&bar.label);
    text_fini(&bar.tip);
}

void svg_lane_rows(struct svg_canvas *canvas)
{
    unsigned most = most_waiting(canvas->model);
    for (size_t row = 0; row < canvas->lane_count; row++) {
        draw_lane(canvas, row, most);
    }
}

/* --- rollups --- */

/* Finds the first and the last row of a task's lanes. Returns false if fewer than two are drawn. */
static bool find_tied_rows(const struct svg_canvas *canvas, size_t task, size_t *first,
                           size_t *last)
{
    size_t index = canvas->model->replay->tasks[task].first_entry;
    *first = LANEPOOL_REPLAY_NONE;
    *last = 0;
    for (; index != LANEPOOL_REPLAY_NONE;
         index = canvas->model->replay->entries[index].next_of_task) {
        const lanepool_replay_entry *entry = &canvas->model->replay->entries[index];
        bool is_granted =
            entry->lane != LANEPOOL_REPLAY_NONE && entry->arrive_ns != LANEPOOL_REPLAY_UNSEEN;
        size_t row = is_granted ? canvas->rows[entry->lane] : LANEPOOL_REPLAY_NONE;
        if (row != LANEPOOL_REPLAY_NONE) {
            *first = row < *first ? row : *first;
            *last = row > *last ? row : *last;
        }
    }
    return *first != LANEPOOL_REPLAY_NONE && *last > *first;
}

static void draw_ties(struct svg_canvas *canvas, size_t task, size_t first, size_t last)
{
    for (size_t i = 0; i <= canvas->model->replay->tasks[task].failed_count; i++) {
        uint64_t from, to;
        if (!spans_of_attempt(canvas->model, task, i, 0, &from, &to) || to <= canvas->from ||
            from >= canvas->to) {
            continue;
        }
        double x = svg_x(canvas, from), y = canvas->lanes_y + (double)first * SVG_LANE_STEP;
        text_add(canvas->svg,
                 "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" rx=\"2.5\" "
                 "fill=\"%s\" fill-opacity=\"0.3\"/>\n",
                 x, y, svg_x(canvas, to) - x, (double)(last - first) * SVG_LANE_STEP + SVG_BAR,
                 svg_colour(canvas, task));
    }
}

void svg_rollup_ties(struct svg_canvas *canvas)
{
    for (size_t task = 0; task < canvas->model->replay->task_count; task++) {
        size_t first, last;
        if (model_is_rollup(&canvas->model->replay->tasks[task]) &&
            find_tied_rows(canvas, task, &first, &last)) {
            draw_ties(canvas, task, first, last);
        }
    }
}
