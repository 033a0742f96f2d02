/*
 * Shared by the files of the session.
 */
#ifndef LANEVIEW_SESSION_INTERNAL_H
#define LANEVIEW_SESSION_INTERNAL_H

#include "session/session.h"

/* Reports a status of the pool as a problem; always returns false. */
bool session_fail_with_status(struct problem *problem, const char *what, lanepool_status status);

/* Resolves parked tasks for which there is a resolve step. */
bool session_resolve_parked(struct session *session, struct problem *problem);

/* Returns true if nothing can run until a parked task is resolved. */
bool session_has_only_parked_left(const struct session *session);

#endif
