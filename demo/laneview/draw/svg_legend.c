/* Owns the legend, which explains the colours. */
#include <stdio.h>
#include <string.h>

#include "draw/svg_internal.h"
#include "model/describe.h"

struct legend {
    struct text *svg;
    double x, y;
    double sample_x; /* of the last item */
};

/* Estimates the width of a text for the wider ones of the usual fonts. */
static double estimate_width(const char *text)
{
    double width = 0;
    for (; *text; text++) {
        width += strchr(" ijlrtf,.:'", *text) ? 4.2 : strchr("mw", *text) ? 10.4 : 7.5;
    }
    return width;
}

/* Adds a sample and its text, on the next line if this line is full. */
static void add_legend_item(struct legend *legend, const char *sample, const char *text)
{
    double width = 34 + estimate_width(text) + 14;
    if (legend->x + width > SVG_RIGHT && legend->x > SVG_LEFT) {
        legend->x = SVG_LEFT;
        legend->y += 22;
    }
    legend->sample_x = legend->x;
    text_add(legend->svg,
             "<rect x=\"%.1f\" y=\"%.1f\" width=\"26\" height=\"14\" rx=\"2.5\" %s/>\n", legend->x,
             legend->y, sample);
    svg_text(legend->svg, legend->x + 33, legend->y + 11.5, "font-size=\"12\"", text);
    legend->x += width;
}

static void add_tag_items(struct svg_canvas *canvas, struct legend *legend)
{
    bool is_there[RECORDING_TAGS] = { false };
    for (size_t i = 0; i < canvas->model->replay->task_count; i++) {
        const lanepool_replay_task *task = &canvas->model->replay->tasks[i];
        char sample[64];
        if (model_is_rollup_or_cut(task) || is_there[task->tag]) {
            continue;
        }
        is_there[task->tag] = true;
        snprintf(sample, sizeof sample, "fill=\"%s\"", svg_tag_colour(task->tag));
        add_legend_item(legend, sample, describe_tag(canvas->model, i));
    }
}

static bool has_rollups(const struct model *model)
{
    bool found = false;
    for (size_t i = 0; i < model->replay->task_count && !found; i++) {
        found = model_is_rollup(&model->replay->tasks[i]);
    }
    return found;
}

/* The sample is a piece of the first cut's line, with two visits. */
static void add_cut_item(const struct svg_canvas *canvas, struct legend *legend)
{
    size_t task = 0;
    while (!canvas->model->replay->tasks[task].is_cut) {
        task++;
    }
    const char *colour = svg_colour(canvas, task);
    add_legend_item(legend, "fill=\"none\"", "a cut visits its lanes: one place in their order");
    text_add(legend->svg,
             "<path d=\"M%.1f %.1fv5l14 4v5\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n",
             legend->sample_x + 6, legend->y, colour);
}

double svg_legend(struct svg_canvas *canvas, double y)
{
    struct legend legend = { canvas->svg, SVG_LEFT, y, SVG_LEFT };
    add_tag_items(canvas, &legend);
    if (has_rollups(canvas->model)) {
        char sample[64];
        snprintf(sample, sizeof sample, "fill=\"%s\"", svg_rollup_colour(0));
        add_legend_item(&legend, sample, "a rollup runs, in all of its lanes");
    }
    if (canvas->has_cuts) {
        add_cut_item(canvas, &legend);
    }
    if (canvas->has_latched) {
        add_legend_item(&legend,
                        "fill=\"url(#latched0)\" stroke=\"#c8570b\" stroke-opacity=\"0.6\"",
                        "latched: at the lane's head, waits for its other lanes");
    }
    if (canvas->has_ready) {
        add_legend_item(&legend, "fill=\"#ffffff\" stroke=\"#8795a6\" stroke-dasharray=\"3 2\"",
                        "ready, waits for a worker");
    }
    if (canvas->has_retrying) {
        add_legend_item(&legend, SVG_RETRYING_STYLE, "failed, will be retried");
    }
    if (canvas->has_parked) {
        add_legend_item(&legend, SVG_PARKED_STYLE,
                        "parked: has failed at last, the lane is poisoned");
    }
    if (canvas->has_blocked) {
        add_legend_item(&legend, "fill=\"#fbe3e3\"",
                        canvas->has_retrying || canvas->has_parked
                            ? "worker blocked: all that is pending has failed or waits in lanes"
                            : "worker blocked: all that is pending waits in lanes");
    }
    if (canvas->has_late) {
        add_legend_item(&legend, "fill=\"#fbe9b7\"", "worker about to take work");
    }
    add_legend_item(&legend, "fill=\"#f1f4f7\"", "no work");
    add_legend_item(&legend, "fill=\"#b9c4d0\"", "below a lane: how many wait in it");
    return legend.y + 30;
}
