/*
 * The commands that show a recording.
 */
#ifndef LANEVIEW_RECORDING_COMMANDS_H
#define LANEVIEW_RECORDING_COMMANDS_H

#include "cli/cli.h"

bool recording_commands_run(const struct cli *cli, struct problem *problem);

#endif
