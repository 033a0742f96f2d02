/*
 * What the writing and the reading of a recording's file must agree on.
 */
#ifndef LANEVIEW_RECORDING_BYTES_H
#define LANEVIEW_RECORDING_BYTES_H

#define RECORDING_MAGIC "lanepool-recording 1\n"

#define RECORDING_LANE_TYPES 5

/* The words of the header for a lanepool_event_lane; the lanes of tasks have no names. */
extern const char *const recording_lane_types[RECORDING_LANE_TYPES];

#endif
