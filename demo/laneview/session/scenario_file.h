/*
 * Finds and reads the files of scenarios.
 */
#ifndef LANEVIEW_SCENARIO_FILE_H
#define LANEVIEW_SCENARIO_FILE_H

#include "base/text.h"
#include "problem.h"

/* Adds the file that a name means: the name itself if it looks like a file, else the scenario of
 * that name that comes with laneview. */
void scenario_find(struct text *file, const char *name);

/* Reads that file; `name` is what the user wrote. */
bool scenario_load(struct text *text, const char *name, const char *file, struct problem *problem);

#endif
