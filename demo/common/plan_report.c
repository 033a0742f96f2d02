/* Owns the report on a plan. */
#include "plan_report.h"

#include <stdarg.h>
#include <stdio.h>

/* The most rollups, and the most keys, that the report names. */
#define NAMED 3
/* A change is named if it saves at least this part of the time. */
#define LEAST_SHARE 100

struct report {
    const lanepool_plan *plan;
    const struct plan_names *names;
    plan_write_fn write;
    void *context;
    unsigned workers;
    uint64_t makespan_ns; /* with `workers`, without a change */
    bool has_head;        /* of the table of changes */
};

void plan_format_ns(char text[32], uint64_t ns)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (ns >= units[i].ns) {
            snprintf(text, 32, "%.2f %s", (double)ns / (double)units[i].ns, units[i].name);
            return;
        }
    }
    snprintf(text, 32, "%u ns", (unsigned)ns);
}

static void print(const struct report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void print(const struct report *report, const char *format, ...)
{
    char line[2 * PLAN_REPORT_NAME_SIZE + 128];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    report->write(report->context, line);
}

/* --- how long --- */

static double ratio(uint64_t a, uint64_t b)
{
    return b == 0 ? 1 : (double)a / (double)b;
}

static lanepool_status print_head(struct report *report)
{
    lanepool_plan_pool pool = { .workers = report->workers };
    lanepool_plan_result result;
    char work[32], path[32];
    size_t count;
    lanepool_status status = lanepool_plan_run(report->plan, &pool, &result, NULL);
    if (status == LANEPOOL_OK) {
        status = lanepool_plan_path(report->plan, NULL, 0, &count);
    }
    if (status != LANEPOOL_OK) {
        return status;
    }
    report->makespan_ns = result.makespan_ns;
    plan_format_ns(work, result.work_ns);
    plan_format_ns(path, result.path_ns);
    print(report,
          "work: %s, %zu tasks\nlongest chain: %s, %zu tasks\n"
          "at best: %.2f times as fast as one worker\n",
          work, lanepool_plan_count(report->plan), path, count,
          ratio(result.work_ns, result.path_ns));
    return LANEPOOL_OK;
}

static lanepool_status print_workers(const struct report *report, const unsigned *counts,
                                     size_t count)
{
    lanepool_status status = LANEPOOL_OK;
    print(report, "\nworkers       takes  speed-up     idle\n");
    for (size_t i = 0; i < count && status == LANEPOOL_OK; i++) {
        lanepool_plan_pool pool = { .workers = counts[i] };
        lanepool_plan_result result;
        char takes[32];
        status = lanepool_plan_run(report->plan, &pool, &result, NULL);
        if (status != LANEPOOL_OK) {
            continue;
        }
        plan_format_ns(takes, result.makespan_ns);
        print(report, "%-7u %11s %9.2f %6.1f %%\n", counts[i], takes,
              ratio(result.work_ns, result.makespan_ns),
              result.makespan_ns == 0
                  ? 0
                  : 100 * (double)result.idle_ns / ((double)result.makespan_ns * counts[i]));
    }
    return status;
}

/* --- what would save time --- */

static bool is_worth_naming(const struct report *report, uint64_t saved_ns)
{
    return saved_ns > 0 && saved_ns >= report->makespan_ns / LEAST_SHARE;
}

static void print_saving(struct report *report, uint64_t saved_ns, const char *before,
                         const char *name, const char *after)
{
    char saves[32], takes[32];
    plan_format_ns(saves, saved_ns);
    plan_format_ns(takes, report->makespan_ns - saved_ns);
    if (!report->has_head) {
        print(report, "\nwith %u worker%s, each of these alone would save:\n", report->workers,
              report->workers == 1 ? "" : "s");
    }
    report->has_head = true;
    print(report, "%11s  %s%s%s: %s\n", saves, before, name, after, takes);
}

static lanepool_status print_tags(struct report *report)
{
    lanepool_status status = LANEPOOL_OK;
    for (unsigned tag = 0; tag < PLAN_REPORT_TAGS && status == LANEPOOL_OK; tag++) {
        const char *name = report->names->tag(report->names->context, tag);
        lanepool_plan_pool pool = { .workers = report->workers,
                                    .change = LANEPOOL_PLAN_CUT_TAG,
                                    .tag = tag };
        lanepool_plan_result result;
        if (name == NULL) {
            continue;
        }
        status = lanepool_plan_run(report->plan, &pool, &result, NULL);
        if (status == LANEPOOL_OK && result.makespan_ns < report->makespan_ns &&
            is_worth_naming(report, report->makespan_ns - result.makespan_ns)) {
            print_saving(report, report->makespan_ns - result.makespan_ns, "all rollups ", name,
                         " as cuts");
        }
    }
    return status;
}

static lanepool_status print_worst(struct report *report)
{
    lanepool_plan_pool pool = { .workers = report->workers };
    lanepool_plan_row rows[2 * LANEPOOL_PLAN_TRIES];
    size_t count = 0;
    size_t named[2] = { 0, 0 };
    lanepool_status status =
        lanepool_plan_worst(report->plan, &pool, rows, sizeof rows / sizeof *rows, &count);
    for (size_t i = 0; i < count && is_worth_naming(report, rows[i].saved_ns); i++) {
        bool is_key = rows[i].change == LANEPOOL_PLAN_COMMUTE;
        char name[PLAN_REPORT_NAME_SIZE];
        if (named[is_key]++ >= NAMED) {
            continue;
        }
        if (is_key) {
            report->names->key(report->names->context, rows[i].task, rows[i].claim, name);
            print_saving(report, rows[i].saved_ns, "COMMUTING claims of ", name, "");
        } else {
            report->names->task(report->names->context, rows[i].task, name);
            print_saving(report, rows[i].saved_ns, "the rollup ", name, " as a cut");
        }
    }
    return status;
}

bool plan_report(const lanepool_plan *plan, const unsigned *worker_counts, size_t count,
                 unsigned workers, const struct plan_names *names, plan_write_fn write,
                 void *context, struct problem *problem)
{
    struct report report = {
        .plan = plan, .names = names, .write = write, .context = context, .workers = workers
    };
    lanepool_status status = print_head(&report);
    if (status == LANEPOOL_OK) {
        status = print_workers(&report, worker_counts, count);
    }
    if (status == LANEPOOL_OK) {
        status = print_worst(&report);
    }
    if (status == LANEPOOL_OK) {
        status = print_tags(&report);
    }
    if (status == LANEPOOL_OK && !report.has_head) {
        print(&report, "\nwith %u worker%s, no rollup as a cut and no commuting key saves 1 %%\n",
              workers, workers == 1 ? "" : "s");
    }
    return status == LANEPOOL_OK ||
           problem_set(problem, EXIT_CODE_IO, "the plan cannot be made: %s",
                       lanepool_status_text(status));
}
