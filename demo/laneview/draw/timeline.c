/* Owns the timeline as text. */
#include "draw/timeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "draw/cells.h"
#include "memory.h"
#include "model/describe.h"
#include "model/spans.h"

#define NAME_MIN  9
#define NAME_MAX  24
#define PLOT_MIN  20
#define WIDTH_MAX 1000
#define TICK_ROOM 12 /* columns for the label of a tick */

/* The characters that fill bars, in the order of the legend. */
struct glyphs {
    const char *runs, *latched, *ready, *retrying, *parked, *blocked, *about_to, *little, *cut,
        *visited;
};

static const struct glyphs plain_glyphs = { "=", "%", "-", "^", "x", ".", "~", ":", ".", "/" };
static const struct glyphs drawn_glyphs = { "\xe2\x95\x90",
                                            "\xe2\x96\x92",
                                            "\xe2\x94\x84",
                                            "\xe2\x86\xbb",
                                            "\xe2\x95\xb3",
                                            "\xc2\xb7",
                                            "~",
                                            ":",
                                            "\xe2\x80\xa6",
                                            "\xe2\x95\xb1" };

/* How much time of a column belongs to bars that are narrower than the column. */
struct narrow {
    uint64_t ns[2]; /* of runs; of all else */
    const char *other;
    bool is_visited; /* a visit is shown even if there is no room for it */
};

struct sheet {
    const struct model *model;
    const struct glyphs *glyphs;
    struct cells cells;
    struct text label;
    struct narrow *narrow; /* for each column of the current row */
    size_t left, columns;  /* of the plot */
    uint64_t from, to;
    bool has_failed, has_visits; /* drawn, so the legend explains them */
};

static size_t column_of(const struct sheet *sheet, uint64_t time)
{
    uint64_t within = time < sheet->from ? 0 : time - sheet->from;
    uint64_t span = sheet->to - sheet->from;
    return (size_t)(within >= span ? sheet->columns : within * sheet->columns / span);
}

static void note_narrow(struct sheet *sheet, size_t at, uint64_t ns, const char *glyph)
{
    bool is_visit = glyph == sheet->glyphs->visited, is_run = glyph == sheet->glyphs->runs;
    if (at < sheet->columns) {
        sheet->narrow[at].ns[is_run ? 0 : 1] += ns;
        sheet->narrow[at].other = is_run ? sheet->narrow[at].other : glyph;
        sheet->narrow[at].is_visited |= is_visit;
    }
}

/* Draws a bar that begins with the sheet's label, or with "|" if the label does not fit. So
 * adjacent bars remain distinct. Visits are distinct without it. */
static void draw_bar(struct sheet *sheet, size_t y, uint64_t from, uint64_t to, const char *glyph)
{
    size_t begin = column_of(sheet, from), end = column_of(sheet, to);
    if (to <= sheet->from) {
        return;
    }
    if (begin == end || to - from < (sheet->to - sheet->from) / sheet->columns) {
        note_narrow(sheet, begin, to - from, glyph);
        return;
    }
    cells_fill(&sheet->cells, sheet->left + begin, y, end - begin, CELLS_PLAIN, glyph);
    if (text_length(sheet->label.data) < end - begin) {
        cells_put(&sheet->cells, sheet->left + begin, y, CELLS_PLAIN, sheet->label.data);
    } else if (glyph != sheet->glyphs->visited) {
        cells_put(&sheet->cells, sheet->left + begin, y, CELLS_PLAIN, "|");
    }
}

/* Fills each column without a bar by what took more than half of its time. If nothing did, but
 * something ran, the column shows `little`. A visit replaces the begin of the bar behind it. */
static void draw_narrow(struct sheet *sheet, size_t y)
{
    uint64_t half = (sheet->to - sheet->from) / sheet->columns / 2;
    for (size_t i = 0; i < sheet->columns; i++) {
        const struct narrow *narrow = &sheet->narrow[i];
        size_t x = sheet->left + i;
        if (narrow->is_visited) {
            cells_put(&sheet->cells, x, y, CELLS_PLAIN, sheet->glyphs->visited);
        }
        if (!cells_is_blank(&sheet->cells, x, y)) {
            continue;
        }
        if (narrow->ns[0] > half) {
            cells_put(&sheet->cells, x, y, CELLS_PLAIN, sheet->glyphs->runs);
        } else if (narrow->ns[1] > half) {
            cells_put(&sheet->cells, x, y, CELLS_PLAIN, narrow->other);
        } else if (narrow->ns[0] > 0) {
            cells_put(&sheet->cells, x, y, CELLS_PLAIN, sheet->glyphs->little);
        }
    }
    memset(sheet->narrow, 0, sheet->columns * sizeof *sheet->narrow);
}

static void draw_task(struct sheet *sheet, size_t y, uint64_t from, uint64_t to, size_t task,
                      const char *glyph)
{
    size_t room = column_of(sheet, to) - column_of(sheet, from);
    sheet->label.size = 0;
    describe_task(&sheet->label, sheet->model, task);
    if (text_length(sheet->label.data) >= room) {
        sheet->label.size = 0;
        describe_number(&sheet->label, sheet->model, task);
    }
    draw_bar(sheet, y, from, to, glyph);
}

/* "#4 close at A" or, with less room, "#4 close" or "#4". */
static void draw_visit(struct sheet *sheet, size_t y, uint64_t from, uint64_t to, size_t entry)
{
    size_t room = column_of(sheet, to) - column_of(sheet, from);
    size_t task = sheet->model->replay->entries[entry].task;
    sheet->has_visits = true;
    sheet->label.size = 0;
    describe_visit(&sheet->label, sheet->model, entry);
    if (text_length(sheet->label.data) >= room) {
        draw_task(sheet, y, from, to, task, sheet->glyphs->visited);
    } else {
        draw_bar(sheet, y, from, to, sheet->glyphs->visited);
    }
}

static void draw_name(struct sheet *sheet, size_t y, const char *name)
{
    size_t end = cells_put(&sheet->cells, 0, y, CELLS_PLAIN, name);
    if (end >= sheet->left) {
        cells_fill(&sheet->cells, sheet->left - 1, y, sheet->cells.width, CELLS_PLAIN, " ");
        cells_put(&sheet->cells, sheet->left - 2, y, CELLS_PLAIN, sheet->glyphs->cut);
    }
}

static void draw_worker(struct sheet *sheet, size_t y, unsigned index)
{
    const struct model_worker *worker = &sheet->model->workers[index];
    char name[24];
    snprintf(name, sizeof name, "worker %u", index);
    draw_name(sheet, y, name);
    for (size_t i = 0; i < worker->span_count; i++) {
        const struct model_span *span = &worker->spans[i];
        uint64_t to = model_until(sheet->model, span->to);
        sheet->label.size = 0;
        text_add(&sheet->label, "%s", "");
        if (span->kind == MODEL_RUNS && span->entry != LANEPOOL_REPLAY_NONE) {
            draw_visit(sheet, y, span->from, to, span->entry);
        } else if (span->kind == MODEL_RUNS) {
            draw_task(sheet, y, span->from, to, span->task, sheet->glyphs->runs);
        } else if (span->kind == MODEL_BLOCKED) {
            describe_blocked_short(&sheet->label, sheet->model, span);
            draw_bar(sheet, y, span->from, to, sheet->glyphs->blocked);
        } else if (span->kind != MODEL_NO_WORK) {
            draw_bar(sheet, y, span->from, to, sheet->glyphs->about_to);
        }
    }
    draw_narrow(sheet, y);
}

/* "#4 1/2 arrived" or, with less room, "1/2". */
static void draw_latched(struct sheet *sheet, size_t y, const struct lane_span *span)
{
    size_t room = column_of(sheet, span->to) - column_of(sheet, span->from);
    sheet->label.size = 0;
    describe_number(&sheet->label, sheet->model, span->task);
    text_add(&sheet->label, " ");
    describe_latch(&sheet->label, sheet->model, span);
    if (text_length(sheet->label.data) >= room && span->arrived > 0) {
        sheet->label.size = 0;
        describe_latch_short(&sheet->label, sheet->model, span);
    }
    draw_bar(sheet, y, span->from, span->to, sheet->glyphs->latched);
}

/* "#4 close is parked" or, with less room, "#4 parked". */
static void draw_failed(struct sheet *sheet, size_t y, const struct lane_span *span)
{
    size_t room = column_of(sheet, span->to) - column_of(sheet, span->from);
    const char *glyph = span->kind == LANE_PARKED ? sheet->glyphs->parked : sheet->glyphs->retrying;
    sheet->has_failed = true;
    sheet->label.size = 0;
    describe_failed(&sheet->label, sheet->model, span);
    if (text_length(sheet->label.data) >= room) {
        sheet->label.size = 0;
        describe_failed_short(&sheet->label, sheet->model, span);
    }
    draw_bar(sheet, y, span->from, span->to, glyph);
}

/* Draws how many tasks wait, one digit for each column. */
static void draw_depth(struct sheet *sheet, size_t y, size_t lane)
{
    struct model_depths depths = model_depths(sheet->model, lane);
    if (depths.count > 1) {
        cells_put(&sheet->cells, 2, y, CELLS_PLAIN, "waiting");
    }
    for (size_t i = 0; i < depths.count; i++) {
        unsigned waiting = depths.items[i].waiting;
        uint64_t until = i + 1 < depths.count ? depths.items[i + 1].time : sheet->model->now;
        char digit[2] = { (char)(waiting > 9 ? '+' : '0' + waiting), 0 };
        if (waiting > 0 && until > sheet->from) {
            size_t begin = column_of(sheet, depths.items[i].time), end = column_of(sheet, until);
            cells_fill(&sheet->cells, sheet->left + begin, y, end - begin, CELLS_PLAIN, digit);
        }
    }
    free(depths.items);
}

static void draw_lane(struct sheet *sheet, size_t y, size_t index)
{
    struct lane_spans spans = { 0 };
    draw_name(sheet, y, sheet->model->lanes[index].name);
    spans_of_lane(sheet->model, index, &spans);
    spans_divide(&spans);
    for (size_t i = 0; i < spans.count; i++) {
        const struct lane_span *span = &spans.items[i];
        if (span->slot > 0) {
            continue; /* tasks share the lane: only the first is shown */
        }
        if (span->kind == LANE_LATCHED) {
            draw_latched(sheet, y, span);
        } else if (span->kind == LANE_VISITED) {
            draw_visit(sheet, y, span->from, span->to, span->entry);
        } else if (span->kind == LANE_PARKED || span->kind == LANE_RETRYING) {
            draw_failed(sheet, y, span);
        } else {
            draw_task(sheet, y, span->from, span->to, span->task,
                      span->kind == LANE_RUNS ? sheet->glyphs->runs : sheet->glyphs->ready);
        }
    }
    spans_fini(&spans);
    draw_narrow(sheet, y);
    draw_depth(sheet, y + 1, index);
}

static void draw_axis(struct sheet *sheet, size_t y)
{
    uint64_t step = units_step(sheet->to - sheet->from, (unsigned)(sheet->columns / TICK_ROOM));
    uint64_t tick = (sheet->from + step - 1) / step * step;
    for (; tick < sheet->to; tick += step) {
        char number[UNITS_TEXT_SIZE];
        size_t x = sheet->left + column_of(sheet, tick);
        x = cells_put(&sheet->cells, x, y, CELLS_PLAIN, "|");
        cells_put(&sheet->cells, x, y, CELLS_PLAIN, units_format_tick(number, tick, step));
    }
}

static void add_legend(struct text *text, const struct sheet *sheet)
{
    const struct glyphs *glyphs = sheet->glyphs;
    text_add(text,
             "\n%s runs  %s latched: at the head, waits for other lanes  %s ready, waits for "
             "a worker\n",
             glyphs->runs, glyphs->latched, glyphs->ready);
    text_add(text,
             "%s worker blocked: all that is pending waits in lanes  %s work is there, not "
             "taken yet\n",
             glyphs->blocked, glyphs->about_to);
    if (sheet->has_failed) {
        text_add(text,
                 "%s failed, will be retried  %s parked: has failed at last, its lanes are "
                 "poisoned\n",
                 glyphs->retrying, glyphs->parked);
    }
    if (sheet->has_visits) {
        text_add(text, "%s a cut visits a lane: all of its visits are one place in the order\n",
                 glyphs->visited);
    }
    if (sheet->model->recording->missed > 0) {
        text_add(text, "%llu events were missed\n",
                 (unsigned long long)sheet->model->recording->missed);
    }
    if (sheet->model->recording->ends_early) {
        text_add(text, "the recording ends early\n");
    }
}

static size_t name_width(const struct model *model)
{
    size_t width = NAME_MIN;
    for (size_t i = 0; i < model->replay->lane_count; i++) {
        size_t length = text_length(model->lanes[i].name);
        width = length > width ? length : width;
    }
    return width < NAME_MAX ? width : NAME_MAX;
}

static void lay_out_sheet(struct sheet *sheet, size_t width, bool is_ascii)
{
    const struct model *model = sheet->model;
    size_t rows = model->recording->worker_count + 2 * model->replay->lane_count + 2;
    sheet->left = name_width(model) + 1;
    width = width < WIDTH_MAX ? width : WIDTH_MAX;
    sheet->columns = width > sheet->left + PLOT_MIN ? width - sheet->left : PLOT_MIN;
    sheet->narrow = memory_zeroed(sheet->columns, sizeof *sheet->narrow);
    cells_init(&sheet->cells, sheet->left + sheet->columns, rows, is_ascii);
}

void timeline_draw(struct text *text, const struct model *model,
                   const struct timeline_options *options)
{
    struct sheet sheet = { .model = model,
                           .glyphs = options->is_ascii ? &plain_glyphs : &drawn_glyphs,
                           .from = options->from,
                           .to = model_until(model, options->to) };
    if (sheet.to <= sheet.from) {
        sheet.to = sheet.from + 1;
    }
    size_t y = 0, *order = model_sorted_lanes(model);
    lay_out_sheet(&sheet, options->width, options->is_ascii);
    for (unsigned i = 0; i < model->recording->worker_count; i++) {
        draw_worker(&sheet, y++, i);
    }
    y++;
    for (size_t i = 0; i < model->replay->lane_count; i++, y += 2) {
        draw_lane(&sheet, y, order[i]);
    }
    draw_axis(&sheet, y);
    cells_print(text, &sheet.cells, false, "", "\n");
    add_legend(text, &sheet);
    cells_fini(&sheet.cells);
    text_fini(&sheet.label);
    free(sheet.narrow);
    free(order);
}
