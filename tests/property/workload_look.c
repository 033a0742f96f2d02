#include "property/workload_look.h"

#include <stdlib.h>

#include "property/world.h"
#include "support/memory.h"

enum { REASONS_MAX = 256, LOOKS = 3 };

static _Atomic uint64_t explained;

uint64_t workload_explained(void)
{
    return atomic_load_explicit(&explained, memory_order_relaxed);
}

/* One snapshot, and what the workload says about its tasks. */
struct look {
    const struct run *run;
    const lanepool_snapshot *snapshot;
    /* Two indices: the second task must end before the first may start, directly or indirectly. */
    bool *blocks;
    const char *problem;
};

static void note(struct look *look, bool holds, const char *problem)
{
    if (!holds && look->problem == NULL) {
        look->problem = problem;
    }
}

/* --- expected blockers --- */

static uint32_t index_of(const struct look *look, size_t task)
{
    const struct task_context *context = look->snapshot->tasks[task].context;

    return (uint32_t)(context - look->run->contexts);
}

static bool *blocks(const struct look *look, size_t task, size_t other)
{
    return &look->blocks[task * look->snapshot->task_count + other];
}

/* Tasks are sorted by ticket, so the blockers of earlier tasks are known already. */
static void find_blockers(struct look *look)
{
    const struct workload *workload = look->run->workload;
    size_t count = look->snapshot->task_count;

    for (size_t task = 0; task < count; task++) {
        for (size_t other = task; other-- > 0;) {
            if (!workload_conflict(workload, index_of(look, task), index_of(look, other))) {
                continue;
            }
            *blocks(look, task, other) = true;
            for (size_t further = 0; further < other; further++) {
                *blocks(look, task, further) |= *blocks(look, other, further);
            }
        }
    }
}

/* Returns true if tombstones and gates may exist: a snapshot does not show them, but a task may
 * wait behind one. Lanes that were given up or handed over do not follow from the claims either. */
static bool may_have_marks(const struct look *look)
{
    const struct workload_params *params = &look->run->workload->params;

    return params->cancellers > 0 || params->pausers > 0 || params->holds || params->failures ||
           params->deadlines;
}

/* Returns true if a task waits only for tasks that it conflicts with. With lanes per worker it may
 * wait for others. */
static bool is_exact(const struct look *look)
{
    return look->run->workload->params.layout == LANEPOOL_PER_KEY && !may_have_marks(look);
}

/* --- judging a snapshot --- */

static bool is_held_up(const struct look *look, size_t task)
{
    lanepool_snapshot_state state = look->snapshot->tasks[task].state;

    return state == LANEPOOL_SNAPSHOT_WAITING || state == LANEPOOL_SNAPSHOT_LATCHED;
}

/* A cut that has begun waits in some lanes, and blocks no other lane there. */
static bool may_have_reasons(const struct look *look, size_t task)
{
    const struct lanepool_snapshot_task *what = &look->snapshot->tasks[task];

    return is_held_up(look, task) ||
           (what->state == LANEPOOL_SNAPSHOT_VISITED && what->arrived < what->entry_count);
}

static void judge_reason(struct look *look, const lanepool_snapshot_reason *reason)
{
    const lanepool_snapshot_entry *entry = &look->snapshot->entries[reason->entry];

    note(look, !entry->granted, "a reason about an entry that is granted");
    note(look, may_have_reasons(look, entry->task), "a reason of a task that is not blocked");
    if (reason->blocker == LANEPOOL_SNAPSHOT_NONE) {
        return;
    }
    note(look, reason->blocker < entry->task, "a blocker that came later");
    note(look, !is_exact(look) || *blocks(look, entry->task, reason->blocker),
         "a blocker that the task need not wait for");
}

/* Returns true if some reason leads to a task that runs, is ready, or changes its state just
 * now. */
static bool leads_to_an_end(const struct look *look, const lanepool_snapshot_reason *reasons,
                            size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (reasons[i].blocker == LANEPOOL_SNAPSHOT_NONE || !is_held_up(look, reasons[i].blocker)) {
            return true;
        }
    }
    return false;
}

/* Returns true if the reasons name every running task that this one conflicts with. The function of
 * a cut has no lanes. */
static bool names_direct_holders(const struct look *look, size_t task,
                                 const lanepool_snapshot_reason *reasons, size_t count)
{
    const struct workload *workload = look->run->workload;

    for (size_t other = 0; other < task; other++) {
        bool found = false;

        if (look->snapshot->tasks[other].state != LANEPOOL_SNAPSHOT_RUNNING ||
            !workload_conflict(workload, index_of(look, task), index_of(look, other)) ||
            workload_is_cut(workload, index_of(look, other))) {
            continue;
        }
        for (size_t i = 0; i < count; i++) {
            found |= reasons[i].blocker == other;
        }
        if (!found) {
            return false;
        }
    }
    return true;
}

static void judge_task(struct look *look, size_t task)
{
    lanepool_snapshot_reason reasons[REASONS_MAX];
    size_t count;
    lanepool_status status =
        lanepool_snapshot_explain(look->snapshot, task, reasons, REASONS_MAX, &count);

    if (status == LANEPOOL_NOMEM) {
        return;
    }
    note(look, status == LANEPOOL_OK, "a task cannot be explained");
    if (count > REASONS_MAX || status != LANEPOOL_OK) {
        return;
    }
    note(look, may_have_reasons(look, task) || count == 0,
         "reasons for a task that is not blocked");
    for (size_t i = 0; i < count; i++) {
        judge_reason(look, &reasons[i]);
    }
    if (is_held_up(look, task)) {
        note(look, may_have_marks(look) || leads_to_an_end(look, reasons, count),
             "reasons that lead to no running or ready task");
        note(look, !is_exact(look) || names_direct_holders(look, task, reasons, count),
             "a running task that this one waits for is not named");
        atomic_fetch_add_explicit(&explained, 1, memory_order_relaxed);
    }
}

static void judge_lane(struct look *look, const lanepool_snapshot_lane *lane)
{
    const size_t *order = look->snapshot->order + lane->first;

    note(look, lane->granted + lane->waiting > 0, "a lane without entries");
    for (size_t i = 0; i < lane->granted + lane->waiting; i++) {
        const lanepool_snapshot_entry *entry = &look->snapshot->entries[order[i]];

        note(look, entry->granted == (i < lane->granted), "a lane's order is wrong");
        note(look, i <= lane->granted || order[i] > order[i - 1], "a later task is first");
    }
}

static void judge(struct look *look)
{
    const lanepool_snapshot *snapshot = look->snapshot;

    find_blockers(look);
    for (size_t i = 0; i < snapshot->lane_count; i++) {
        judge_lane(look, &snapshot->lanes[i]);
    }
    for (size_t i = 0; i < snapshot->task_count; i++) {
        note(look, lanepool_snapshot_find(snapshot, snapshot->tasks[i].ticket) == i,
             "a task cannot be found");
        note(look,
             workload_is_label(look->run->workload, snapshot->tasks[i].tag,
                               snapshot->tasks[i].label),
             "a task has a wrong label");
        judge_task(look, i);
    }
}

/* --- taking snapshots --- */

static void look_once(struct run *run)
{
    lanepool_snapshot *snapshot;
    lanepool_status status;

    status = lanepool_snapshot_take(run->pool, &snapshot);
    if (status != LANEPOOL_OK) {
        if (status != LANEPOOL_SHUT_DOWN && !world_has_refused()) {
            run_note_failure(run, status);
        }
        return;
    }
    struct look look = { .run = run, .snapshot = snapshot };

    look.blocks = memory_get(snapshot->task_count * snapshot->task_count, sizeof *look.blocks);
    judge(&look);
    if (run->log->look == NULL) {
        run->log->look = look.problem;
    }
    free(look.blocks);
    lanepool_snapshot_release(snapshot);
}

/* Takes snapshots one right after the other: blocks retained for one must not disturb the next. */
void workload_look(struct run *run)
{
    world_sleep(run->workload->params.look_at);
    for (int i = 0; i < LOOKS; i++) {
        look_once(run);
    }
}
