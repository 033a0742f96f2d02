/*
 * The commands that run a scenario on a real pool.
 */
#ifndef LANEVIEW_LIVE_H
#define LANEVIEW_LIVE_H

#include "cli.h"

bool live_run(const struct cli *cli, struct problem *problem);

#endif
