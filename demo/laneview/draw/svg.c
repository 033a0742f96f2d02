/* Owns the document: its frame, its time axis, and the order in which parts are drawn. */
#include "draw/svg.h"

#include <stdlib.h>

#include "base/units.h"
#include "draw/svg_internal.h"
#include "memory.h"

#define TITLE_Y   26.0
#define FIRST_Y   58.0
#define TICKS     10
#define AXIS_ROOM 36.0

static void add_patterns(struct text *svg, const struct svg_canvas *canvas)
{
    static const char retrying[] =
        "<pattern id=\"retries\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"6\" height=\"6\" fill=\"#e9f2fb\"/>"
        "<circle cx=\"3\" cy=\"3\" r=\"1.2\" fill=\"#0b5fa5\" fill-opacity=\"0.75\"/></pattern>\n";
    static const char parked[] =
        "<pattern id=\"parked\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\">"
        "<rect width=\"8\" height=\"8\" fill=\"#f6e6ef\"/>"
        "<path d=\"M0 0L8 8M8 0L0 8\" stroke=\"#8e2a6b\" stroke-opacity=\"0.55\"/></pattern>\n";
    text_add(svg, "<defs>\n");
    for (unsigned shade = 0; shade < SVG_ROLLUP_SHADES; shade++) {
        const char *colour = svg_rollup_colour(shade);
        text_add(svg,
                 "<pattern id=\"latched%u\" width=\"7\" height=\"7\" "
                 "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
                 "<rect width=\"7\" height=\"7\" fill=\"#ffffff\"/>"
                 "<rect width=\"7\" height=\"7\" fill=\"%s\" fill-opacity=\"0.12\"/>"
                 "<rect width=\"2\" height=\"7\" fill=\"%s\" fill-opacity=\"0.6\"/></pattern>\n",
                 shade, colour, colour);
    }
    text_add(svg, "%s%s</defs>\n", canvas->has_retrying ? retrying : "",
             canvas->has_parked ? parked : "");
}

/* "seed: 3 workers, lanes per key, 9 tasks in 85 ms". */
static void add_title(struct svg_canvas *canvas, const struct svg_options *options)
{
    const struct recording *recording = canvas->model->recording;
    struct text facts = { 0 };
    char number[UNITS_TEXT_SIZE];
    text_add(&facts, "%u worker%s, lanes per %s, %zu task%s in %s", recording->worker_count,
             recording->worker_count == 1 ? "" : "s",
             recording->layout == LANEPOOL_PER_WORKER ? "worker" : "key",
             canvas->model->replay->task_count, canvas->model->replay->task_count == 1 ? "" : "s",
             units_format(number, canvas->model->now));
    if (recording->missed > 0) {
        text_add(&facts, "; %llu events were missed", (unsigned long long)recording->missed);
    }
    if (recording->ends_early) {
        text_add(&facts, "; the recording ends early");
    }
    if (canvas->lane_count < canvas->model->replay->lane_count) {
        text_add(&facts, "; %zu of %zu lanes are drawn", canvas->lane_count,
                 canvas->model->replay->lane_count);
    }
    svg_text(canvas->svg, 16, TITLE_Y, "font-size=\"17\" font-weight=\"600\" fill=\"#1d2733\"",
             options->title);
    svg_text(canvas->svg, SVG_RIGHT, TITLE_Y, "font-size=\"12.5\" text-anchor=\"end\"", facts.data);
    text_fini(&facts);
}

static void add_axis(struct svg_canvas *canvas)
{
    uint64_t step = units_step(canvas->to - canvas->from, TICKS);
    uint64_t tick = (canvas->from + step - 1) / step * step;
    for (; tick <= canvas->to; tick += step) {
        char number[UNITS_TEXT_SIZE];
        double x = svg_x(canvas, tick);
        text_add(canvas->svg,
                 "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#8795a6\" stroke-opacity=\"0.35\" "
                 "stroke-dasharray=\"2 3\"/>\n",
                 x, canvas->workers_y, canvas->end_y + 4);
        if (x < SVG_RIGHT - 8) {
            svg_text(canvas->svg, x, canvas->end_y + 19,
                     "font-size=\"11.5\" text-anchor=\"middle\"",
                     units_format_tick(number, tick, step));
        }
    }
}

static void add_row_grounds(struct svg_canvas *canvas)
{
    static const char format[] =
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"3\" fill=\"#f1f4f7\"/>\n";
    double width = SVG_RIGHT - SVG_LEFT;
    for (unsigned i = 0; i < canvas->model->recording->worker_count; i++) {
        text_add(canvas->svg, format, SVG_LEFT, canvas->workers_y + i * SVG_WORKER_STEP, width,
                 SVG_BAR);
    }
    for (size_t i = 0; i < canvas->lane_count; i++) {
        text_add(canvas->svg, format, SVG_LEFT, canvas->lanes_y + (double)i * SVG_LANE_STEP, width,
                 SVG_BAR);
    }
}

static void number_rollups(struct svg_canvas *canvas)
{
    size_t count = 0;
    canvas->rollups = memory_zeroed(canvas->model->replay->task_count, sizeof *canvas->rollups);
    for (size_t i = 0; i < canvas->model->replay->task_count; i++) {
        if (model_is_rollup_or_cut(&canvas->model->replay->tasks[i])) {
            canvas->rollups[i] = count++;
        }
    }
}

static void lay_out_rows(struct svg_canvas *canvas)
{
    const struct model *model = canvas->model;
    canvas->lanes = model_sorted_lanes(model);
    canvas->lane_count =
        model->replay->lane_count < SVG_LANES_MAX ? model->replay->lane_count : SVG_LANES_MAX;
    canvas->rows = memory_zeroed(model->replay->lane_count, sizeof *canvas->rows);
    for (size_t i = 0; i < model->replay->lane_count; i++) {
        canvas->rows[canvas->lanes[i]] = i < canvas->lane_count ? i : LANEPOOL_REPLAY_NONE;
    }
    number_rollups(canvas);
    canvas->workers_y = FIRST_Y;
    canvas->lanes_y = FIRST_Y + model->recording->worker_count * SVG_WORKER_STEP + 28;
    canvas->end_y = canvas->lanes_y + (double)canvas->lane_count * SVG_LANE_STEP;
}

static void draw_plot(struct svg_canvas *canvas)
{
    static const char heading[] =
        "font-size=\"11\" font-weight=\"600\" letter-spacing=\"1.2\" fill=\"#66758a\"";
    svg_text(canvas->svg, 16, canvas->workers_y - 8, heading, "WORKERS");
    if (canvas->lane_count > 0) {
        svg_text(canvas->svg, 16, canvas->lanes_y - 8, heading, "LANES");
    }
    svg_rollup_ties(canvas);
    add_row_grounds(canvas);
    add_axis(canvas);
    svg_worker_rows(canvas);
    svg_lane_rows(canvas);
    svg_cut_lines(canvas);
}

/* Draws the parts first: the document begins with its height, which is known only afterwards. */
void svg_draw(struct text *svg, const struct model *model, const struct svg_options *options)
{
    struct text parts = { 0 };
    struct svg_canvas canvas = {
        .svg = &parts, .model = model, .from = options->from, .to = model_until(model, options->to)
    };
    if (canvas.to <= canvas.from) {
        canvas.to = canvas.from + 1;
    }
    lay_out_rows(&canvas);
    add_title(&canvas, options);
    draw_plot(&canvas);
    double height = svg_legend(&canvas, canvas.end_y + AXIS_ROOM);
    text_add(svg,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" "
             "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#3d4b5c\">\n",
             SVG_WIDTH, height, SVG_WIDTH, height);
    add_patterns(svg, &canvas);
    text_add(svg, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"#ffffff\"/>\n", SVG_WIDTH, height);
    text_add_bytes(svg, parts.data, parts.size);
    text_add(svg, "</svg>\n");
    text_fini(&parts);
    free(canvas.lanes);
    free(canvas.rows);
    free(canvas.rollups);
}
