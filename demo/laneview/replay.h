/*
 * A recording again, frame by frame.
 */
#ifndef LANEVIEW_REPLAY_H
#define LANEVIEW_REPLAY_H

#include "problem.h"
#include "recording.h"

struct replay_options {
    const char *title; /* clean */
    unsigned speed_percent;
    bool is_ascii;
};

bool replay_run(const struct recording *recording, const struct replay_options *options,
                struct problem *problem);

#endif
