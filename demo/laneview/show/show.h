/*
 * Shows a run frame by frame: a recording, or a session while it runs. Without a terminal, one line
 * a second.
 */
#ifndef LANEVIEW_SHOW_H
#define LANEVIEW_SHOW_H

#include "record/recording.h"
#include "session/session.h"

struct show_options {
    const char *title;      /* clean */
    unsigned speed_percent; /* of a recording */
    bool is_ascii;
};

/* Shows a recording until its end, or until the user or a signal ends it. Call signals_hold()
 * before. */
bool show_recording(const struct recording *recording, const struct show_options *options,
                    struct problem *problem);

/* Shows a session likewise, and takes its turns. The caller stops what is left of the session. */
bool show_session(struct session *session, const struct show_options *options,
                  struct problem *problem);

#endif
