/* Owns how figures are printed: as tables, and as JSON. */
#include "measure/stats.h"

#include "base/units.h"

static const char *const phase_names[STATS_PHASES] = { "waiting", "latched", "running", "retried",
                                                       "parked" };
static const char *const kind_names[MODEL_SPAN_KINDS] = { "busy", "no work", "blocked", "searching",
                                                          "asleep" };
static const char *const kind_keys[MODEL_SPAN_KINDS] = { "busy_ns", "no_work_ns", "blocked_ns",
                                                         "searching_ns", "asleep_ns" };

static uint64_t sum_of_kind(const struct model *model, enum model_span_kind kind)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model->recording->worker_count; i++) {
        sum += model_worker_ns(model, i, kind);
    }
    return sum;
}

/* --- text --- */

/* Adds a name, then spaces up to the next column. */
static void add_name(struct text *text, const char *name, size_t width)
{
    size_t length = text_length(name);
    text_add(text, "%s%*s", name, (int)(length < width ? width - length : 1), "");
}

static void add_group(struct text *text, const struct stats_group *group)
{
    const char *name = group->name;
    for (size_t phase = 0; phase < STATS_PHASES; phase++) {
        const struct stats_measure *measure = &group->phases[phase];
        char p50[UNITS_TEXT_SIZE], p99[UNITS_TEXT_SIZE], max[UNITS_TEXT_SIZE];
        if (measure->count == 0) {
            continue;
        }
        add_name(text, name, 22);
        text_add(text, "%-7s %9zu %10s %10s %10s\n", phase_names[phase], measure->count,
                 units_format(p50, stats_percentile(measure, 50)),
                 units_format(p99, stats_percentile(measure, 99)),
                 units_format(max, stats_percentile(measure, 100)));
        name = "";
    }
}

static void add_column_heads(struct text *text, const char *what)
{
    text_add(text, "\n%-22s%-7s %9s %10s %10s %10s\n", what, "", "count", "p50", "p99", "max");
}

static void add_workers(struct text *text, const struct model *model)
{
    text_add(text, "\n%-22s", "worker");
    for (unsigned kind = 0; kind < MODEL_SPAN_KINDS; kind++) {
        text_add(text, " %10s", kind_names[kind]);
    }
    text_add(text, "     steals\n");
    for (unsigned i = 0; i < model->recording->worker_count; i++) {
        const struct model_worker *worker = &model->workers[i];
        text_add(text, "%-22u", i);
        for (unsigned kind = 0; kind < MODEL_SPAN_KINDS; kind++) {
            uint64_t ns = model_worker_ns(model, i, kind);
            uint64_t permille = model->now > 0 ? ns * 1000 / model->now : 0;
            text_add(text, " %6llu.%llu %%", (unsigned long long)(permille / 10),
                     (unsigned long long)(permille % 10));
        }
        text_add(text, " %10llu (%llu tasks)\n", (unsigned long long)worker->steals,
                 (unsigned long long)worker->stolen);
    }
}

void stats_write_text(struct text *text, const struct stats *stats, const struct model *model)
{
    char number[UNITS_TEXT_SIZE];
    text_add(text, "%zu tasks in %s; %llu events missed%s\n", model->replay->task_count,
             units_format(number, model->now), (unsigned long long)model->recording->missed,
             model->recording->ends_early ? "; the recording ends early" : "");
    add_column_heads(text, "lane");
    for (size_t i = 0; i < stats->lane_count; i++) {
        add_group(text, &stats->lanes[i]);
    }
    add_column_heads(text, "tag");
    for (size_t tag = 0; tag < RECORDING_TAGS; tag++) {
        if (stats->tags[tag].name) {
            add_group(text, &stats->tags[tag]);
        }
    }
    add_workers(text, model);
    text_add(text, "\nlanes were latched for %s in all,", units_format(number, stats->latched_ns));
    text_add(text, " %s of it while others waited behind\n",
             units_format(number, stats->latched_waiting_ns));
    text_add(text, "workers were blocked for %s in all\n",
             units_format(number, sum_of_kind(model, MODEL_BLOCKED)));
    if (stats->failed_attempts > 0) {
        text_add(text, "%zu of %zu attempts failed: %zu retries, tasks parked %zu times, ",
                 stats->failed_attempts, stats->attempts, stats->retries, stats->parked_count);
        text_add(text, "lanes poisoned for %s in all\n", units_format(number, stats->poisoned_ns));
    }
}

/* --- JSON --- */

/* Adds how many values are below each power of two and not below the previous one. Powers
 * without values are left out. */
static void add_histogram(struct text *json, const struct stats_measure *measure)
{
    size_t done = 0;
    text_add(json, "\"histogram\":[");
    for (uint64_t below = 1; done < measure->count; below *= 2) {
        size_t before = done;
        while (done < measure->count && measure->values[done] < below) {
            done++;
        }
        if (done > before) {
            text_add(json, "%s{\"below_ns\":%llu,\"count\":%zu}", before > 0 ? "," : "",
                     (unsigned long long)below, done - before);
        }
    }
    text_add(json, "]");
}

static void add_measure(struct text *json, const struct stats_measure *measure)
{
    text_add(json, "{\"count\":%zu,\"p50_ns\":%llu,\"p99_ns\":%llu,\"max_ns\":%llu,",
             measure->count, (unsigned long long)stats_percentile(measure, 50),
             (unsigned long long)stats_percentile(measure, 99),
             (unsigned long long)stats_percentile(measure, 100));
    add_histogram(json, measure);
    text_add(json, "}");
}

static void add_group_json(struct text *json, const struct stats_group *group, bool is_first)
{
    text_add(json, "%s\n{\"name\":", is_first ? "" : ",");
    text_add_quoted(json, group->name);
    for (size_t phase = 0; phase < STATS_PHASES; phase++) {
        text_add(json, ",\"%s\":", phase_names[phase]);
        add_measure(json, &group->phases[phase]);
    }
    text_add(json, "}");
}

static void add_workers_json(struct text *json, const struct model *model)
{
    text_add(json, "],\n\"workers\":[");
    for (unsigned i = 0; i < model->recording->worker_count; i++) {
        text_add(json, "%s\n{\"worker\":%u", i > 0 ? "," : "", i);
        for (unsigned kind = 0; kind < MODEL_SPAN_KINDS; kind++) {
            text_add(json, ",\"%s\":%llu", kind_keys[kind],
                     (unsigned long long)model_worker_ns(model, i, kind));
        }
        text_add(json, ",\"steals\":%llu,\"stolen_tasks\":%llu}",
                 (unsigned long long)model->workers[i].steals,
                 (unsigned long long)model->workers[i].stolen);
    }
    text_add(json, "]}\n");
}

void stats_write_json(struct text *json, const struct stats *stats, const struct model *model)
{
    bool is_first = true;
    text_add(
        json,
        "{\"tasks\":%zu,\"duration_ns\":%llu,\"missed_events\":%llu,\"ends_early\":%s,"
        "\"latched_ns\":%llu,"
        "\"latched_waiting_ns\":%llu,\"blocked_ns\":%llu,\"poisoned_ns\":%llu,"
        "\"attempts\":%zu,\"failed_attempts\":%zu,\"retries\":%zu,\"parked\":%zu,\n\"lanes\":[",
        model->replay->task_count, (unsigned long long)model->now,
        (unsigned long long)model->recording->missed,
        model->recording->ends_early ? "true" : "false", (unsigned long long)stats->latched_ns,
        (unsigned long long)stats->latched_waiting_ns,
        (unsigned long long)sum_of_kind(model, MODEL_BLOCKED),
        (unsigned long long)stats->poisoned_ns, stats->attempts, stats->failed_attempts,
        stats->retries, stats->parked_count);
    for (size_t i = 0; i < stats->lane_count; i++) {
        add_group_json(json, &stats->lanes[i], i == 0);
    }
    text_add(json, "],\n\"tags\":[");
    for (size_t tag = 0; tag < RECORDING_TAGS; tag++) {
        if (stats->tags[tag].name) {
            add_group_json(json, &stats->tags[tag], is_first);
            is_first = false;
        }
    }
    add_workers_json(json, model);
}
