#include "support/workload.h"

#include <stdlib.h>
#include <string.h>

#include "support/memory.h"
#include "support/random.h"

enum { FEW_CLAIMS_MAX = 4, SPIN_MAX = 200 };

struct workload_params workload_params_draw(uint64_t seed, uint32_t task_count)
{
    static const enum workload_rule rules[] = { RULE_CLAIMS, RULE_CLAIMS, RULE_CLAIMS_AS_PREDICATE,
                                                RULE_RELATION, RULE_KINDS };
    uint64_t state = seed;
    struct workload_params params = { .seed = seed, .task_count = task_count };

    params.workers = 1 + random_below(&state, 8);
    params.submitters = random_below(&state, 2) ? 1 : 2 + random_below(&state, 3);
    params.key_count = 1u << random_below(&state, 8);
    params.kind_count = 1 + random_below(&state, 8);
    params.pending_max = random_below(&state, 3) ? 0 : 1 + random_below(&state, 32);
    params.layout = random_below(&state, 2) ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    params.routing = (lanepool_routing)random_below(&state, 3);
    params.rule = rules[random_below(&state, sizeof rules / sizeof rules[0])];
    params.form = (enum workload_form)random_below(&state, FORM_COUNT);
    params.nested = random_below(&state, 3) == 0;
    params.held_lanes = params.rule == RULE_CLAIMS && random_below(&state, 2) != 0;
    return params;
}

/* Most tasks claim one or two keys; few claim nothing, some, or all. */
static uint32_t draw_claim_count(uint64_t *state, uint32_t key_count)
{
    uint32_t dice = random_below(state, 100);

    if (dice < 4) {
        return 0;
    }
    if (dice < 74) {
        return 1;
    }
    if (dice < 97) {
        return 2 + random_below(state, FEW_CLAIMS_MAX - 1);
    }
    return dice < 99 ? 1 + random_below(state, key_count) : key_count;
}

static int compare_claims(const void *left, const void *right)
{
    const struct workload_claim *a = left;
    const struct workload_claim *b = right;

    if (a->key != b->key) {
        return a->key < b->key ? -1 : 1;
    }
    return (a->mode > b->mode) - (a->mode < b->mode);
}

/* EXCLUSIVE sorts before SHARED, so that the first claim of a key is its strongest. */
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
        }
    }
    task->merged_count = kept;
}

static void draw_claims(struct workload_task *task, uint32_t key_count, uint64_t *state)
{
    bool all = task->claim_count == key_count;

    for (uint32_t i = 0; i < task->claim_count; i++) {
        task->claims[i].key = all ? i : random_below(state, key_count);
        task->claims[i].mode = random_below(state, 3) ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED;
    }
    merge_claims(task);
}

/* A nested task's parent is the last task that its submitter submits by itself. */
static void draw_origin(struct workload *workload, uint32_t index, uint32_t *last_of_submitter,
                        uint64_t *state)
{
    struct workload_task *task = &workload->tasks[index];

    task->submitter = random_below(state, workload->params.submitters);
    task->parent = WORKLOAD_NO_PARENT;
    if (workload->params.nested && random_below(state, 8) == 0) {
        task->parent = last_of_submitter[task->submitter];
    }
    if (task->parent == WORKLOAD_NO_PARENT) {
        last_of_submitter[task->submitter] = index;
    }
}

void workload_init(struct workload *workload, const struct workload_params *params)
{
    uint64_t state = random_mix(params->seed);
    uint32_t *last_of_submitter = memory_get(params->submitters, sizeof *last_of_submitter);
    size_t claim_total = 0;
    struct workload_claim *next_claim;

    memset(workload, 0, sizeof *workload);
    workload->params = *params;
    workload->tasks = memory_get(params->task_count, sizeof *workload->tasks);
    memset(last_of_submitter, 0xff, params->submitters * sizeof *last_of_submitter);
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        draw_origin(workload, i, last_of_submitter, &state);
        task->claim_count = draw_claim_count(&state, params->key_count);
        task->kind = random_below(&state, 8) ? 1 + random_below(&state, params->kind_count) : 0;
        task->spin = random_below(&state, SPIN_MAX);
        claim_total += task->claim_count;
    }
    workload->claim_store = memory_get(2 * claim_total, sizeof *workload->claim_store);
    next_claim = workload->claim_store;
    for (uint32_t i = 0; i < params->task_count; i++) {
        struct workload_task *task = &workload->tasks[i];

        task->claims = next_claim;
        task->merged = next_claim + task->claim_count;
        next_claim += 2 * task->claim_count;
        draw_claims(task, params->key_count, &state);
    }
    free(last_of_submitter);
}

void workload_fini(struct workload *workload)
{
    free(workload->tasks);
    free(workload->claim_store);
    memset(workload, 0, sizeof *workload);
}

static bool claims_allow(const struct workload_task *a, const struct workload_task *b)
{
    uint32_t i = 0;
    uint32_t j = 0;

    while (i < a->merged_count && j < b->merged_count) {
        if (a->merged[i].key < b->merged[j].key) {
            i++;
        } else if (a->merged[i].key > b->merged[j].key) {
            j++;
        } else if (a->merged[i].mode == LANEPOOL_SHARED && b->merged[j].mode == LANEPOOL_SHARED) {
            i++;
            j++;
        } else {
            return false;
        }
    }
    return true;
}

/* A coin that always falls the same way for (salt, a, b), and independently for (salt, b, a). */
static bool coin(const struct workload *workload, uint32_t salt, uint32_t a, uint32_t b,
                 uint32_t percent)
{
    uint64_t pair = ((uint64_t)a << 32) | b;

    return random_mix(workload->params.seed + salt + random_mix(pair)) % 100 < percent;
}

bool workload_allows(const struct workload *workload, uint32_t a, uint32_t b)
{
    const struct workload_task *first = &workload->tasks[a];
    const struct workload_task *second = &workload->tasks[b];

    switch (workload->params.rule) {
    case RULE_KINDS:
        if (first->kind && second->kind) {
            return coin(workload, 1, first->kind, second->kind, 70);
        }
        return coin(workload, 2, a, b, 95);
    case RULE_RELATION:
        /* Few conflicts in some workloads, many in others. */
        return coin(workload, 3, a, b, 60 + (uint32_t)(workload->params.seed % 40));
    default:
        return claims_allow(first, second);
    }
}

void workload_params_print(const struct workload_params *params, FILE *out)
{
    static const char *const rules[] = { "claims", "claims as predicate", "relation", "kinds" };
    static const char *const forms[] = { "one by one", "batch", "or run" };
    static const char *const routings[] = { "default", "auto", "submitter" };

    fprintf(out,
            "seed %llu: %u tasks, %u workers, %u submitters, %u keys, %u kinds, pending at most %u,"
            " %s, routing %s, rule %s, submitted %s%s%s\n",
            (unsigned long long)params->seed, params->task_count, params->workers,
            params->submitters, params->key_count, params->kind_count, params->pending_max,
            params->layout == LANEPOOL_PER_KEY ? "per key" : "per worker",
            routings[params->routing], rules[params->rule], forms[params->form],
            params->nested ? ", nested" : "", params->held_lanes ? ", held lanes" : "");
}
