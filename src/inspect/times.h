/*
 * The histograms of added-up times.
 */
#ifndef LANEPOOL_SRC_INSPECT_TIMES_H
#define LANEPOOL_SRC_INSPECT_TIMES_H

#include "inspect/histogram.h"

typedef enum lanepool_i_times_phase {
    LANEPOOL_I_TIMES_WAITING,
    LANEPOOL_I_TIMES_LATCHED,
    LANEPOOL_I_TIMES_READY,
    LANEPOOL_I_TIMES_RUNNING,
    LANEPOOL_I_TIMES_PHASES
} lanepool_i_times_phase;

/* Returns the histogram of a row, which is one of those that lanepool_times_rows() counts; NULL if
 * the row is of a lane. `tag` receives the row's tag. */
const lanepool_i_histogram *lanepool_i_times_of_tag(const lanepool_times *times, size_t row,
                                                    lanepool_i_times_phase phase, uint64_t *tag);

/* Sets *mean_ns to how long the tasks with this tag have run on average. Returns false if none has
 * ended. */
bool lanepool_i_times_mean_of_tag(const lanepool_times *times, uint32_t tag, uint64_t *mean_ns);

#endif
