/*
 * The file format, for its reader and its writer.
 */
#ifndef LANEVIEW_RECORDING_FORMAT_H
#define LANEVIEW_RECORDING_FORMAT_H

#define RECORDING_WORD  "lanepool-recording "
#define RECORDING_MAGIC RECORDING_WORD "1\n"

/* The last line of a header that is written before the number of records is known. A record of
 * type RECORDING_END then ends the file. Its task is the number of missed events, its object the
 * number of records before it. */
#define RECORDING_OPEN_END "events open\n"
#define RECORDING_END      0

#define RECORDING_LANE_TYPES 5

/* The header's word for each lanepool_event_lane. Only lanes have one: waiting behind tasks
 * needs no name. */
extern const char *const recording_lane_types[RECORDING_LANE_TYPES];

#endif
