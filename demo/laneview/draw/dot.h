/*
 * Who waits for whom at one moment, as a graph for Graphviz.
 */
#ifndef LANEVIEW_DOT_H
#define LANEVIEW_DOT_H

#include "base/text.h"
#include "model/model.h"

/* The model has been fed the events until that moment, model->now. */
void dot_write(struct text *dot, const struct model *model);

#endif
