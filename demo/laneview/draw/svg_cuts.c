/*
 * Owns the line of a cut: down through the rows of its lanes, from visit to visit. The visits are
 * made at different times, but they are one place in the order of all tasks.
 */
#include "draw/svg_internal.h"
#include "model/describe.h"

/* Finds the entry of a task whose lane is drawn in a row; LANEPOOL_REPLAY_NONE if there is none. */
static size_t entry_in_row(const struct svg_canvas *canvas, size_t task, size_t row)
{
    const lanepool_replay_entry *entries = canvas->model->replay->entries;
    size_t index = canvas->model->replay->tasks[task].first_entry;
    while (index != LANEPOOL_REPLAY_NONE && entries[index].lane != canvas->lanes[row]) {
        index = entries[index].next_of_task;
    }
    return index;
}

/* Finds the middle of the last visit of a row's lane; outside the time that is shown it is at the
 * edge of the plot. Returns false if there is no visit. */
static bool find_visit(const struct svg_canvas *canvas, size_t task, size_t row, double *x,
                       bool *is_shown)
{
    size_t entry = entry_in_row(canvas, task, row);
    struct model_visits visits = model_visits_of(canvas->model, entry);
    if (visits.count == 0) {
        return false;
    }
    const struct model_visit *visit = &visits.items[visits.count - 1];
    uint64_t to = model_until(canvas->model, visit->to);
    *x = (svg_x(canvas, visit->from) + svg_x(canvas, to)) / 2;
    *is_shown |= visit->from < canvas->to && to > canvas->from;
    return true;
}

/* Adds the pieces of the line, from each visited row to the next one below. Returns false if there
 * is nothing to draw. */
static bool add_pieces(const struct svg_canvas *canvas, struct text *path, size_t task)
{
    size_t visited = 0;
    bool is_shown = false;
    double x, above_x = 0, above_y = 0;
    for (size_t row = 0; row < canvas->lane_count; row++) {
        double top = canvas->lanes_y + (double)row * SVG_LANE_STEP;
        if (!find_visit(canvas, task, row, &x, &is_shown)) {
            continue;
        }
        if (visited++ > 0) {
            text_add(path, "M%.2f %.1fL%.2f %.1f", above_x, above_y, x, top);
        }
        above_x = x;
        above_y = top + SVG_BAR;
    }
    return is_shown && visited > 1;
}

static void draw_line(struct svg_canvas *canvas, size_t task)
{
    struct text path = { 0 }, tip = { 0 };
    if (add_pieces(canvas, &path, task)) {
        canvas->has_cuts = true;
        describe_task(&tip, canvas->model, task);
        text_add(&tip, ": one place in the order of all lanes");
        text_add(canvas->svg,
                 "<g><path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
                 "stroke-linecap=\"round\"/><title>",
                 path.data, svg_colour(canvas, task));
        text_add_xml(canvas->svg, tip.data);
        text_add(canvas->svg, "</title></g>\n");
    }
    text_fini(&path);
    text_fini(&tip);
}

void svg_cut_lines(struct svg_canvas *canvas)
{
    for (size_t task = 0; task < canvas->model->replay->task_count; task++) {
        if (canvas->model->replay->tasks[task].is_cut) {
            draw_line(canvas, task);
        }
    }
}
