/*
 * Shared by the files of the model.
 */
#ifndef LANEVIEW_MODEL_INTERNAL_H
#define LANEVIEW_MODEL_INTERNAL_H

#include "model/model.h"

/* Names the lanes that the event added or named. */
void model_update_lanes(struct model *model, const lanepool_event *event);

/* Brings the spans of all workers up to date. */
void model_update_workers(struct model *model);

#endif
