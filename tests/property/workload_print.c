/* Prints workloads, so that a failing one can be read. */
#include "property/workload.h"

static void print_policy(const lanepool_failure_policy *policy, FILE *out)
{
    static const char *const ends[] = { "goes on", "poisons", "pauses" };
    static const char *const at_poison[] = { "waits", "fails", "goes without" };

    fprintf(out, "%u retries after %llu to %llu ns, %s, at poison %s", policy->retries,
            (unsigned long long)policy->delay_ns, (unsigned long long)policy->delay_max_ns,
            ends[policy->at_end], at_poison[policy->at_poison]);
}

void workload_print_params(const struct workload *workload, FILE *out)
{
    static const char *const rules[] = { "claims", "claims as predicate", "relation", "kinds",
                                         "scoped" };
    static const char *const endings[] = { "destroy", "drain", "now", "hand back",
                                           "drain and now" };
    static const char *const routings[] = { "default", "auto", "submitter" };
    const struct workload_params *params = &workload->params;

    fprintf(
        out,
        "workload %llu: %u tasks, %u workers (at least %u, idle %u), %u submitters, %u keys, "
        "pending at most %u, in a lane %u with %u changes, "
        "quantum %u, %s, routing %s, rule %s%s%s, ending %s at %u, quiesce at %u, %u cancels by "
        "%u\n",
        (unsigned long long)params->seed, params->task_count, params->workers, params->workers_min,
        params->worker_idle, params->submitters, params->key_count, params->pending_max,
        params->lane_pending_max, workload->limit_count, params->quantum_tasks,
        params->layout == LANEPOOL_PER_KEY ? "per key" : "per worker", routings[params->routing],
        rules[params->rule], params->held_lanes ? ", held lanes" : "",
        params->has_priorities ? params->calm ? ", calm priorities" : ", priorities" : "",
        endings[params->ending], params->ending_at, params->quiesce_at, workload->cancel_count,
        params->cancellers);
    if (params->contexts) {
        fprintf(out,
                "idle contexts stay open for %u to %u ns, at most %u; opens fail %u, uses %u\n",
                params->linger_min, params->linger_max, params->lingering_max, params->opens_fail,
                params->uses_fail);
    }
    if (params->failures) {
        fprintf(out, "the pool's policy: ");
        print_policy(&params->policy, out);
        fprintf(out, "; %u resolvers%s%s%s\n", params->resolvers,
                params->resolves_late ? ", late" : "", params->ends_held ? ", ends held" : "",
                params->stops_when_held ? ", stops" : "");
    }
}

static void print_held(const struct workload_task *task, FILE *out)
{
    if (task->detaches) {
        fprintf(out, ", detaches%s", task->completes_itself ? " and completes itself" : "");
    }
    if (task->completes != WORKLOAD_NONE) {
        fprintf(out, ", completes %u", task->completes);
    }
    if (task->gives_up != WORKLOAD_NONE) {
        fprintf(out, ", gives up %u", task->gives_up);
    }
    if (task->is_heir) {
        fprintf(out, ", receiver");
    }
}

static void print_number(const char *what, uint32_t number, FILE *out)
{
    if (number != WORKLOAD_NONE) {
        fprintf(out, ", %s %u", what, number);
    }
}

static void print_later(const struct workload_task *task, FILE *out)
{
    if (task->is_delayed) {
        fprintf(out, ", after %lld ns", (long long)task->delay);
    }
    print_number("a run of series", task->series, out);
    print_number("member of group", task->group, out);
    print_number("to start within", task->start_within ? task->start_within : WORKLOAD_NONE, out);
    print_number("to run within", task->run_within ? task->run_within : WORKLOAD_NONE, out);
    print_number("waits for group", task->awaits_group, out);
    print_number("in pump", task->pump, out);
    if (task->asks > 0) {
        fprintf(out, ", asks for %u contexts", task->asks);
    }
}

static void print_failures(const struct workload_task *task, FILE *out)
{
    if (task->fails == WORKLOAD_EACH) {
        fprintf(out, ", always fails");
    } else if (task->fails > 0) {
        fprintf(out, ", fails %u times", task->fails);
    }
    if (task->has_policy) {
        fprintf(out, ", policy: ");
        print_policy(&task->policy, out);
    }
    if (task->resolves) {
        fprintf(out, ", resolves");
    }
}

static void print_task(const struct workload_task *task, uint32_t index, FILE *out)
{
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
        fprintf(out, " %u%s", task->claims[i].key,
                task->claims[i].mode == LANEPOOL_SHARED ? "s" : "");
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
    print_held(task, out);
    print_later(task, out);
    if (task->priority > 0) {
        fprintf(out, ", priority %u", task->priority);
    }
    print_failures(task, out);
    fprintf(out, "%s%s%s%s\n", task->has_future ? ", future" : "", task->has_then ? ", then" : "",
            task->has_release ? ", release" : "", task->has_cancelled ? ", cancelled" : "");
}

static void print_cancel(const struct workload_cancel *cancel, FILE *out)
{
    static const char *const kinds[] = { "task", "task and wait", "lane",
                                         "pool", "group",         "what is behind" };

    fprintf(out, "  cancel of %s", kinds[cancel->kind]);
    if (cancel->kind != CANCEL_POOL) {
        fprintf(out, " %u", cancel->target);
    }
    if (cancel->inside != WORKLOAD_NONE) {
        fprintf(out, ", inside %u\n", cancel->inside);
    } else {
        fprintf(out, ", by %u after %u ns\n", cancel->canceller, cancel->after);
    }
}

static void print_pause(const struct workload_pause *pause, FILE *out)
{
    fprintf(out, "  pause of ");
    if (pause->key == WORKLOAD_NONE) {
        fprintf(out, "the pool");
    } else {
        fprintf(out, "lane %u", pause->key);
    }
    fprintf(out, ", by %u after %u ns, for %u ns\n", pause->pauser, pause->after, pause->lasts);
}

static void print_series(const struct workload_series *series, FILE *out)
{
    fprintf(out,
            "  periodic task, from task %u: %u runs, submitted after %u ns, first after %lld, then "
            "%s %llu",
            series->first, series->runs, series->after, (long long)series->delay,
            series->period == LANEPOOL_FIXED_RATE ? "every" : "each after",
            (unsigned long long)series->period_ns);
    print_number("cancelled after", series->cancel_after, out);
    fprintf(out, "\n");
}

static void print_visit(const struct workload_visit *visit, FILE *out)
{
    fprintf(out, "  %s group %u, by %u after %u ns",
            visit->closes  ? "close"
            : visit->takes ? "taking from"
                           : "wait for",
            visit->group, visit->visitor, visit->after);
    if (!visit->closes && visit->patience != LANEPOOL_FOREVER) {
        fprintf(out, ", for %llu ns", (unsigned long long)visit->patience);
    }
    fprintf(out, "\n");
}

void workload_print_tasks(const struct workload *workload, FILE *out)
{
    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        if (!workload->tasks[i].dropped) {
            print_task(&workload->tasks[i], i, out);
        }
    }
    for (uint32_t i = 0; i < workload->cancel_count; i++) {
        print_cancel(&workload->cancels[i], out);
    }
    for (uint32_t i = 0; i < workload->pause_count; i++) {
        print_pause(&workload->pauses[i], out);
    }
    for (uint32_t i = 0; i < workload->series_count; i++) {
        print_series(&workload->series[i], out);
    }
    for (uint32_t i = 0; i < workload->visit_count; i++) {
        print_visit(&workload->visits[i], out);
    }
}
