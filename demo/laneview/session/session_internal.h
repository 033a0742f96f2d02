/*
 * What the files of the session share.
 */
#ifndef LANEVIEW_SESSION_INTERNAL_H
#define LANEVIEW_SESSION_INTERNAL_H

#include "session/session.h"

/* Says what a pool's answer means for the session; always false. */
bool session_failed(struct problem *problem, const char *what, lanepool_status status);

/* Resolves the kept tasks for which there is an order. */
bool session_carry_out_orders(struct session *session, struct problem *problem);

/* Whether nothing goes on but by resolving a task that is kept. */
bool session_is_held(const struct session *session);

#endif
