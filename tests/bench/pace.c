#include "pace.h"

#include <math.h>
#include <stdlib.h>

#include "bench/timing.h"
#include "check.h"
#include "draw.h"
#include "measure.h"

#define LEAD_NS 1e6   /* from the start until the first arrival */
#define LATE_NS 10e3  /* a submit counts as late from so long after the arrival on */
#define UNIT    65536 /* arrivals are drawn with this precision */

static struct {
    const struct bench_pace *pace; /* or NULL */
    const struct bench_task *tasks;
    size_t count;
    double *submitted_ns; /* for each task; in the end, how long it waited */
    double *started_ns;   /* for each task */
    size_t late;
} run;

void bench_pace_begin(const struct bench_pace *pace, const struct bench_task *tasks, size_t count)
{
    run.pace = pace;
    run.tasks = tasks;
    run.count = count;
    run.submitted_ns = calloc(count, sizeof *run.submitted_ns);
    run.started_ns = calloc(count, sizeof *run.started_ns);
    bench_require(run.submitted_ns != NULL && run.started_ns != NULL, "memory for waits");
    timing_be_punctual();
}

static double draw_gap_ns(void)
{
    double uniform = ((double)bench_draw_below(UNIT) + 0.5) / UNIT;
    return -run.pace->mean_gap_ns * log(uniform);
}

static void submit(size_t index, double arrival_ns)
{
    double now_ns = bench_now_ns();
    run.submitted_ns[index] = now_ns;
    if (now_ns - arrival_ns > LATE_NS)
        run.late++;
    bench_engine.submit(&run.tasks[index]);
}

static void submit_closed(void)
{
    for (size_t i = 0; i < run.count; i++) {
        submit(i, bench_now_ns());
        while (bench_done() <= i)
            continue;
    }
}

void bench_pace_submit_all(void)
{
    if (run.pace->waiting == BENCH_CLOSED) {
        submit_closed();
        return;
    }
    double arrival_ns = bench_now_ns() + LEAD_NS;
    for (size_t i = 0; i < run.count; i++) {
        if (run.pace->waiting == BENCH_SLEEPS)
            timing_sleep_until(arrival_ns);
        while (bench_now_ns() < arrival_ns)
            continue;
        submit(i, arrival_ns);
        arrival_ns += draw_gap_ns();
    }
}

void bench_pace_start(const struct bench_task *task)
{
    if (run.pace != NULL)
        run.started_ns[task - run.tasks] = bench_now_ns();
}

struct bench_waits bench_pace_end(void)
{
    double *waited_ns = run.submitted_ns;
    for (size_t i = 0; i < run.count; i++)
        waited_ns[i] = run.started_ns[i] - run.submitted_ns[i];
    timing_sort(waited_ns, run.count);
    return (struct bench_waits){
        .p50_ns = timing_quantile(waited_ns, run.count, 0.5),
        .p90_ns = timing_quantile(waited_ns, run.count, 0.9),
        .p99_ns = timing_quantile(waited_ns, run.count, 0.99),
        .late = (double)run.late / (double)run.count,
    };
}
