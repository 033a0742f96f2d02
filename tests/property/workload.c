/* Draws workloads, and implements their conflict rules. */
#include "property/workload.h"

#include <stdlib.h>
#include <string.h>

#include "property/workload_feature.h"
#include "support/memory.h"

const struct workload_scale workload_small = { .tasks_most = 16,
                                               .workers_most = 8,
                                               .submitters_most = 3,
                                               .keys_most = 5,
                                               .endings = true,
                                               .waits = true };

const struct workload_scale workload_large = { .tasks_most = 1000,
                                               .workers_most = 8,
                                               .submitters_most = 4,
                                               .keys_most = 128,
                                               .endings = true,
                                               .waits = true };

enum { FEW_CLAIMS_MAX = 4, DRAWN_TASKS_MAX = 64, USUAL_WORKERS = 3 };

/* --- drawing parameters --- */

static void draw_ending(struct workload_params *params, const struct workload_scale *scale,
                        struct choices *choices)
{
    if (scale->endings && chance(choices, 2)) {
        params->ending = (enum workload_ending)choose(choices, END_COUNT);
    }
    params->ending_at = choose(choices, 4 * params->duration_most);
    params->quiesce_at = chance(choices, 4) ? 1 + choose(choices, 4 * params->duration_most) : 0;
}

static bool has_keys(const struct workload_params *params)
{
    return params->rule == RULE_CLAIMS || params->rule == RULE_SCOPED;
}

static void draw_params(struct workload_params *params, const struct workload_scale *scale,
                        struct choices *choices)
{
    static const enum workload_rule rules[] = {
        RULE_CLAIMS, RULE_CLAIMS, RULE_CLAIMS_AS_PREDICATE, RULE_RELATION, RULE_KINDS, RULE_SCOPED
    };

    params->task_count = scale->tasks_most <= DRAWN_TASKS_MAX
                             ? 1 + choose(choices, scale->tasks_most)
                             : scale->tasks_most;
    params->workers = 1 + choose(choices, chance(choices, 4) ? scale->workers_most : USUAL_WORKERS);
    params->submitters = chance(choices, 2) ? 1 + choose(choices, scale->submitters_most) : 1;
    params->key_count = 1 + choose(choices, scale->keys_most);
    params->kind_count = 1 + choose(choices, 8);
    params->pending_max = chance(choices, 3) ? 1 + choose(choices, 2 * scale->workers_most) : 0;
    params->quantum_tasks = chance(choices, 3) ? 1 + choose(choices, 3) : 0;
    params->layout = chance(choices, 3) ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    params->routing = (lanepool_routing)choose(choices, 3);
    params->rule = rules[choose(choices, sizeof rules / sizeof rules[0])];
    if (params->rule == RULE_SCOPED && params->layout == LANEPOOL_PER_WORKER) {
        params->rule = RULE_KINDS;
    }
    params->form = (enum workload_form)choose(choices, FORM_COUNT);
    params->mixed_forms = chance(choices, 4);
    params->nested = chance(choices, 3);
    params->held_lanes = has_keys(params) && chance(choices, 3);
    params->waits = scale->waits && chance(choices, 3);
    params->extras = chance(choices, 2);
    params->duration_most = 1 + choose(choices, 200);
    draw_ending(params, scale, choices);
    params->traced = params->seed % 4 == 0; /* not drawn, either */
    if (params->seed % 4 == 1 && params->task_count <= DRAWN_TASKS_MAX) {
        params->look_at = 1 + (uint32_t)(params->seed / 4 % (4 * params->duration_most));
    }
}

/* --- drawing tasks --- */

/* Most tasks claim one or two keys. A few claim no key, some keys, or all keys. */
static uint32_t draw_claim_count(struct choices *choices, uint32_t key_count)
{
    uint32_t dice = choose(choices, 100);

    if (dice < 70) {
        return 1;
    }
    if (dice < 93) {
        return 2 + choose(choices, FEW_CLAIMS_MAX - 1);
    }
    if (dice < 97) {
        return 0;
    }
    return dice < 98 ? 1 + choose(choices, key_count) : key_count;
}

static int compare_claims(const void *left, const void *right)
{
    const struct workload_claim *a = left;
    const struct workload_claim *b = right;

    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return 0;
}

/* Claims of one key in different modes become one EXCLUSIVE claim. */
static void merge_claims(struct workload_task *task)
{
    uint32_t kept = 0;

    if (task->claim_count == 0) {
        return;
    }
    memcpy(task->merged, task->claims, task->claim_count * sizeof *task->claims);
    qsort(task->merged, task->claim_count, sizeof *task->merged, compare_claims);
    for (uint32_t i = 0; i < task->claim_count; i++) {
        if (kept == 0 || task->merged[kept - 1].key != task->merged[i].key) {
            task->merged[kept++] = task->merged[i];
        } else if (task->merged[kept - 1].mode != task->merged[i].mode) {
            task->merged[kept - 1].mode = LANEPOOL_EXCLUSIVE;
        }
    }
    task->merged_count = kept;
}

static lanepool_mode draw_mode(struct choices *choices)
{
    if (chance(choices, 3)) {
        return chance(choices, 3) ? LANEPOOL_COMMUTING : LANEPOOL_SHARED;
    }
    return chance(choices, 6) ? LANEPOOL_COMMUTING : LANEPOOL_EXCLUSIVE;
}

static void draw_claims(struct workload_task *task, uint32_t key_count, struct choices *choices)
{
    bool all = task->claim_count == key_count;

    for (uint32_t i = 0; i < task->claim_count; i++) {
        task->claims[i].key = all ? i : choose(choices, key_count);
        task->claims[i].mode = draw_mode(choices);
    }
    merge_claims(task);
}

/* A nested task's parent is the last task that its submitter submits outside of tasks. */
static void draw_origin(struct workload *workload, uint32_t index, uint32_t *last_of_submitter,
                        struct choices *choices)
{
    struct workload_task *task = &workload->tasks[index];

    task->submitter = choose(choices, workload->params.submitters);
    task->parent = WORKLOAD_NONE;
    if (workload->params.nested && chance(choices, 4)) {
        task->parent = last_of_submitter[task->submitter];
    }
    if (task->parent == WORKLOAD_NONE) {
        last_of_submitter[task->submitter] = index;
    }
}

static void draw_manner(const struct workload_params *params, struct workload_task *task,
                        struct choices *choices)
{
    task->kind = chance(choices, 8) ? 0 : 1 + choose(choices, params->kind_count);
    task->duration = choose(choices, params->duration_most);
    task->form =
        params->mixed_forms ? (enum workload_form)choose(choices, FORM_COUNT) : params->form;
    task->within = chance(choices, 2) ? choose(choices, params->duration_most) : 0;
    if (params->extras) {
        task->has_future = chance(choices, 2);
        task->has_then = task->has_future && chance(choices, 3);
        task->has_release = chance(choices, 3);
        task->has_cancelled = task->duration % 3 == 0;
        task->fails = chance(choices, 6) ? WORKLOAD_EACH : 0;
    }
}

/* A body waits for any other task, including its own children and itself. Most of these waits can
 * end; some close a cycle. */
static void draw_wait(struct workload *workload, uint32_t index, struct choices *choices)
{
    struct workload_task *task = &workload->tasks[index];

    task->awaits = WORKLOAD_NONE;
    if (!workload->params.waits || !chance(choices, 3)) {
        return;
    }
    task->awaits = choose(choices, workload->params.task_count);
    workload->tasks[task->awaits].has_future = true;
    task->patience =
        chance(choices, 4) ? choose(choices, workload->params.duration_most) : LANEPOOL_FOREVER;
}

static void use_no_feature(struct workload_task *task, uint32_t index)
{
    task->cancel = WORKLOAD_NONE;
    task->completes = WORKLOAD_NONE;
    task->gives_up = WORKLOAD_NONE;
    task->series = WORKLOAD_NONE;
    task->asked_as = index;
    task->group = WORKLOAD_NONE;
    task->awaits_group = WORKLOAD_NONE;
    task->pump = WORKLOAD_NONE;
    task->visit_of = WORKLOAD_NONE;
}

void workload_draw(struct workload *workload, const struct workload_scale *scale, uint64_t seed,
                   struct choices *choices)
{
    struct workload_params *params = &workload->params;
    struct workload_claim *next_claim;
    uint32_t *last_of_submitter;
    size_t claim_total = 0;

    memset(workload, 0, sizeof *workload);
    params->seed = seed;
    draw_params(params, scale, choices);
    workload->tasks = memory_get(params->task_count, sizeof *workload->tasks);
    last_of_submitter = memory_get(params->submitters, sizeof *last_of_submitter);
    memset(last_of_submitter, 0xff, params->submitters * sizeof *last_of_submitter);
    for (uint32_t i = 0; i < params->task_count; i++) {
        draw_origin(workload, i, last_of_submitter, choices);
        draw_manner(params, &workload->tasks[i], choices);
        workload->tasks[i].claim_count = draw_claim_count(choices, params->key_count);
        claim_total += workload->tasks[i].claim_count;
    }
    workload->claim_store = memory_get(2 * claim_total, sizeof *workload->claim_store);
    next_claim = workload->claim_store;
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        task->claims = next_claim;
        task->merged = next_claim + task->claim_count;
        next_claim += 2 * task->claim_count;
        if (params->rule == RULE_SCOPED && task->claim_count > 0) {
            task->kind = 0;
        }
        draw_claims(task, params->key_count, choices);
        draw_wait(workload, i, choices);
    }
    free(last_of_submitter);
    for (uint32_t i = 0; i < params->task_count; i++) {
        use_no_feature(&workload->tasks[i], i);
    }
    EACH_FEATURE(draw, workload, choices);
}

void workload_fini(struct workload *workload)
{
    EACH_FEATURE(fini, workload);
    free(workload->tasks);
    free(workload->claim_store);
    memset(workload, 0, sizeof *workload);
}

void workload_drop(struct workload *workload, uint32_t task)
{
    workload->tasks[task].dropped = true;
    for (uint32_t i = task + 1; i < workload->params.task_count; i++) {
        if (workload->tasks[i].parent == task) {
            workload->tasks[i].dropped = true;
        }
    }
}

bool workload_waits_inside(const struct workload *workload)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (workload->tasks[i].awaits != WORKLOAD_NONE ||
            workload->tasks[i].awaits_group != WORKLOAD_NONE) {
            return true;
        }
    }
    return false;
}

/* --- the rules --- */

static bool claims_allow(const struct workload_task *a, const struct workload_task *b)
{
    uint32_t i = 0;
    uint32_t j = 0;

    while (i < a->merged_count && j < b->merged_count) {
        if (a->merged[i].key < b->merged[j].key) {
            i++;
        } else if (a->merged[i].key > b->merged[j].key) {
            j++;
        } else if (lanepool_modes_overlap(a->merged[i].mode, b->merged[j].mode)) {
            i++;
            j++;
        } else {
            return false;
        }
    }
    return true;
}

/* Tosses a coin that always falls the same way for (salt, a, b), and independently for (salt, b,
 * a). */
static bool coin(const struct workload *workload, uint32_t salt, uint32_t a, uint32_t b,
                 uint32_t percent)
{
    uint64_t pair = ((uint64_t)a << 32) | b;

    return random_mix(workload->params.seed + salt + random_mix(pair)) % 100 < percent;
}

bool workload_may_ask(const struct workload *workload, uint32_t a, uint32_t b)
{
    const struct workload_task *first = &workload->tasks[a];
    const struct workload_task *second = &workload->tasks[b];

    return workload->params.rule != RULE_SCOPED || first->merged_count == 0 ||
           second->merged_count == 0 || !claims_allow(first, second);
}

bool workload_allows(const struct workload *workload, uint32_t a, uint32_t b)
{
    const struct workload_task *first = &workload->tasks[a];
    const struct workload_task *second = &workload->tasks[b];

    a = first->asked_as;
    b = second->asked_as;

    switch (workload->params.rule) {
    case RULE_SCOPED:
    case RULE_KINDS:
        if (first->kind && second->kind) {
            return coin(workload, 1, first->kind, second->kind, 70);
        }
        return coin(workload, 2, a, b, workload->params.rule == RULE_KINDS ? 95 : 60);
    case RULE_RELATION:
        /* Few conflicts in some workloads, many in others. */
        return coin(workload, 3, a, b, 60 + (uint32_t)(workload->params.seed % 40));
    default:
        return claims_allow(first, second);
    }
}
