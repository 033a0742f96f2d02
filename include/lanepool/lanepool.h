/**
 * @file
 * lanepool: a pool of worker threads that knows which tasks conflict.
 *
 * Conflicting tasks run in submission order and never together; all others
 * run in parallel; a task over several keys (a rollup) blocks exactly their
 * lanes, and nothing else, until it is done. This header is all of them.
 */
#ifndef LANEPOOL_LANEPOOL_H
#define LANEPOOL_LANEPOOL_H

#include "lanepool/cancel.h"
#include "lanepool/claim.h"
#include "lanepool/context.h"
#include "lanepool/delay.h"
#include "lanepool/executor.h"
#include "lanepool/export.h"
#include "lanepool/failure.h"
#include "lanepool/future.h"
#include "lanepool/group.h"
#include "lanepool/held.h"
#include "lanepool/pause.h"
#include "lanepool/pool.h"
#include "lanepool/pump.h"
#include "lanepool/sequence.h"
#include "lanepool/snapshot.h"
#include "lanepool/stats.h"
#include "lanepool/status.h"
#include "lanepool/task.h"
#include "lanepool/times.h"
#include "lanepool/trace.h"
#include "lanepool/version.h"
#include "lanepool/wait_many.h"

#endif
