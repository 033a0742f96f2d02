/*
 * Figures that compare two runs of the same tasks: with lanes per key, and with lanes per worker.
 */
#ifndef LANEVIEW_COMPARE_H
#define LANEVIEW_COMPARE_H

#include "base/text.h"
#include "record/recording.h"

/* Both recordings are complete. */
void compare_write(struct text *text, const char *title, const struct recording *per_key,
                   const struct recording *per_worker);

#endif
