/* Prints workloads, so that a failing one can be read. */
#include "property/workload_feature.h"

void workload_print_params(const struct workload *workload, FILE *out)
{
    static const char *const rules[] = { "claims", "claims as predicate", "relation", "kinds",
                                         "scoped" };
    static const char *const endings[] = { "destroy", "drain", "now", "hand back",
                                           "drain and now" };
    static const char *const routings[] = { "default", "auto", "submitter" };
    const struct workload_params *params = &workload->params;

    fprintf(out,
            "workload %llu: %u tasks, %u workers, %u submitters, %u keys, pending at most %u, "
            "quantum %u, %s, routing %s, rule %s%s, ending %s at %u, quiesce at %u",
            (unsigned long long)params->seed, params->task_count, params->workers,
            params->submitters, params->key_count, params->pending_max, params->quantum_tasks,
            params->layout == LANEPOOL_PER_KEY ? "per key" : "per worker",
            routings[params->routing], rules[params->rule],
            params->held_lanes ? ", held lanes" : "", endings[params->ending], params->ending_at,
            params->quiesce_at);
    EACH_FEATURE(print_params, workload, out);
    fprintf(out, "\n");
}

void workload_print_number(const char *what, uint32_t number, FILE *out)
{
    if (number != WORKLOAD_NONE) {
        fprintf(out, ", %s %u", what, number);
    }
}

static void print_task(const struct workload_task *task, uint32_t index, FILE *out)
{
    static const char *const mode_letters[] = { "", "s", "c" };
    static const char *const forms[] = { "submit", "batch", "within", "or run" };

    fprintf(out, "  task %u: %s by %u", index, forms[task->form], task->submitter);
    if (task->form == FORM_WITHIN) {
        fprintf(out, " %u ns", task->within);
    }
    if (task->parent != WORKLOAD_NONE) {
        fprintf(out, " inside %u", task->parent);
    }
    fprintf(out, ", takes %u, kind %u, claims", task->duration, task->kind);
    for (uint32_t i = 0; i < task->claim_count && !task->is_barrier && !task->is_heir; i++) {
        fprintf(out, " %u%s", task->claims[i].key, mode_letters[task->claims[i].mode]);
    }
    if (task->is_barrier) {
        fprintf(out, " all");
    }
    if (task->awaits != WORKLOAD_NONE) {
        fprintf(out, ", waits for %u", task->awaits);
        if (task->patience != LANEPOOL_FOREVER) {
            fprintf(out, " for %llu ns", (unsigned long long)task->patience);
        }
    }
    EACH_FEATURE(print_task, task, out);
    fprintf(out, "%s%s%s%s\n", task->has_future ? ", future" : "", task->has_then ? ", then" : "",
            task->has_release ? ", release" : "", task->has_cancelled ? ", cancelled" : "");
}

void workload_print_tasks(const struct workload *workload, FILE *out)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (!workload->tasks[i].dropped) {
            print_task(&workload->tasks[i], i, out);
        }
    }
    EACH_FEATURE(print_calls, workload, out);
}
