/*
 * What the files that draw the SVG share: where things stand, and their colours.
 */
#ifndef LANEVIEW_SVG_INTERNAL_H
#define LANEVIEW_SVG_INTERNAL_H

#include "draw/svg.h"
#include "model/spans.h"

#define SVG_WIDTH       1000.0
#define SVG_LEFT        88.0 /* of the plot; names stand before it */
#define SVG_RIGHT       984.0
#define SVG_BAR         28.0 /* the height of a row's bars */
#define SVG_WORKER_STEP 34.0
#define SVG_DEPTH       12.0 /* the strip below a lane that shows how many wait */
#define SVG_LANE_STEP   48.0
#define SVG_LANES_MAX   64  /* more are not drawn, and the picture says so */
#define SVG_CHARACTER   6.7 /* the width of a character, generously */

struct svg_canvas {
    struct text *svg;
    const struct model *model;
    uint64_t from, to; /* what is shown; to > from */
    size_t *lanes;     /* in the order of their rows */
    size_t *rows;      /* of each lane of the model; MODEL_NONE: not drawn */
    size_t lane_count; /* rows */
    size_t *rollups;   /* of each task that is one: its number among them */
    bool has_latched, has_ready, has_retrying, has_parked; /* what was drawn, for the legend */
    bool has_blocked, has_late;
    double workers_y, lanes_y, end_y;
};

/* The x of a time, within the plot. */
double svg_x(const struct svg_canvas *canvas, uint64_t time);

/* A colour for a task; the colours of rollups tell them apart, those of others their tags. */
const char *svg_colour(const struct svg_canvas *canvas, size_t task);
const char *svg_tag_colour(unsigned tag);

/* The number of the rollup's colour, which is also that of its hatching. */
unsigned svg_rollup_shade(const struct svg_canvas *canvas, size_t task);

/* How bars look whose task has failed; in the defs of the document are their patterns. */
#define SVG_RETRYING_STYLE "fill=\"url(#retries)\" stroke=\"#0b5fa5\" stroke-dasharray=\"1.5 2\""
#define SVG_PARKED_STYLE   "fill=\"url(#kept)\" stroke=\"#8e2a6b\" stroke-width=\"1.5\""

#define SVG_ROLLUP_SHADES 6
const char *svg_rollup_colour(unsigned shade);

/* Text at a place; `attributes` are more of the SVG element. */
void svg_text(struct text *svg, double x, double y, const char *attributes, const char *text);

void svg_worker_rows(struct svg_canvas *canvas);
void svg_lane_rows(struct svg_canvas *canvas);

/* The areas that tie the lanes of each rollup together while it runs; behind all rows. */
void svg_rollup_ties(struct svg_canvas *canvas);

/* What the colours mean; returns the y below. */
double svg_legend(struct svg_canvas *canvas, double y);

#endif
