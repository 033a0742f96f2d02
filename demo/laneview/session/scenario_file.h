/*
 * Where scenarios lie.
 */
#ifndef LANEVIEW_SCENARIO_FILE_H
#define LANEVIEW_SCENARIO_FILE_H

#include "base/text.h"
#include "problem.h"

/* The file that a name means: itself if it looks like a file, else one that comes along. */
void scenario_find(struct text *file, const char *name);

/* Reads that file; `name` is what the user called it. */
bool scenario_load(struct text *text, const char *name, const char *file, struct problem *problem);

#endif
