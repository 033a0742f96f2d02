/*
 * Runs a scenario on a real pool: submits its tasks when they are due, and gathers the pool's
 * events in a recording. One thread does both by turns. Only session_fini() waits for tasks.
 */
#ifndef LANEVIEW_SESSION_H
#define LANEVIEW_SESSION_H

#include <pthread.h>

#include "lanepool/lanepool.h"
#include "problem.h"
#include "record/recording.h"
#include "session/scenario.h"

struct session;

/* The context of a task's function and visits. */
struct session_task {
    struct session *session;
    const struct scenario_step *step;
    uint64_t duration_ns, visit_ns;
    unsigned attempts; /* made so far; not atomic, because attempts follow one another */
};

struct session {
    const struct scenario *scenario;
    struct recording recording; /* grows with each turn */
    uint64_t read_ns; /* the recording has all events up to this time, counted from its zero */
    bool is_over;     /* every task has ended, and all events have been read */

    /* The rest is private. */
    unsigned speed_percent;
    lanepool_pool *pool;
    lanepool_trace_reader *reader;
    struct session_task *tasks;               /* one for each step */
    lanepool_claim *claims;                   /* room for the claims of one step */
    const struct scenario_step **resolutions; /* resolve steps that have found no parked task yet */
    size_t resolution_count;
    size_t next_step;
    uint64_t due_ns; /* when the next step is due, from the recording's zero */
    bool is_shut_down;
    pthread_mutex_t mutex; /* for the functions that sleep */
    pthread_cond_t ended;
    bool is_stopped; /* tasks return at once */
};

/* Creates the pool that the scenario describes. All times are divided by the speed. The scenario
 * must outlive the session. If this returns true, call session_fini(). */
bool session_begin(struct session *session, const struct scenario *scenario, unsigned speed_percent,
                   struct problem *problem);

/* Stops what is left of the run, waits for it, and destroys the pool. */
void session_fini(struct session *session);

/* Submits what is due if `submits` is true, and reads new events. */
bool session_turn(struct session *session, bool submits, struct problem *problem);

/* Does the next step now: submits a task or resolves one. Pauses are skipped. */
bool session_submit_next(struct session *session, struct problem *problem);

/* Returns true if submitted tasks are still to run. Parked tasks, and tasks that wait behind
 * them, do not count. */
bool session_has_pending(const struct session *session);

/* How long until the next step is due, at most `ns`. */
uint64_t session_idle_ns(const struct session *session, uint64_t ns);

/* The current time from the recording's zero. */
uint64_t session_now(const struct session *session);

/* Makes running tasks return at once, and cancels the others. Further turns bring the session to
 * its end. */
void session_stop(struct session *session);

#endif
