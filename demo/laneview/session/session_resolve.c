/* Owns the resolving of parked tasks. */
#include "session/session_internal.h"

/* lanepool_pool_quiesce() waits this long before it says that only parked tasks are left. */
#define QUIESCE_NS 1000000u

bool session_fail_with_status(struct problem *problem, const char *what, lanepool_status status)
{
    return problem_set(problem, EXIT_CODE_IO, "%s: %s", what, lanepool_status_text(status));
}

/* Takes the oldest resolve step for a client of a parked task; NULL if there is none. */
static const struct scenario_step *take_resolution(struct session *session,
                                                   const struct scenario_step *parked)
{
    const struct scenario_step *taken = NULL;
    size_t left = 0;
    for (size_t i = 0; i < session->resolution_count; i++) {
        const struct scenario_step *step = session->resolutions[i];
        if (!taken && scenario_claims(session->scenario, parked, step->key)) {
            taken = step;
        } else {
            session->resolutions[left++] = step;
        }
    }
    session->resolution_count = left;
    return taken;
}

bool session_resolve_parked(struct session *session, struct problem *problem)
{
    lanepool_parked_tasks *failures;
    if (session->resolution_count == 0 || session->is_stopped) {
        return true;
    }
    lanepool_status status = lanepool_pool_parked(session->pool, &failures);
    for (size_t i = 0; status == LANEPOOL_OK && i < failures->count; i++) {
        const struct session_task *task = failures->tasks[i].context;
        const struct scenario_step *step = take_resolution(session, task->step);
        if (step) {
            status =
                lanepool_pool_resolve(session->pool, failures->tasks[i].ticket, step->resolution);
        }
    }
    lanepool_parked_tasks_release(failures);
    return status == LANEPOOL_OK ||
           session_fail_with_status(problem, "a task cannot be resolved", status);
}

bool session_has_only_parked_left(const struct session *session)
{
    lanepool_parked_tasks *failures;
    if (lanepool_pool_parked(session->pool, &failures) != LANEPOOL_OK) {
        return false;
    }
    bool has_parked = failures->count > 0;
    lanepool_parked_tasks_release(failures);
    return has_parked && lanepool_pool_quiesce(session->pool, QUIESCE_NS) == LANEPOOL_PARKED;
}
