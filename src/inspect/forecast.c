/*
 * Owns the plan that a snapshot becomes.
 *
 * Tasks that run come first, then those that have failed, then the ready ones in the order of their
 * queues, then the others by ticket. In each lane the granted entries precede the waiting ones, so
 * this order is that of all lanes. A task that others are `behind` has a lane of its own, which it
 * claims EXCLUSIVE and they claim SHARED.
 */
#include "inspect/forecast_parts.h"

#include "inspect/memory.h"
#include "inspect/times.h"

#include <stdlib.h>
#include <string.h>

#define NONE LANEPOOL_SNAPSHOT_NONE

struct ready_task {
    size_t task;
    uint32_t in_queue;
};

struct making {
    lanepool_i_forecast_plan made;
    lanepool_expect_fn expect;
    void *user;
    size_t task; /* the one in question */
    size_t undated;
    bool *leads;              /* by task: others are behind it */
    bool *has_gate;           /* by lane */
    struct ready_task *ready; /* by task */
    lanepool_claim *claims;   /* of the task being added */
};

/* --- tasks --- */

static void claim_lane(struct making *making, lanepool_plan_task *planned, size_t lane,
                       uint32_t mode)
{
    making->claims[planned->claim_count++] =
        lanepool_claim_of(lanepool_key_id(lane), (lanepool_mode)mode);
}

/* A barrier and the tasks that it holds back are behind others, and make no visits before. The task
 * that a barrier is behind must end, also if it is a cut. */
static void claim_entries(struct making *making, size_t task, lanepool_plan_task *planned)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    const lanepool_snapshot_entry *entry = &snapshot->entries[snapshot->tasks[task].first_entry];
    const lanepool_snapshot_entry *end = entry + snapshot->tasks[task].entry_count;
    planned->claims = making->claims;
    for (; entry < end; entry++) {
        if (entry->lane == NONE) {
            claim_lane(making, planned, snapshot->lane_count + entry->behind, LANEPOOL_SHARED);
            planned->form = LANEPOOL_PLAN_PLAIN;
        } else if (!snapshot->lanes[entry->lane].by_rule) {
            claim_lane(making, planned, entry->lane, entry->mode);
        }
    }
    if (planned->claim_count == 0)
        planned->form = LANEPOOL_PLAN_PLAIN;
    if (!making->leads[task])
        return;
    claim_lane(making, planned, snapshot->lane_count + task, LANEPOOL_EXCLUSIVE);
    if (planned->form == LANEPOOL_PLAN_CUT)
        planned->form = LANEPOOL_PLAN_PROGRESSIVE;
}

static lanepool_status add_planned(struct making *making, size_t task,
                                   const lanepool_plan_task *planned)
{
    lanepool_plan *plan = making->made.plan;
    lanepool_status status = lanepool_plan_add(plan, planned);
    if (status != LANEPOOL_OK)
        return status;
    making->made.task_of[plan->task_count - 1] = task;
    if (task == making->task)
        making->made.target = plan->task_count - 1;
    return LANEPOOL_OK;
}

static uint64_t time_until(uint64_t now_ns, uint64_t then_ns)
{
    uint64_t ns = then_ns > now_ns ? then_ns - now_ns : 0;
    return ns <= INT64_MAX ? ns : LANEPOOL_I_PLAN_ENDLESS;
}

/* Returns what is left of a running task's duration. */
static uint64_t left_of(struct making *making, size_t task, uint64_t duration_ns)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    uint64_t started_ns = snapshot->tasks[task].started_ns;
    making->undated += started_ns == 0;
    uint64_t ran_ns = started_ns != 0 ? time_until(started_ns, snapshot->time_ns) : 0;
    return duration_ns > ran_ns ? duration_ns - ran_ns : 0;
}

/* A worker that waits inside a task runs another one, so the outer task has no worker. */
static bool has_worker(const lanepool_snapshot *snapshot, size_t task)
{
    size_t worker = snapshot->tasks[task].worker;
    return worker != NONE && snapshot->workers[worker].task == task;
}

static lanepool_status add_snapshot_task(struct making *making, size_t index)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    const lanepool_snapshot_task *task = &snapshot->tasks[index];
    lanepool_expected expected = { 0 };
    bool is_known = task->state != LANEPOOL_SNAPSHOT_PARKED &&
                    making->expect(making->user, snapshot, index, &expected);
    if (!is_known)
        expected = (lanepool_expected){ 0 };
    lanepool_plan_task planned = { .form = (lanepool_plan_form)task->form,
                                   .duration_ns = expected.duration_ns };
    claim_entries(making, index, &planned);
    lanepool_i_plan_begin begin = LANEPOOL_I_PLAN_WAITS;
    if (task->state == LANEPOOL_SNAPSHOT_RUNNING) {
        planned.form = LANEPOOL_PLAN_PLAIN;
        planned.duration_ns = left_of(making, index, expected.duration_ns);
        begin = has_worker(snapshot, index) ? LANEPOOL_I_PLAN_RUNS : LANEPOOL_I_PLAN_RUNS_APART;
    } else if (task->state == LANEPOOL_SNAPSHOT_RETRYING) {
        begin = LANEPOOL_I_PLAN_RETURNS;
    } else if (task->state == LANEPOOL_SNAPSHOT_PARKED) {
        planned.form = LANEPOOL_PLAN_PLAIN;
        begin = LANEPOOL_I_PLAN_RUNS_APART;
    }
    if (planned.form != LANEPOOL_PLAN_PLAIN)
        planned.visit_ns = expected.visit_ns;
    lanepool_status status = add_planned(making, index, &planned);
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_planned *added = &making->made.plan->tasks[making->made.plan->task_count - 1];
    added->begin = begin;
    added->is_endless = !is_known;
    if (begin == LANEPOOL_I_PLAN_RETURNS)
        added->returns_ns = time_until(snapshot->time_ns, task->retry_ns);
    return LANEPOOL_OK;
}

/* --- gates --- */

static lanepool_status add_gate(struct making *making, size_t lane)
{
    lanepool_claim claim = lanepool_claim_of(lanepool_key_id(lane), LANEPOOL_EXCLUSIVE);
    lanepool_plan_task gate = { .claims = &claim, .claim_count = 1 };
    lanepool_status status = add_planned(making, NONE, &gate);
    making->has_gate[lane] = true;
    if (status != LANEPOOL_OK)
        return status;
    lanepool_i_planned *added = &making->made.plan->tasks[making->made.plan->task_count - 1];
    added->begin = LANEPOOL_I_PLAN_RUNS_APART;
    added->is_endless = true;
    return LANEPOOL_OK;
}

/* Adds the gates of the paused lanes in which this task is the first that waits. */
static lanepool_status add_gates_before(struct making *making, size_t task)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    const lanepool_snapshot_entry *entry = &snapshot->entries[snapshot->tasks[task].first_entry];
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < snapshot->tasks[task].entry_count && status == LANEPOOL_OK; i++) {
        size_t lane = entry[i].lane;
        if (lane != NONE && !entry[i].granted && snapshot->lanes[lane].paused &&
            !making->has_gate[lane])
            status = add_gate(making, lane);
    }
    return status;
}

/* --- the order --- */

static int compare_ready(const void *left, const void *right)
{
    const struct ready_task *a = left;
    const struct ready_task *b = right;
    if (a->in_queue != b->in_queue)
        return a->in_queue < b->in_queue ? -1 : 1;
    return (a->task > b->task) - (a->task < b->task);
}

static lanepool_status add_tasks_by_queue(struct making *making)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    size_t count = 0;
    for (size_t i = 0; i < snapshot->task_count; i++)
        if (snapshot->tasks[i].state == LANEPOOL_SNAPSHOT_READY)
            making->ready[count++] = (struct ready_task){ i, snapshot->tasks[i].in_queue };
    if (count > 0)
        qsort(making->ready, count, sizeof *making->ready, compare_ready);
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < count && status == LANEPOOL_OK; i++)
        status = add_snapshot_task(making, making->ready[i].task);
    return status;
}

static lanepool_status add_tasks_in_state(struct making *making, lanepool_snapshot_state state)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < snapshot->task_count && status == LANEPOOL_OK; i++)
        if (snapshot->tasks[i].state == state)
            status = add_snapshot_task(making, i);
    return status;
}

static bool waits_for_lanes(const lanepool_snapshot_task *task)
{
    return task->state == LANEPOOL_SNAPSHOT_WAITING || task->state == LANEPOOL_SNAPSHOT_LATCHED ||
           task->state == LANEPOOL_SNAPSHOT_VISITED;
}

static lanepool_status add_waiting_tasks(struct making *making)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    lanepool_status status = LANEPOOL_OK;
    for (size_t i = 0; i < snapshot->task_count && status == LANEPOOL_OK; i++) {
        if (!waits_for_lanes(&snapshot->tasks[i]))
            continue;
        status = add_gates_before(making, i);
        if (status == LANEPOOL_OK)
            status = add_snapshot_task(making, i);
    }
    return status;
}

static lanepool_status add_all_tasks(struct making *making)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    for (size_t i = 0; i < snapshot->entry_count; i++)
        if (snapshot->entries[i].behind != NONE)
            making->leads[snapshot->entries[i].behind] = true;
    making->made.plan->has_begun = true;
    lanepool_status status = add_tasks_in_state(making, LANEPOOL_SNAPSHOT_RUNNING);
    if (status == LANEPOOL_OK)
        status = add_tasks_in_state(making, LANEPOOL_SNAPSHOT_RETRYING);
    if (status == LANEPOOL_OK)
        status = add_tasks_in_state(making, LANEPOOL_SNAPSHOT_PARKED);
    if (status == LANEPOOL_OK)
        status = add_tasks_by_queue(making);
    return status == LANEPOOL_OK ? add_waiting_tasks(making) : status;
}

/* --- the forecast --- */

static bool allocate_making(struct making *making)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    size_t tasks = snapshot->task_count;
    size_t lanes = snapshot->lane_count;
    size_t planned = tasks + lanes;
    size_t entries = snapshot->entry_count + planned;
    making->made.task_of = lanepool_i_inspect_alloc(planned * sizeof *making->made.task_of);
    making->made.times = lanepool_i_inspect_alloc(planned * sizeof *making->made.times);
    making->made.granted_ns = lanepool_i_inspect_alloc(entries * sizeof *making->made.granted_ns);
    making->leads = lanepool_i_inspect_alloc_zeroed(tasks * sizeof *making->leads);
    making->has_gate = lanepool_i_inspect_alloc_zeroed((lanes + 1) * sizeof *making->has_gate);
    making->ready = lanepool_i_inspect_alloc(tasks * sizeof *making->ready);
    making->claims = lanepool_i_inspect_alloc(entries * sizeof *making->claims);
    if (making->made.task_of == NULL || making->made.times == NULL ||
        making->made.granted_ns == NULL || making->leads == NULL || making->has_gate == NULL ||
        making->ready == NULL || making->claims == NULL)
        return false;
    memset(making->made.granted_ns, 0xff, entries * sizeof *making->made.granted_ns);
    return true;
}

static void free_making(struct making *making)
{
    lanepool_plan_destroy(making->made.plan);
    lanepool_i_inspect_free(making->made.task_of);
    lanepool_i_inspect_free(making->made.times);
    lanepool_i_inspect_free(making->made.granted_ns);
    lanepool_i_inspect_free(making->leads);
    lanepool_i_inspect_free(making->has_gate);
    lanepool_i_inspect_free(making->ready);
    lanepool_i_inspect_free(making->claims);
}

static lanepool_status run_plan(const struct making *making)
{
    const lanepool_snapshot *snapshot = making->made.snapshot;
    lanepool_i_plan_view view = { .plan = making->made.plan, .change = LANEPOOL_PLAN_AS_IT_IS };
    lanepool_plan_pool pool = { .workers = (unsigned)snapshot->worker_count,
                                .in_one_order = snapshot->in_one_order,
                                .quantum_tasks = snapshot->quantum_tasks,
                                .quantum_ns = snapshot->quantum_ns };
    lanepool_plan_result result;
    return lanepool_i_plan_simulate(&view, &pool, &result, making->made.times,
                                    making->made.granted_ns);
}

static lanepool_status forecast_by_plan(struct making *making, lanepool_forecast *forecast)
{
    lanepool_status status = lanepool_plan_create(&making->made.plan);
    if (status == LANEPOOL_OK)
        status = allocate_making(making) ? add_all_tasks(making) : LANEPOOL_NOMEM;
    if (status == LANEPOOL_OK)
        status = run_plan(making);
    if (status == LANEPOOL_OK && !lanepool_i_forecast_decide(&making->made, forecast))
        status = LANEPOOL_NOMEM;
    if (status == LANEPOOL_OK)
        forecast->undated = making->undated;
    free_making(making);
    return status;
}

lanepool_status lanepool_snapshot_forecast(const lanepool_snapshot *snapshot, size_t task,
                                           lanepool_expect_fn expect, void *user,
                                           lanepool_forecast *forecast)
{
    if (snapshot == NULL || expect == NULL || forecast == NULL || task >= snapshot->task_count)
        return LANEPOOL_INVALID;
    lanepool_snapshot_state state = snapshot->tasks[task].state;
    if (state == LANEPOOL_SNAPSHOT_RUNNING || state == LANEPOOL_SNAPSHOT_VISITED) {
        *forecast = lanepool_i_forecast_of(LANEPOOL_FORECAST_STARTED);
        return LANEPOOL_OK;
    }
    if (state == LANEPOOL_SNAPSHOT_PARKED || snapshot->paused) {
        *forecast =
            lanepool_i_forecast_of(state == LANEPOOL_SNAPSHOT_PARKED ? LANEPOOL_FORECAST_PARKED
                                                                     : LANEPOOL_FORECAST_PAUSED);
        if (state == LANEPOOL_SNAPSHOT_PARKED)
            forecast->task = task;
        return LANEPOOL_OK;
    }
    struct making making = {
        .made = { .snapshot = snapshot }, .expect = expect, .user = user, .task = task
    };
    return forecast_by_plan(&making, forecast);
}

/* --- measured durations --- */

bool lanepool_times_expect(void *times, const lanepool_snapshot *snapshot, size_t task,
                           lanepool_expected *expected)
{
    return snapshot->tasks[task].form == LANEPOOL_PLAN_PLAIN &&
           lanepool_i_times_mean_of_tag(times, snapshot->tasks[task].tag, &expected->duration_ns);
}
