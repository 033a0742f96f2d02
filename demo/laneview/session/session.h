/*
 * A scenario on a real pool: its tasks are submitted when they are due, and what the pool does is
 * gathered in a recording. One thread does both, by taking turns; nothing here waits but for the
 * end of the pool.
 */
#ifndef LANEVIEW_SESSION_H
#define LANEVIEW_SESSION_H

#include <pthread.h>

#include "lanepool/lanepool.h"
#include "problem.h"
#include "record/recording.h"
#include "session/scenario.h"

struct session;

/* What the body of a task knows. */
struct session_task {
    struct session *session;
    const struct scenario_step *step;
    uint64_t duration_ns;
    unsigned attempts; /* one at a time, each on the thread that makes it */
};

struct session {
    const struct scenario *scenario;
    struct recording recording; /* grows with each turn */
    uint64_t read_ns;           /* all events up to here, from the recording's zero, are in it */
    bool is_over;               /* every task has had its call, and all events are there */

    /* The rest is the session's own. */
    unsigned speed_percent;
    lanepool_pool *pool;
    lanepool_trace_reader *reader;
    struct session_task *tasks; /* one for each step */
    lanepool_claim *claims;     /* room for those of one step */
    const struct scenario_step *
        *resolutions; /* to resolve; each stands until there is a kept task */
    size_t resolution_count;
    size_t next_step;
    uint64_t due_ns; /* from zero: when the next step is done */
    bool is_shut_down;
    pthread_mutex_t mutex; /* for the bodies, which wait for their time to be over */
    pthread_cond_t ended;
    bool is_stopped; /* they end at once */
};

/* Makes the pool: as the scenario says. All times are divided by the speed. The scenario must
 * outlive the session, which has to be finished unless this fails. */
bool session_begin(struct session *session, const struct scenario *scenario, unsigned speed_percent,
                   struct problem *problem);

/* Stops what is left of the run, and ends the pool. */
void session_fini(struct session *session);

/* Submits what is due, unless submitting pauses, and reads what has happened. */
bool session_turn(struct session *session, bool submits, struct problem *problem);

/* Submits the next task now, or resolves what is to be resolved before it. */
bool session_submit_next(struct session *session, struct problem *problem);

/* Whether tasks were submitted that have not had their call, and are going to. */
bool session_has_pending(const struct session *session);

/* For how long nothing is due, at most `ns`. */
uint64_t session_idle_ns(const struct session *session, uint64_t ns);

/* The time since the recording's zero. */
uint64_t session_now(const struct session *session);

/* Tasks that run end at once, those that do not run yet are cancelled: further turns bring the
 * session to its end. */
void session_stop(struct session *session);

#endif
