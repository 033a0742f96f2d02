/*
 * Draws pauses, and tasks that hold their lanes for longer or shorter than their call. As all later
 * features, they are drawn for a share of the seeds, and after the older features, so that these
 * are drawn as before.
 */
#include "property/workload.h"

#include <string.h>

#include "support/memory.h"

enum { PAUSES_MAX = 4 };

static uint32_t draw_moment(const struct workload_params *params, struct choices *choices)
{
    return choose(choices, 2 * params->duration_most);
}

/* --- pauses --- */

/* Lanes have keys only without a rule, and gates only with lanes per key. */
static bool has_named_lanes(const struct workload_params *params)
{
    return params->rule == RULE_CLAIMS && params->layout == LANEPOOL_PER_KEY;
}

void workload_draw_pauses(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    if (!chance(choices, 4)) {
        return;
    }
    params->pausers = 1 + choose(choices, 2);
    workload->pause_count = 1 + choose(choices, PAUSES_MAX);
    workload->pauses = memory_get(workload->pause_count, sizeof *workload->pauses);
    for (uint32_t i = 0; i < workload->pause_count; i++) {
        struct workload_pause *pause = &workload->pauses[i];

        pause->key = has_named_lanes(params) && !chance(choices, 3)
                         ? choose(choices, params->key_count)
                         : WORKLOAD_NONE;
        pause->pauser = choose(choices, params->pausers);
        pause->after = chance(choices, 3) ? 0 : draw_moment(params, choices);
        pause->lasts = draw_moment(params, choices);
    }
}

/* --- lanes held longer, given up, and handed over --- */

static bool has_children(const struct workload *workload, uint32_t task)
{
    for (uint32_t i = task + 1; i < workload->params.task_count; i++) {
        if (workload->tasks[i].parent == task) {
            return true;
        }
    }
    return false;
}

/* Makes a receiver: it has its giver's lanes except the one that the giver gives up. */
static void inherit(struct workload *workload, uint32_t heir, uint32_t giver)
{
    struct workload_task *what = &workload->tasks[heir];
    const struct workload_task *from = &workload->tasks[giver];

    what->is_heir = true;
    what->parent = giver;
    what->submitter = from->submitter;
    what->form = FORM_SUBMIT;
    what->gives_up = WORKLOAD_NONE;
    what->merged = memory_get(from->merged_count, sizeof *what->merged);
    what->merged_count = 0;
    for (uint32_t i = 0; i < from->merged_count; i++) {
        if (from->merged[i].key != from->gives_up) {
            what->merged[what->merged_count++] = from->merged[i];
        }
    }
}

/* Draws the giver of a receiver: an earlier task with no receiver yet. Both are submitted outside
 * of tasks. */
static void draw_heir(struct workload *workload, uint32_t heir, struct choices *choices)
{
    uint32_t giver = choose(choices, heir + 1);
    const struct workload_task *what = &workload->tasks[heir];
    const struct workload_task *from = &workload->tasks[giver];

    if (giver == heir || what->is_barrier || from->is_barrier || what->parent != WORKLOAD_NONE ||
        from->parent != WORKLOAD_NONE || has_children(workload, heir)) {
        return;
    }
    for (uint32_t i = giver + 1; i < heir; i++) {
        if (workload->tasks[i].parent == giver && workload->tasks[i].is_heir) {
            return;
        }
    }
    inherit(workload, heir, giver);
}

static void draw_detaching(const struct workload *workload, uint32_t index, struct choices *choices)
{
    struct workload_task *task = &workload->tasks[index];

    task->detaches = chance(choices, 3);
    task->completes_itself = task->detaches && chance(choices, 4);
    if (chance(choices, 4)) {
        task->completes = choose(choices, workload->params.task_count);
    }
}

void workload_draw_held(struct workload *workload, struct choices *choices)
{
    struct workload_params *params = &workload->params;

    for (uint32_t i = 0; i < params->task_count; i++) {
        workload->tasks[i].completes = WORKLOAD_NONE;
        workload->tasks[i].gives_up = WORKLOAD_NONE;
    }
    if (!chance(choices, 4)) {
        return;
    }
    params->holds = true;
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        draw_detaching(workload, i, choices);
        if (has_named_lanes(params) && task->merged_count > 0 && !task->is_barrier &&
            chance(choices, 4)) {
            task->gives_up = task->merged[choose(choices, task->merged_count)].key;
        }
    }
    for (uint32_t i = 1; i < params->task_count && has_named_lanes(params); i++) {
        if (chance(choices, 2)) {
            draw_heir(workload, i, choices);
        }
    }
}
