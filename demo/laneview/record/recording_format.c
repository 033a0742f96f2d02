/* Owns the words of a recording's header. */
#include "record/recording_format.h"

const char *const recording_lane_types[RECORDING_LANE_TYPES] = { "", "id", "pointer", "bytes",
                                                                 "worker" };
