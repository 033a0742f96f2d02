/*
 * A run that is shown as it goes on, frame by frame: a recording again, or a session that is just
 * running. Without a terminal, a line for each second.
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

/* Until its end, or until the user or a signal ends it. Signals are held. */
bool show_recording(const struct recording *recording, const struct show_options *options,
                    struct problem *problem);

/* The same; takes the session's turns. What is left of it then is the caller's to stop. */
bool show_session(struct session *session, const struct show_options *options,
                  struct problem *problem);

#endif
