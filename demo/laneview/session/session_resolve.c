/* Owns what becomes of the tasks of a session that are kept. */
#include "session/session_internal.h"

#define HELD_NS 1000000u /* who asks whether a pool is held up has to wait for a moment */

bool session_failed(struct problem *problem, const char *what, lanepool_status status)
{
    return problem_set(problem, EXIT_CODE_IO, "%s: %s", what, lanepool_status_text(status));
}

/* Takes the oldest order for a client of a kept task; NULL if there is none. */
static const struct scenario_step *take_order(struct session *session,
                                              const struct scenario_step *kept)
{
    const struct scenario_step *taken = NULL;
    size_t left = 0;
    for (size_t i = 0; i < session->order_count; i++) {
        const struct scenario_step *order = session->orders[i];
        if (!taken && scenario_claims(session->scenario, kept, order->key)) {
            taken = order;
        } else {
            session->orders[left++] = order;
        }
    }
    session->order_count = left;
    return taken;
}

bool session_carry_out_orders(struct session *session, struct problem *problem)
{
    lanepool_failures *failures;
    if (session->order_count == 0 || session->is_stopped) {
        return true;
    }
    lanepool_status status = lanepool_pool_failures(session->pool, &failures);
    for (size_t i = 0; status == LANEPOOL_OK && i < failures->count; i++) {
        const struct session_job *job = failures->tasks[i].context;
        const struct scenario_step *order = take_order(session, job->step);
        if (order) {
            status =
                lanepool_pool_resolve(session->pool, failures->tasks[i].ticket, order->resolution);
        }
    }
    lanepool_failures_release(failures);
    return status == LANEPOOL_OK || session_failed(problem, "a task cannot be resolved", status);
}

bool session_is_held(const struct session *session)
{
    lanepool_failures *failures;
    if (lanepool_pool_failures(session->pool, &failures) != LANEPOOL_OK) {
        return false;
    }
    bool has_kept = failures->count > 0;
    lanepool_failures_release(failures);
    return has_kept && lanepool_pool_quiesce(session->pool, HELD_NS) == LANEPOOL_HELD;
}
