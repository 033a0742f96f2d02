/*
 * A plan of the tasks of a run: how long they would take with other numbers of workers.
 */
#ifndef LANEVIEW_FORECAST_H
#define LANEVIEW_FORECAST_H

#include "base/text.h"
#include "model/model.h"

/*
 * Writes the plan of all tasks that have run, in the order of their tickets, with the durations
 * that they had. Changes are tried with `workers`; 0: as many as the run had. The model has been
 * fed all events. Returns false with a problem if the lanes of the run are not those of keys.
 */
bool forecast_write(struct text *text, const struct model *model, unsigned workers,
                    struct problem *problem);

#endif
