/* Owns what all parts of the picture need: the time scale, texts, and colours. */
#include "draw/svg_internal.h"

static const char *const tag_colours[] = { "#a9c8ea", "#a8d8b9", "#cfc3ec", "#a5dadd",
                                           "#e2cfa8", "#c3ccd8", "#ecc3d4", "#c9dd9a" };
static const char *const rollup_colours[SVG_ROLLUP_SHADES] = { "#c8570b", "#7a3fa8", "#b3243f",
                                                               "#15726f", "#8a6a00", "#34569c" };

#define TAG_COLOURS (sizeof tag_colours / sizeof *tag_colours)

double svg_x(const struct svg_canvas *canvas, uint64_t time)
{
    double span = (double)(canvas->to - canvas->from);
    if (time <= canvas->from) {
        return SVG_LEFT;
    }
    if (time >= canvas->to) {
        return SVG_RIGHT;
    }
    return SVG_LEFT + (SVG_RIGHT - SVG_LEFT) * (double)(time - canvas->from) / span;
}

void svg_text(struct text *svg, double x, double y, const char *attributes, const char *text)
{
    text_add(svg, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    text_add_xml(svg, text);
    text_add(svg, "</text>\n");
}

const char *svg_tag_colour(unsigned tag)
{
    return tag_colours[(tag + TAG_COLOURS - 1) % TAG_COLOURS]; /* the first tag with a name is 1 */
}

const char *svg_rollup_colour(unsigned shade)
{
    return rollup_colours[shade];
}

unsigned svg_rollup_shade(const struct svg_canvas *canvas, size_t task)
{
    return (unsigned)(canvas->rollups[task] % SVG_ROLLUP_SHADES);
}

const char *svg_colour(const struct svg_canvas *canvas, size_t task)
{
    const lanepool_replay_task *coloured = &canvas->model->replay->tasks[task];
    return model_is_rollup_or_cut(coloured) ? svg_rollup_colour(svg_rollup_shade(canvas, task))
                                            : svg_tag_colour(coloured->tag);
}
