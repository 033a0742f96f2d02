/* Owns cuts, except what the pool calls and what is written; see batch/cut.h. */
#include "batch/cut.h"

#include <stdlib.h>

#include "batch/batch_run.h"
#include "batch/effect.h"
#include "batch/step_run.h"
#include "memory.h"

static bool has_group(const struct task *task)
{
    const struct user_step *user = plan_user_step(task->batch->plan, task);
    return user && user_step_has_group(user);
}

struct cut *cut_create(const struct task *task)
{
    struct lane_list lanes = { 0 };
    plan_lanes(task->batch->plan, task, &lanes);
    size_t visit_count = lanes.count;
    if (has_group(task)) {
        lane_list_add(&lanes, plan_house_lane(task->batch->plan));
    }
    struct cut *cut = memory_zeroed(1, sizeof *cut + lanes.count * sizeof *cut->visits);
    cut->task = task;
    cut->visit_count = visit_count;
    cut->count = lanes.count;
    cut->unwritten_count = lanes.count;
    for (size_t i = 0; i < lanes.count; i++) {
        cut->visits[i].part = *task;
        cut->visits[i].part.member = lanes.items[i];
    }
    free(lanes.items);
    return cut;
}

void cut_destroy(struct cut *cut)
{
    for (size_t i = 0; i < cut->count; i++) {
        effect_drop(&cut->visits[i].part, 1);
        buffer_fini(&cut->visits[i].contribution);
    }
    free(cut);
}

int cut_visit(struct cut *cut, size_t number)
{
    struct visit *visit = &cut->visits[number];
    struct lane_list missing = { 0 };
    int code = batch_run(cut->task->batch, &visit->part, &missing);
    if (code == 0) {
        visit->is_done = true;
        visit->part.effect->cut = cut;
        buffer_add(&visit->contribution, buffer_slice(&visit->part.effect->contribution));
    }
    return code;
}

/* Calls the `group` of a step. No lane waits for it, so none is held if it fails. */
static struct task *call_group(struct cut *cut)
{
    struct batch *batch = cut->task->batch;
    struct task *part = &cut->visits[cut->visit_count].part;
    struct step_contributions list = { memory_zeroed(cut->visit_count + 1, sizeof(struct buffer)),
                                       cut->visit_count };
    for (size_t i = 0; i < list.count; i++) {
        list.items[i] = cut->visits[i].contribution; /* which still has the memory */
    }
    int code = step_run_group(batch, part, &list);
    free(list.items);
    if (code != 0) {
        quarantine_fail(&batch->quarantine, part);
        return NULL;
    }
    part->effect->cut = cut;
    return part;
}

struct task *cut_end(struct cut *cut)
{
    struct lane_list missing = { 0 };
    for (size_t i = 0; i < cut->visit_count; i++) {
        if (!cut->visits[i].is_done) {
            lane_list_add(&missing, cut->visits[i].part.member);
        }
    }
    (void)quarantine_judge(&cut->task->batch->quarantine, cut->task, &missing);
    bool is_whole = missing.count == 0;
    free(missing.items);
    return is_whole && cut->count > cut->visit_count ? call_group(cut) : NULL;
}
