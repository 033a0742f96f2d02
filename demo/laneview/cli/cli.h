/*
 * The command line.
 */
#ifndef LANEVIEW_CLI_H
#define LANEVIEW_CLI_H

#include <stdint.h>

#include "lanepool/pool.h"
#include "problem.h"

enum cli_command {
    CLI_HELP,
    CLI_VERSION,
    CLI_TIMELINE,
    CLI_SVG,
    CLI_HTML,
    CLI_CHROME,
    CLI_STATS,
    CLI_PLAN,
    CLI_DOT,
    CLI_REPLAY,
    CLI_SCENARIO,
    CLI_RECORD,
    CLI_PLAY,
    CLI_COMPARE
};

struct cli {
    enum cli_command command;
    const char *help;   /* CLI_HELP: what to print */
    const char *file;   /* the recording or the scenario; NULL lists all scenarios */
    const char *output; /* NULL: standard output */
    bool is_ascii, is_json;
    uint64_t from, to; /* from the recording's zero; `to` is UINT64_MAX for the end */
    uint64_t at;
    unsigned speed_percent;
    unsigned worker_count; /* 0: the scenario's number */
    bool has_layout;       /* false: the scenario's layout */
    lanepool_layout layout;
};

/* Returns false with a usage problem. The texts point into argv. */
bool cli_read(struct cli *cli, int argument_count, char **arguments, struct problem *problem);

#endif
