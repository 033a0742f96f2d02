/* Owns the text of metrics: Prometheus' text format 0.0.4. */
#include "lanepool/inspect.h"

#include "inspect/snapshot_text.h"
#include "inspect/times.h"

#include <string.h>

/* The buckets of histograms: each power of four. */
#define FIRST_BITS 10
#define LAST_BITS  42

/* All sources of one page, and where it is written. */
struct page {
    const lanepool_metrics_source *sources;
    size_t count;
    lanepool_i_out out;
};

/* --- pieces --- */

static void write_escaped(const lanepool_i_out *out, const char *value)
{
    for (; *value != '\0'; value++) {
        if (*value == '\n')
            lanepool_i_out_text(out, "\\n");
        else if (*value == '"' || *value == '\\')
            lanepool_i_out_text(out, *value == '"' ? "\\\"" : "\\\\");
        else
            out->write(out->context, value, 1);
    }
}

static void write_seconds(const lanepool_i_out *out, uint64_t ns)
{
    char digits[] = ".000000000";
    uint64_t rest = ns % UINT64_C(1000000000);
    lanepool_i_out_number(out, ns / UINT64_C(1000000000));
    for (size_t i = sizeof digits - 2; i > 0; i--, rest /= 10)
        digits[i] = (char)('0' + rest % 10);
    lanepool_i_out_text(out, digits);
}

static void write_head(const lanepool_i_out *out, const char *name, const char *type,
                       const char *help)
{
    lanepool_i_out_text(out, "# HELP ");
    lanepool_i_out_text(out, name);
    lanepool_i_out_text(out, " ");
    lanepool_i_out_text(out, help);
    lanepool_i_out_text(out, "\n# TYPE ");
    lanepool_i_out_text(out, name);
    lanepool_i_out_text(out, " ");
    lanepool_i_out_text(out, type);
    lanepool_i_out_text(out, "\n");
}

/* The labels of a line, in braces: those of the caller, and the pool's name. */
struct labels {
    const lanepool_i_out *out;
    bool has_any;
};

static void write_label_name(struct labels *labels, const char *name)
{
    lanepool_i_out_text(labels->out, labels->has_any ? "," : "{");
    lanepool_i_out_text(labels->out, name);
    lanepool_i_out_text(labels->out, "=\"");
    labels->has_any = true;
}

static struct labels begin_line(const struct page *page, size_t source, const char *name,
                                const char *suffix)
{
    struct labels labels = { &page->out, false };
    lanepool_i_out_text(&page->out, name);
    lanepool_i_out_text(&page->out, suffix);
    if (page->sources[source].pool != NULL) {
        write_label_name(&labels, "pool");
        write_escaped(&page->out, page->sources[source].pool);
        lanepool_i_out_text(&page->out, "\"");
    }
    return labels;
}

static void add_text_label(struct labels *labels, const char *name, const char *value)
{
    write_label_name(labels, name);
    lanepool_i_out_text(labels->out, value);
    lanepool_i_out_text(labels->out, "\"");
}

static void add_number_label(struct labels *labels, const char *name, uint64_t value)
{
    write_label_name(labels, name);
    lanepool_i_out_number(labels->out, value);
    lanepool_i_out_text(labels->out, "\"");
}

static void end_labels(struct labels *labels)
{
    lanepool_i_out_text(labels->out, labels->has_any ? "} " : " ");
}

static void end_line_number(struct labels *labels, uint64_t value)
{
    end_labels(labels);
    lanepool_i_out_number(labels->out, value);
    lanepool_i_out_text(labels->out, "\n");
}

static void end_line_seconds(struct labels *labels, uint64_t ns)
{
    end_labels(labels);
    write_seconds(labels->out, ns);
    lanepool_i_out_text(labels->out, "\n");
}

/* --- counters of pools and workers --- */

/* A member of a struct of counters. */
struct counter {
    const char *name, *type, *help;
    size_t offset;
};

static uint64_t read_counter(const void *counters, const struct counter *counter)
{
    uint64_t value;
    memcpy(&value, (const char *)counters + counter->offset, sizeof value);
    return value;
}

static void write_pools(const struct page *page)
{
    static const struct counter counters[] = {
        { "lanepool_tasks_accepted_total", "counter", "Accepted tasks.",
          offsetof(lanepool_stats, accepted) },
        { "lanepool_tasks_finished_total", "counter", "Tasks that have ended.",
          offsetof(lanepool_stats, finished) },
        { "lanepool_tasks_pending", "gauge", "Accepted, unfinished tasks.",
          offsetof(lanepool_stats, pending) },
        { "lanepool_tasks_ready", "gauge", "Pending tasks that only wait for a worker.",
          offsetof(lanepool_stats, ready) },
        { "lanepool_tasks_delayed", "gauge", "Delayed and periodic tasks that are not due.",
          offsetof(lanepool_stats, delayed) },
        { "lanepool_tasks_taken_total", "counter",
          "Tasks that workers took from each other's queues.",
          offsetof(lanepool_stats, taken_from_others) },
        { "lanepool_lanes_latched", "gauge",
          "Lanes blocked by a rollup that waits for other lanes.",
          offsetof(lanepool_stats, latched_lanes) },
        { "lanepool_lanes_live", "gauge", "Lanes in memory.",
          offsetof(lanepool_stats, live_lanes) },
        { "lanepool_contexts_open", "gauge", "Open contexts of keys.",
          offsetof(lanepool_stats, contexts) },
        { "lanepool_wake_ups_total", "counter", "How often a worker was woken.",
          offsetof(lanepool_stats, wake_ups) },
        { "lanepool_threads", "gauge", "Workers that have a thread.",
          offsetof(lanepool_stats, threads) },
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        write_head(&page->out, counters[i].name, counters[i].type, counters[i].help);
        for (size_t source = 0; source < page->count; source++) {
            struct labels labels = begin_line(page, source, counters[i].name, "");
            end_line_number(&labels, read_counter(page->sources[source].stats, &counters[i]));
        }
    }
}

static bool has_workers(const struct page *page)
{
    for (size_t source = 0; source < page->count; source++)
        if (page->sources[source].worker_count > 0)
            return true;
    return false;
}

static void write_workers(const struct page *page)
{
    static const struct counter counters[] = {
        { "lanepool_worker_tasks_total", "counter", "Tasks that the worker has run.",
          offsetof(lanepool_worker_stats, finished) },
        { "lanepool_worker_ready", "gauge", "Ready tasks in the worker's queue.",
          offsetof(lanepool_worker_stats, ready) },
        { "lanepool_worker_taken_total", "counter", "Tasks that it took from other workers.",
          offsetof(lanepool_worker_stats, taken_from_others) },
        { "lanepool_worker_wake_ups_total", "counter", "How often it was woken.",
          offsetof(lanepool_worker_stats, wake_ups) },
    };
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        write_head(&page->out, counters[i].name, counters[i].type, counters[i].help);
        for (size_t source = 0; source < page->count; source++) {
            const lanepool_metrics_source *pool = &page->sources[source];
            for (size_t worker = 0; worker < pool->worker_count; worker++) {
                struct labels labels = begin_line(page, source, counters[i].name, "");
                add_number_label(&labels, "worker", worker);
                end_line_number(&labels, read_counter(&pool->workers[worker], &counters[i]));
            }
        }
    }
}

/* --- times --- */

static bool has_times(const struct page *page)
{
    for (size_t source = 0; source < page->count; source++)
        if (page->sources[source].times != NULL)
            return true;
    return false;
}

#define WORKERS_TIME "lanepool_workers_seconds_total"

static void write_state(const struct page *page, size_t source, const char *state, uint64_t ns)
{
    struct labels labels = begin_line(page, source, WORKERS_TIME, "");
    add_text_label(&labels, "state", state);
    end_line_seconds(&labels, ns);
}

static void write_workers_time(const struct page *page)
{
    write_head(&page->out, WORKERS_TIME, "counter",
               "Time of all workers: running tasks; asleep without a task, with tasks that wait "
               "in lanes, with ready tasks.");
    for (size_t source = 0; source < page->count; source++) {
        if (page->sources[source].times == NULL)
            continue;
        lanepool_times_workers workers;
        lanepool_times_of_workers(page->sources[source].times, &workers);
        write_state(page, source, "running", workers.running_ns);
        write_state(page, source, "idle", workers.idle_ns);
        write_state(page, source, "idle_blocked", workers.idle_blocked_ns);
        write_state(page, source, "idle_ready", workers.idle_ready_ns);
    }
}

/* The histogram of one tag of a source, and its metric. */
struct tag_histogram {
    const struct page *page;
    size_t source;
    const char *name;
    uint64_t tag;
    const lanepool_i_histogram *durations;
};

static struct labels begin_histogram_line(const struct tag_histogram *histogram, const char *suffix)
{
    struct labels labels = begin_line(histogram->page, histogram->source, histogram->name, suffix);
    add_number_label(&labels, "tag", histogram->tag);
    return labels;
}

static void write_bucket(const struct tag_histogram *histogram, unsigned bits)
{
    struct labels labels = begin_histogram_line(histogram, "_bucket");
    write_label_name(&labels, "le");
    write_seconds(labels.out, (UINT64_C(1) << bits) - 1);
    lanepool_i_out_text(labels.out, "\"");
    end_line_number(&labels, lanepool_i_histogram_count_below(histogram->durations, bits));
}

static void write_histogram(const struct tag_histogram *histogram)
{
    for (unsigned bits = FIRST_BITS; bits <= LAST_BITS; bits += 2)
        write_bucket(histogram, bits);
    struct labels labels = begin_histogram_line(histogram, "_bucket");
    add_text_label(&labels, "le", "+Inf");
    end_line_number(&labels, histogram->durations->count);
    labels = begin_histogram_line(histogram, "_sum");
    end_line_seconds(&labels, histogram->durations->sum_ns);
    labels = begin_histogram_line(histogram, "_count");
    end_line_number(&labels, histogram->durations->count);
}

static void write_histograms(const struct page *page)
{
    static const struct {
        const char *name, *help;
    } phases[] = {
        [LANEPOOL_I_TIMES_WAITING] = { "lanepool_task_waiting_seconds",
                                       "From the routing of a task until all its lanes are free." },
        [LANEPOOL_I_TIMES_LATCHED] = { "lanepool_task_latched_seconds",
                                       "How long a rollup blocks the first of its lanes." },
        [LANEPOOL_I_TIMES_READY] = { "lanepool_task_ready_seconds",
                                     "How long a ready task waits for a worker." },
        [LANEPOOL_I_TIMES_RUNNING] = { "lanepool_task_running_seconds",
                                       "How long a task runs, all attempts together." },
    };
    for (size_t phase = 0; phase < LANEPOOL_I_TIMES_PHASES; phase++) {
        write_head(&page->out, phases[phase].name, "histogram", phases[phase].help);
        for (size_t source = 0; source < page->count; source++) {
            const lanepool_times *times = page->sources[source].times;
            size_t rows = times != NULL ? lanepool_times_rows(times, NULL, 0) : 0;
            struct tag_histogram histogram = { page, source, phases[phase].name, 0, NULL };
            for (size_t row = 0; row < rows; row++) {
                histogram.durations = lanepool_i_times_of_tag(
                    times, row, (lanepool_i_times_phase)phase, &histogram.tag);
                if (histogram.durations != NULL)
                    write_histogram(&histogram);
            }
        }
    }
}

/* --- the page --- */

static bool have_same_name(const lanepool_metrics_source *one, const lanepool_metrics_source *other)
{
    if (one->pool == NULL || other->pool == NULL)
        return one->pool == other->pool;
    return strcmp(one->pool, other->pool) == 0;
}

static bool is_valid(const lanepool_metrics_source *sources, size_t index)
{
    const lanepool_metrics_source *source = &sources[index];
    if (source->stats == NULL || (source->workers == NULL && source->worker_count > 0))
        return false;
    for (size_t i = 0; i < sizeof source->reserved / sizeof *source->reserved; i++)
        if (source->reserved[i] != NULL)
            return false;
    for (size_t i = 0; i < index; i++)
        if (have_same_name(&sources[i], source))
            return false;
    return true;
}

lanepool_status lanepool_metrics_write(const lanepool_metrics_source *sources, size_t count,
                                       lanepool_write_fn write, void *context)
{
    if (write == NULL || (sources == NULL && count > 0))
        return LANEPOOL_INVALID;
    for (size_t i = 0; i < count; i++)
        if (!is_valid(sources, i))
            return LANEPOOL_INVALID;
    struct page page = { sources, count, { write, context } };
    write_pools(&page);
    if (has_workers(&page))
        write_workers(&page);
    if (has_times(&page)) {
        write_workers_time(&page);
        write_histograms(&page);
    }
    return LANEPOOL_OK;
}
