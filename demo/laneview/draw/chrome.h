/*
 * A run in the Trace Event Format, which ui.perfetto.dev and chrome://tracing read.
 */
#ifndef LANEVIEW_CHROME_H
#define LANEVIEW_CHROME_H

#include "base/text.h"
#include "model/model.h"

/* The model has been fed all events. */
void chrome_write(struct text *json, const struct model *model);

#endif
