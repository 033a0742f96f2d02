/* Owns the figures that compare two layouts. */
#include "measure/compare.h"

#include <stdlib.h>

#include "base/units.h"
#include "measure/stats.h"
#include "memory.h"
#include "model/model.h"

enum figure {
    TOTAL,           /* up to the last event */
    BLOCKED,         /* workers without work although tasks were pending, all workers together */
    LATCHED,         /* the part of BLOCKED that is due to a latch */
    LATCHED_WAITING, /* lanes latched while other tasks waited in them, all lanes together */
    WAITING_MEAN,    /* from the submit to the start */
    WAITING_99,
    WAITING_MOST,
    FIGURES
};

static const char *const figure_names[FIGURES] = { "total time",
                                                   "workers blocked, in all",
                                                   "  of it by latches",
                                                   "lanes latched, others behind",
                                                   "waiting of a task, mean",
                                                   "waiting of a task, p99",
                                                   "waiting of a task, longest" };

static int compare_numbers(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void measure_waiting(uint64_t figures[FIGURES], const struct model *model)
{
    struct stats_measure waiting = { .values = memory_zeroed(model->replay->task_count,
                                                             sizeof(uint64_t)) };
    uint64_t sum = 0;
    for (size_t i = 0; i < model->replay->task_count; i++) {
        const lanepool_replay_task *task = &model->replay->tasks[i];
        uint64_t start = model_attempt(model, i, 0).start_ns;
        if (task->submit_ns != LANEPOOL_REPLAY_UNSEEN && start != LANEPOOL_REPLAY_UNSEEN) {
            waiting.values[waiting.count] = start - task->submit_ns;
            sum += waiting.values[waiting.count++];
        }
    }
    qsort(waiting.values, waiting.count, sizeof(uint64_t), compare_numbers);
    figures[WAITING_MEAN] = waiting.count > 0 ? sum / waiting.count : 0;
    figures[WAITING_99] = stats_percentile(&waiting, 99);
    figures[WAITING_MOST] = stats_percentile(&waiting, 100);
    free(waiting.values);
}

static void measure_workers(uint64_t figures[FIGURES], const struct model *model)
{
    for (size_t i = 0; i < model->recording->worker_count; i++) {
        const struct model_worker *worker = &model->workers[i];
        for (size_t k = 0; k < worker->span_count; k++) {
            const struct model_span *span = &worker->spans[k];
            uint64_t ns = model_until(model, span->to) - span->from;
            figures[BLOCKED] += span->kind == MODEL_BLOCKED ? ns : 0;
            figures[LATCHED] +=
                span->kind == MODEL_BLOCKED && span->task != LANEPOOL_REPLAY_NONE ? ns : 0;
        }
    }
}

static void measure_run(uint64_t figures[FIGURES], const struct recording *recording)
{
    struct model model;
    struct stats stats;
    model_init(&model, recording, true);
    model_feed_until(&model, 0, LANEPOOL_REPLAY_UNSEEN);
    stats_gather(&stats, &model);
    figures[TOTAL] = model.now;
    figures[LATCHED_WAITING] = stats.latched_waiting_ns;
    measure_workers(figures, &model);
    measure_waiting(figures, &model);
    stats_fini(&stats);
    model_fini(&model);
}

static void add_difference(struct text *text, uint64_t from, uint64_t to)
{
    char number[UNITS_TEXT_SIZE];
    text_add(text, "  %s%s", to < from ? "-" : "+",
             units_format(number, to < from ? from - to : to - from));
    double percent = from > 0 ? ((double)to - (double)from) * 100 / (double)from : 0;
    if ((percent >= 1 || percent <= -1) && percent < 1000) {
        text_add(text, " (%+.0f %%)", percent);
    }
    text_add(text, "\n");
}

void compare_write(struct text *text, const char *title, const struct recording *per_key,
                   const struct recording *per_worker)
{
    uint64_t key[FIGURES] = { 0 }, worker[FIGURES] = { 0 };
    measure_run(key, per_key);
    measure_run(worker, per_worker);
    text_add(text, "%s: the same tasks on %u worker%s\n\n%-30s %12s %12s\n", title,
             per_key->worker_count, per_key->worker_count == 1 ? "" : "s", "lanes", "per key",
             "per worker");
    for (unsigned i = 0; i < FIGURES; i++) {
        char left[UNITS_TEXT_SIZE], right[UNITS_TEXT_SIZE];
        text_add(text, "%-30s %12s %12s", figure_names[i], units_format(left, key[i]),
                 units_format(right, worker[i]));
        add_difference(text, key[i], worker[i]);
    }
    if (per_key->missed + per_worker->missed > 0) {
        text_add(text, "%llu and %llu events were missed: the figures are too small\n",
                 (unsigned long long)per_key->missed, (unsigned long long)per_worker->missed);
    }
}
