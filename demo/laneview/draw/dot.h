/*
 * The tasks and lanes of one moment, and which task waits for which, as a graph for Graphviz.
 */
#ifndef LANEVIEW_DOT_H
#define LANEVIEW_DOT_H

#include "base/text.h"
#include "model/model.h"

/* The model has been fed all events up to that moment, model->now. */
void dot_write(struct text *dot, const struct model *model);

#endif
