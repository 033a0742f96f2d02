/*
 * What the writing and the reading of a recording's file must agree on.
 */
#ifndef LANEVIEW_RECORDING_FORMAT_H
#define LANEVIEW_RECORDING_FORMAT_H

#define RECORDING_WORD  "lanepool-recording "
#define RECORDING_MAGIC RECORDING_WORD "1\n"

/* The last line of a header when nobody knows yet how many records will follow: then a record of
 * this type ends them. Its task is how many events were missed, its object how many were not. */
#define RECORDING_OPEN_END "events open\n"
#define RECORDING_END      0

#define RECORDING_LANE_TYPES 5

/* The words of the header for a lanepool_event_lane; the lanes of tasks have no names. */
extern const char *const recording_lane_types[RECORDING_LANE_TYPES];

#endif
