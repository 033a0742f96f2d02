/*
 * The commands that run a scenario on a real pool.
 */
#ifndef LANEVIEW_POOL_COMMANDS_H
#define LANEVIEW_POOL_COMMANDS_H

#include "cli/cli.h"

bool pool_commands_run(const struct cli *cli, struct problem *problem);

#endif
