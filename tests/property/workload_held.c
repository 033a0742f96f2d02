#include "property/workload_held.h"

#include "property/workload_contexts.h"
#include "property/workload_failures.h"
#include "property/world.h"

/* Records the failure of a call, unless a resource was refused on purpose. */
static void note_unless_refused(struct run *run, lanepool_status status)
{
    if (!world_has_refused() || (status != LANEPOOL_NOMEM && status != LANEPOOL_NO_RESOURCE)) {
        run_note_failure(run, status);
    }
}

/* --- detaching --- */

/* Another thread may complete the task at once. */
void workload_detach(struct task_context *self, lanepool_run *call)
{
    lanepool_detached *detached;
    lanepool_status status;

    if (!what_of(self)->detaches) {
        return;
    }
    status = lanepool_run_detach(call, &detached);
    if ((status == LANEPOOL_SHUT_DOWN && oracle_when(&self->run->log->stopping_at) != 0) ||
        (status == LANEPOOL_TIMED_OUT && what_of(self)->run_within != 0)) {
        return;
    }
    if (status != LANEPOOL_OK) {
        note_unless_refused(self->run, status);
        return;
    }
    atomic_fetch_add(&self->ends_left, 1);
    atomic_store(&record_of(self)->detached, true);
    atomic_store(&self->detached, detached);
}

void workload_complete(struct task_context *context)
{
    lanepool_detached *detached = atomic_exchange(&context->detached, NULL);
    const struct workload_task *what = what_of(context);
    lanepool_status status;
    bool fails;

    if (!detached) {
        return;
    }
    fails = workload_fails_now(context);
    run_end_part(context);
    status = lanepool_task_complete(detached, fails, (void *)(uintptr_t)what);
    if (status == LANEPOOL_NOMEM && world_has_refused()) {
        world_stop_refusing();
        status = lanepool_task_complete(detached, fails, (void *)(uintptr_t)what);
    }
    if (status == LANEPOOL_DONE && oracle_when(&context->run->log->stopping_at) != 0) {
        if (oracle_when(&record_of(context)->returned_at) != 0) {
            atomic_store(&record_of(context)->call_end,
                         oracle_when(&record_of(context)->returned_at));
        }
        atomic_store(&record_of(context)->abandoned, true);
        return;
    }
    run_note_failure(context->run, status);
}

void workload_complete_another(const struct task_context *self)
{
    uint32_t other = what_of(self)->completes;

    if (other != WORKLOAD_NONE) {
        workload_complete(&self->run->contexts[other]);
    }
}

static void complete_all(struct run *run)
{
    for (uint32_t i = 0; i < run->workload->params.task_count; i++) {
        workload_complete(&run->contexts[i]);
    }
}

/* A handle of a task that a shutdown now has ended must still be given back. */
void workload_keep(struct run *run)
{
    while (atomic_load(&run->unsettled) > 0) {
        complete_all(run);
        world_rest(1 + run->workload->params.duration_most / 2);
    }
    complete_all(run);
}

/* --- lanes given up and handed over --- */

/* Recorded before the call, because the lane may be released at once. */
void workload_give_up(struct task_context *self, lanepool_run *call)
{
    uint32_t key = what_of(self)->gives_up;
    unsigned used = atomic_load(&self->using);
    lanepool_claim claim;
    lanepool_status status;

    if (key == WORKLOAD_NONE ||
        oracle_misses(self->run->log, self->run->workload, self->task, key)) {
        return;
    }
    workload_stop_using(self, key);
    claim = run_make_claim(self->run, &(struct workload_claim){ key, LANEPOOL_SHARED });
    oracle_stamp_at(self->run->log, &record_of(self)->gave_up_at);
    status = lanepool_run_release(call, claim.key);
    if (status != LANEPOOL_OK) {
        atomic_store(&record_of(self)->gave_up_at, 0);
        workload_go_on_using(self, used);
        note_unless_refused(self->run, status);
    }
}

void workload_hand_over(struct task_context *heir, lanepool_run *call)
{
    lanepool_task task = run_describe(heir);

    if (what_of(heir)->dropped) {
        return;
    }
    run_begin_submit(heir);
    run_record_submit(heir, lanepool_run_hand_over(call, &task));
}
