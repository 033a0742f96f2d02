/* Owns a scenario's pool, the functions of its tasks, and the reading of its events. */
#include "session/session.h"

#include <stdlib.h>
#include <time.h>

#include "memory.h"
#include "session/session_internal.h"

#define SECOND_NS 1000000000u

/* The rings of all threads have about EVENTS_IN_ALL events together. A ring is read every few
 * milliseconds, and has at least EVENTS_OF_A_RING. */
#define EVENTS_IN_ALL    ((size_t)1 << 18)
#define EVENTS_OF_A_RING ((size_t)1 << 12)
#define EVENTS_AT_ONCE   4096

/* Between two reads, at most this many tasks are submitted: their events fit into a ring. */
#define SUBMITS_AT_ONCE 200

static uint64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* --- functions of tasks --- */

/* Sleeps until the time is over or the session stops. Tasks sleep rather than compute, so that
 * they do not compete for processors. */
static void sleep_for(struct session *session, uint64_t ns)
{
    uint64_t end = clock_ns() + ns;
    struct timespec until = { (time_t)(end / SECOND_NS), (long)(end % SECOND_NS) };
    if (ns == 0) {
        return;
    }
    pthread_mutex_lock(&session->mutex);
    while (!session->is_stopped &&
           pthread_cond_timedwait(&session->ended, &session->mutex, &until) == 0) {
    }
    pthread_mutex_unlock(&session->mutex);
}

static int run_task_body(lanepool_run *run, void *context)
{
    struct session_task *task = context;
    (void)run;
    sleep_for(task->session, task->duration_ns);
    return task->attempts++ < task->step->failure.fails;
}

static int visit_lane(lanepool_run *run, void *context, size_t index)
{
    const struct session_task *task = context;
    (void)run, (void)index;
    sleep_for(task->session, task->visit_ns);
    return 0;
}

/* --- submitting --- */

static uint64_t scale_time(const struct session *session, uint64_t ns)
{
    return ns / session->speed_percent * 100 +
           ns % session->speed_percent * 100 / session->speed_percent;
}

static lanepool_failure_policy policy_of(const struct session *session,
                                         const struct scenario_step *step)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;
    policy.retries = step->failure.retries;
    policy.delay_ns = scale_time(session, step->failure.delay_ns);
    policy.at_end = step->failure.is_parked ? LANEPOOL_FAILURE_POISON : LANEPOOL_FAILURE_CONTINUE;
    policy.at_poison = step->at_poison;
    return policy;
}

static bool submit_task(struct session *session, const struct scenario_step *step,
                        struct problem *problem)
{
    lanepool_task task = LANEPOOL_TASK_INIT;
    for (size_t i = 0; i < step->claim_count; i++) {
        const struct scenario_claim *claim = &session->scenario->claims[step->first_claim + i];
        session->claims[i] = lanepool_claim_of(lanepool_key_id(claim->key), claim->mode);
    }
    task.function = run_task_body;
    task.at_lane = step->is_cut ? visit_lane : NULL;
    task.context = &session->tasks[step - session->scenario->steps];
    task.claims = session->claims;
    task.claim_count = step->claim_count;
    task.tag = step->tag;
    lanepool_failure_policy policy = policy_of(session, step);
    task.on_failure =
        step->failure.fails > 0 || step->at_poison != LANEPOOL_AT_POISON_WAIT ? &policy : NULL;
    lanepool_status status = lanepool_pool_submit(session->pool, &task);
    return status == LANEPOOL_OK ||
           session_fail_with_status(problem, "a task cannot be submitted", status);
}

/* Does the next step. Pauses count from when they were due, so that delays do not add up. */
static bool do_step(struct session *session, struct problem *problem)
{
    const struct scenario_step *step = &session->scenario->steps[session->next_step++];
    switch (step->kind) {
    case SCENARIO_PAUSE:
        session->due_ns += scale_time(session, step->duration_ns);
        return true;
    case SCENARIO_RESOLVE:
        session->resolutions[session->resolution_count++] = step;
        return true;
    default:
        return submit_task(session, step, problem);
    }
}

static bool has_steps_left(const struct session *session)
{
    return !session->is_shut_down && session->next_step < session->scenario->step_count;
}

bool session_submit_next(struct session *session, struct problem *problem)
{
    const struct scenario_step *steps = session->scenario->steps;
    while (has_steps_left(session) && steps[session->next_step].kind == SCENARIO_PAUSE) {
        session->next_step++;
    }
    return !has_steps_left(session) ||
           (do_step(session, problem) && session_resolve_parked(session, problem));
}

static bool submit_what_is_due(struct session *session, struct problem *problem)
{
    uint64_t now = session_now(session);
    bool done = true;
    for (unsigned i = 0; i < SUBMITS_AT_ONCE && done && has_steps_left(session); i++) {
        if (session->due_ns > now) {
            break;
        }
        done = do_step(session, problem);
    }
    return done;
}

/* --- reading --- */

static bool read_events(struct session *session, struct problem *problem)
{
    static lanepool_event events[EVENTS_AT_ONCE];
    uint64_t now = session_now(session);
    size_t count;
    do {
        lanepool_status status =
            lanepool_trace_read(session->reader, events, EVENTS_AT_ONCE, &count);
        if (status != LANEPOOL_OK) {
            return session_fail_with_status(problem, "events cannot be read", status);
        }
        recording_add(&session->recording, events, count);
    } while (count == EVENTS_AT_ONCE);
    session->read_ns = now;
    session->recording.missed = lanepool_trace_missed(session->reader);
    return true;
}

/*
 * Returns true once the pool has ended: then all of its events can be read. If only parked tasks
 * that no step resolves are left, and tasks behind them, the session is stopped. The recording
 * shows them as parked to its end.
 */
static bool has_ended(struct session *session, struct problem *problem)
{
    lanepool_status status = LANEPOOL_OK;
    if (!session->is_shut_down && !has_steps_left(session)) {
        status = lanepool_pool_shutdown(session->pool);
        session->is_shut_down = true;
        if (status != LANEPOOL_OK) {
            return session_fail_with_status(problem, "the pool cannot be shut down", status);
        }
    }
    if (!session->is_shut_down) {
        return false;
    }
    size_t resolutions = session->resolution_count;
    status = lanepool_pool_await(session->pool, 0);
    if (status == LANEPOOL_PARKED && session_resolve_parked(session, problem) &&
        session->resolution_count == resolutions) {
        session_stop(session);
    }
    return status == LANEPOOL_OK;
}

bool session_turn(struct session *session, bool submits, struct problem *problem)
{
    if (session->is_over) {
        return true;
    }
    if (!submits && session->due_ns < session_now(session)) {
        session->due_ns = session_now(session);
    }
    if ((submits && !submit_what_is_due(session, problem)) ||
        !session_resolve_parked(session, problem)) {
        return false;
    }
    bool is_last = has_ended(session, problem);
    if (!read_events(session, problem)) {
        return false;
    }
    session->is_over = is_last;
    return true;
}

bool session_has_pending(const struct session *session)
{
    lanepool_stats stats;
    return !session->is_over &&
           lanepool_pool_stats(session->pool, &stats, NULL, 0) == LANEPOOL_OK &&
           stats.pending > 0 && !session_has_only_parked_left(session);
}

uint64_t session_idle_ns(const struct session *session, uint64_t ns)
{
    uint64_t now = session_now(session);
    if (!has_steps_left(session)) {
        return ns;
    }
    if (session->due_ns <= now) {
        return 0;
    }
    return session->due_ns - now < ns ? session->due_ns - now : ns;
}

uint64_t session_now(const struct session *session)
{
    return clock_ns() - session->recording.zero_ns;
}

/* --- begin and end --- */

/*
 * Names lanes and tags in the recording's header. Clients are numbers to the pool: names of byte
 * strings would come in events, which can be missed and which cut long names.
 */
static void name_lanes_and_tags(struct session *session)
{
    const struct scenario *scenario = session->scenario;
    for (size_t key = 0; key < scenario->key_count; key++) {
        recording_name_lane(&session->recording, LANEPOOL_EVENT_LANE_ID, key, scenario->keys[key]);
    }
    for (unsigned tag = 1; tag <= scenario->tag_count; tag++) {
        recording_name_tag(&session->recording, tag, scenario->tags[tag]);
    }
}

static void make_tasks(struct session *session)
{
    const struct scenario *scenario = session->scenario;
    size_t most_claims = 0;
    session->tasks = memory_zeroed(scenario->step_count, sizeof *session->tasks);
    for (size_t i = 0; i < scenario->step_count; i++) {
        const struct scenario_step *step = &scenario->steps[i];
        session->tasks[i] =
            (struct session_task){ .session = session,
                                   .step = step,
                                   .duration_ns = scale_time(session, step->duration_ns),
                                   .visit_ns = scale_time(session, step->visit_ns) };
        most_claims = step->claim_count > most_claims ? step->claim_count : most_claims;
    }
    session->claims = memory_zeroed(most_claims, sizeof *session->claims);
    session->resolutions = memory_zeroed(scenario->step_count, sizeof *session->resolutions);
}

static bool make_condition(struct session *session)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&session->ended, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (made && pthread_mutex_init(&session->mutex, NULL) != 0) {
        pthread_cond_destroy(&session->ended);
        made = false;
    }
    return made;
}

static bool make_pool(struct session *session, struct problem *problem)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    size_t share = EVENTS_IN_ALL / (session->scenario->worker_count + 1);
    options.workers = session->scenario->worker_count;
    options.layout = session->scenario->layout;
    options.trace_events = share > EVENTS_OF_A_RING ? share : EVENTS_OF_A_RING;
    lanepool_status status = lanepool_pool_create(&options, &session->pool);
    if (status != LANEPOOL_OK) {
        return session_fail_with_status(problem, "the pool cannot be made", status);
    }
    status = lanepool_trace_open(session->pool, &session->reader);
    if (status != LANEPOOL_OK) {
        lanepool_pool_destroy(session->pool);
        return session_fail_with_status(problem, "events cannot be read", status);
    }
    return true;
}

static void free_session(struct session *session)
{
    recording_fini(&session->recording);
    free(session->tasks);
    free(session->claims);
    free(session->resolutions);
    pthread_cond_destroy(&session->ended);
    pthread_mutex_destroy(&session->mutex);
}

bool session_begin(struct session *session, const struct scenario *scenario, unsigned speed_percent,
                   struct problem *problem)
{
    *session = (struct session){ .scenario = scenario, .speed_percent = speed_percent };
    if (!make_condition(session)) {
        return problem_set(problem, EXIT_CODE_IO, "the tasks' clock cannot be made");
    }
    make_tasks(session);
    recording_init(&session->recording, scenario->worker_count, scenario->layout, clock_ns());
    name_lanes_and_tags(session);
    if (!make_pool(session, problem)) {
        free_session(session);
        return false;
    }
    return true;
}

void session_stop(struct session *session)
{
    pthread_mutex_lock(&session->mutex);
    session->is_stopped = true;
    pthread_cond_broadcast(&session->ended);
    pthread_mutex_unlock(&session->mutex);
    if (!session->is_over) {
        session->is_shut_down = true;
        (void)!lanepool_pool_shutdown_now(session->pool, NULL, NULL);
    }
}

void session_fini(struct session *session)
{
    session_stop(session);
    lanepool_trace_close(session->reader);
    lanepool_pool_destroy(session->pool);
    free_session(session);
}
