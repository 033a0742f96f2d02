/**
 * @file
 * lanepool: a pool of worker threads that knows which tasks conflict.
 *
 * Conflicting tasks run in submission order and never together; all others run in parallel. A task
 * over several keys (a rollup) blocks exactly their lanes until it has ended. This header includes
 * all others, except those of the adapters.
 */
#ifndef LANEPOOL_LANEPOOL_H
#define LANEPOOL_LANEPOOL_H

#include "lanepool/check.h"
#include "lanepool/future.h"
#include "lanepool/inspect.h"
#include "lanepool/journal.h"
#include "lanepool/key.h"
#include "lanepool/plan.h"
#include "lanepool/pool.h"
#include "lanepool/replay.h"
#include "lanepool/schedule.h"
#include "lanepool/sequence.h"
#include "lanepool/status.h"
#include "lanepool/task.h"

#endif
