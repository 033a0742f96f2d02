/* When the running tasks of a snapshot were called, from events. */
#ifndef LANEPOOL_SRC_OBSERVE_SNAPSHOT_STARTS_H
#define LANEPOOL_SRC_OBSERVE_SNAPSHOT_STARTS_H

#include "lanepool/inspect.h"
#include "task/event_ring.h"

/* Sets `started_ns` of the running tasks whose START events the rings still have. O(events), but
 * short if all running tasks have just been called. Returns false if memory cannot be
 * allocated. */
bool lanepool_i_snapshot_starts_read(const lanepool_i_rings *rings,
                                     const lanepool_snapshot *snapshot,
                                     lanepool_snapshot_task *tasks);

#endif
