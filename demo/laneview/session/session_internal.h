/*
 * What the files of the session share.
 */
#ifndef LANEVIEW_SESSION_INTERNAL_H
#define LANEVIEW_SESSION_INTERNAL_H

#include "session/session.h"

/* Says what a pool's answer means for the session; always false. */
bool session_fail_with_status(struct problem *problem, const char *what, lanepool_status status);

/* Resolves the kept tasks for which there is an order. */
bool session_resolve_parked(struct session *session, struct problem *problem);

/* Whether nothing goes on but by resolving a task that is kept. */
bool session_has_only_parked_left(const struct session *session);

#endif
