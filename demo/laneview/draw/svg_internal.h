/*
 * The layout and colours of the picture, for the files that draw it.
 */
#ifndef LANEVIEW_SVG_INTERNAL_H
#define LANEVIEW_SVG_INTERNAL_H

#include "draw/svg.h"
#include "model/spans.h"

#define SVG_WIDTH       1000.0
#define SVG_LEFT        88.0 /* of the plot; names are on its left */
#define SVG_RIGHT       984.0
#define SVG_BAR         28.0 /* the height of a row's bars */
#define SVG_WORKER_STEP 34.0
#define SVG_DEPTH       12.0 /* the strip below a lane that shows how many tasks wait */
#define SVG_LANE_STEP   48.0
#define SVG_LANES_MAX   64  /* further lanes are not drawn, and the picture says so */
#define SVG_CHARACTER   6.7 /* the width of a character, estimated generously */

struct svg_canvas {
    struct text *svg;
    const struct model *model;
    uint64_t from, to; /* the time that is shown; to > from */
    size_t *lanes;     /* in the order of their rows */
    size_t *rows;      /* for each lane of the model, its row; LANEPOOL_REPLAY_NONE: not drawn */
    size_t lane_count; /* the number of rows */
    size_t *rollups;   /* for each rollup or cut, its number among these */
    bool has_latched, has_ready, has_retrying, has_parked; /* drawn so far, for the legend */
    bool has_blocked, has_late, has_cuts;
    double workers_y, lanes_y, end_y;
};

/* The x of a time; times outside the plot are moved to its edge. */
double svg_x(const struct svg_canvas *canvas, uint64_t time);

/* The colour of a task: of a rollup or cut by its number among these, of other tasks by their
 * tag. */
const char *svg_colour(const struct svg_canvas *canvas, size_t task);
const char *svg_tag_colour(unsigned tag);

/* The number of the colour and hatching of a rollup or cut. */
unsigned svg_rollup_shade(const struct svg_canvas *canvas, size_t task);

/* The look of bars whose task has failed. The document's defs hold their patterns. */
#define SVG_RETRYING_STYLE "fill=\"url(#retries)\" stroke=\"#0b5fa5\" stroke-dasharray=\"1.5 2\""
#define SVG_PARKED_STYLE   "fill=\"url(#parked)\" stroke=\"#8e2a6b\" stroke-width=\"1.5\""

#define SVG_ROLLUP_SHADES 6
const char *svg_rollup_colour(unsigned shade);

/* Adds a text; `attributes` are further attributes of the SVG element. */
void svg_text(struct text *svg, double x, double y, const char *attributes, const char *text);

void svg_worker_rows(struct svg_canvas *canvas);
void svg_lane_rows(struct svg_canvas *canvas);

/* Draws an area that ties the lanes of each rollup together while it runs. Rows are drawn on
 * top. */
void svg_rollup_ties(struct svg_canvas *canvas);

/* Draws the line of each cut through its lanes, on top of the rows. */
void svg_cut_lines(struct svg_canvas *canvas);

/* Draws what the colours mean. Returns the y below. */
double svg_legend(struct svg_canvas *canvas, double y);

#endif
