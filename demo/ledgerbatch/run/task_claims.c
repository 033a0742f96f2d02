/* Owns the claims of tasks. */
#include "run/task_claims.h"

#include "batch/batch_task.h"
#include "memory.h"

bool task_is_cut(const struct plan *plan, enum on_quarantine on_quarantine, const struct task *task)
{
    const struct user_step *user = plan_user_step(plan, task);
    return task->kind != TASK_POST && task->member == NO_INDEX &&
           !(user && user_step_is_blocking(user)) && on_quarantine == ON_QUARANTINE_EXCLUDE &&
           !plan_is_late(plan, task);
}

static void add_claim(struct task_claims *claims, uint64_t id, lanepool_mode mode)
{
    claims->items =
        memory_grow(claims->items, &claims->capacity, claims->count + 1, sizeof *claims->items);
    claims->items[claims->count++] = lanepool_claim_of(lanepool_key_id(id), mode);
}

/* Adds the claims of a task on lanes. The part of a step that calls its `group` has no lane. */
static void add_lane_claims(struct task_claims *claims, const struct plan *plan,
                            const struct task *task, const struct lane_list *lanes)
{
    bool only_reads = task->kind == TASK_STATEMENT && task->member == NO_INDEX;
    lanepool_mode mode = only_reads ? LANEPOOL_SHARED : LANEPOOL_EXCLUSIVE;
    for (size_t i = 0; i < lanes->count && !plan_is_group_part(plan, task); i++) {
        add_claim(claims, lanes->items[i], mode);
    }
}

void task_claims_add(struct task_claims *claims, const struct plan *plan, const struct task *task,
                     const struct lane_list *lanes, bool is_cut)
{
    bool is_rollup = task->kind != TASK_POST && task->member == NO_INDEX;
    add_lane_claims(claims, plan, task, lanes);
    if (is_rollup && !is_cut) {
        add_claim(claims, (uint64_t)plan_house_lane(plan) + 1 + task->subject, LANEPOOL_EXCLUSIVE);
    }
    if (task->kind == TASK_STEP && task->member != NO_INDEX) {
        add_claim(claims, batch_step_key(plan, task),
                  plan_is_group_part(plan, task) ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED);
    }
}
