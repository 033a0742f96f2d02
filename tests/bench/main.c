/* Runs one workload once with the engine that is linked, and prints one line of JSON. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "engine.h"
#include "measure.h"
#include "options.h"
#include "pace.h"
#include "support/process.h"
#include "workload.h"

#define BODY_NS      1000
#define LOOK_NS      200000
#define GATES_MAX    64
#define GATE_WAIT_NS 10e9

static struct {
    struct bench_options options;
    const struct bench_workload *workload;
    struct bench_tasks tasks;
    struct bench_task gates[GATES_MAX];
    struct bench_usage begin, end;
    double submitted_ns;      /* when everything was submitted */
    double drain_began_ns;    /* when the gates opened */
    double bytes_per_pending; /* while the gates were shut */
} run;

void bench_require(bool happened, const char *what)
{
    if (happened)
        return;
    fprintf(stderr, "bench_%s: failed: %s\n", bench_engine.name, what);
    exit(1);
}

static void *submit_share(void *argument)
{
    const size_t *count = argument;
    const struct bench_task *tasks = run.tasks.of[count - run.tasks.count];
    void (*submit)(const struct bench_task *) = bench_engine.submit;
    if (run.options.batch == 0)
        for (size_t i = 0; i < *count; i++)
            submit(&tasks[i]);
    else
        for (size_t i = 0; i < *count; i += run.options.batch)
            bench_engine.submit_batch(
                &tasks[i], *count - i < run.options.batch ? *count - i : run.options.batch);
    return NULL;
}

static void submit_all(void)
{
    pthread_t threads[BENCH_SUBMITTERS_MAX];
    unsigned submitters = run.workload->submitters;
    if (submitters == 1) {
        submit_share(&run.tasks.count[0]);
        return;
    }
    for (unsigned i = 0; i < submitters; i++)
        bench_require(pthread_create(&threads[i], NULL, submit_share, &run.tasks.count[i]) == 0,
                      "a thread that submits");
    for (unsigned i = 0; i < submitters; i++)
        pthread_join(threads[i], NULL);
}

static void sleep_ns(long ns)
{
    struct timespec pause = { .tv_sec = 0, .tv_nsec = ns };
    nanosleep(&pause, NULL);
}

static void wait_for_all(void)
{
    if (bench_engine.wait != NULL)
        bench_engine.wait();
    while (bench_done() < run.tasks.total)
        sleep_ns(LOOK_NS);
}

/* Blocks every worker with a task at a gate. */
static void shut_gates(void)
{
    double deadline = bench_now_ns() + GATE_WAIT_NS;
    for (unsigned i = 0; i < run.options.workers; i++) {
        run.gates[i].key = run.workload->key_count + i;
        bench_engine.submit(&run.gates[i]);
    }
    while (bench_gates_entered() < run.options.workers) {
        bench_require(bench_now_ns() < deadline, "every worker at a gate");
        sleep_ns(LOOK_NS);
    }
}

static void measure_gated(void)
{
    shut_gates();
    double before = (double)process_resident_bytes();
    run.begin = bench_usage_now();
    submit_all();
    run.submitted_ns = bench_now_ns();
    run.bytes_per_pending = ((double)process_resident_bytes() - before) / (double)run.tasks.total;
    bench_require(bench_done() == 0, "no task ran while every worker stood at a gate");
    run.drain_began_ns = bench_now_ns();
    bench_gates_open(run.options.workers);
    wait_for_all();
    run.end = bench_usage_now();
}

static void measure(void)
{
    if (run.workload->is_gated) {
        measure_gated();
        return;
    }
    run.begin = bench_usage_now();
    if (bench_engine.run_all != NULL) {
        bench_engine.run_all(run.tasks.of[0], run.tasks.total);
    } else {
        if (run.workload->pace != NULL)
            bench_pace_submit_all();
        else
            submit_all();
        wait_for_all();
    }
    run.end = bench_usage_now();
}

/* Returns the wall time, without the pause of a gated workload between the last submit and the
 * opening of the gates. */
static double wall_ns(void)
{
    double all = run.end.wall_ns - run.begin.wall_ns;
    return run.workload->is_gated ? all - (run.drain_began_ns - run.submitted_ns) : all;
}

static const char *truth(bool value)
{
    return value ? "true" : "false";
}

static void print_head(bool is_supported)
{
    printf("{\"engine\": \"%s\", \"workload\": \"%s\", \"supported\": %s", bench_engine.name,
           run.workload->name, truth(is_supported));
}

static void print_result(struct bench_verdict verdict, double body_ns)
{
    double tasks = (double)run.tasks.total;
    double wall = wall_ns();
    print_head(true);
    printf(", \"tasks\": %zu, \"batch\": %zu", run.tasks.total, run.options.batch);
    printf(", \"ns_per_task\": %.2f", wall / tasks);
    printf(", \"cpu_ns_per_task\": %.2f", (run.end.cpu_ns - run.begin.cpu_ns) / tasks);
    printf(", \"voluntary_switches\": %ld, \"involuntary_switches\": %ld",
           run.end.voluntary_switches - run.begin.voluntary_switches,
           run.end.involuntary_switches - run.begin.involuntary_switches);
    if (run.workload->is_gated)
        printf(", \"submit_ns\": %.2f, \"drain_ns\": %.2f, \"bytes_per_pending\": %.1f",
               (run.submitted_ns - run.begin.wall_ns) / tasks,
               (run.end.wall_ns - run.drain_began_ns) / tasks, run.bytes_per_pending);
    if (run.workload->pace != NULL) {
        struct bench_waits waits = bench_pace_end();
        printf(", \"p50_ns\": %.0f, \"p90_ns\": %.0f, \"p99_ns\": %.0f, \"late\": %.4f",
               waits.p50_ns, waits.p90_ns, waits.p99_ns, waits.late);
    } else if (run.workload->has_body) {
        printf(", \"efficiency\": %.3f", body_ns * tasks / run.options.workers / wall);
    }
    printf(", \"order\": %s, \"updates\": %s, \"count\": %s}\n",
           bench_engine.features & BENCH_UNORDERED ? "null" : truth(verdict.order),
           truth(verdict.updates), truth(verdict.count));
}

static int run_workload(void)
{
    double body_ns = 0;
    uint64_t rounds = 0;
    if (run.workload->has_body) {
        rounds = run.options.body_rounds;
        rounds = rounds > 0 ? rounds : bench_body_rounds(BODY_NS);
        body_ns = bench_body_ns(rounds);
    }
    bench_tasks_make(&run.tasks, run.workload, run.options.tasks);
    if (run.workload->pace != NULL)
        bench_pace_begin(run.workload->pace, run.tasks.of[0], run.tasks.total);
    bench_check_begin(run.workload, !(bench_engine.features & BENCH_UNORDERED), rounds);
    struct bench_setup setup = { .workers = run.options.workers,
                                 .submitters = run.workload->submitters,
                                 .key_count = run.workload->key_count + GATES_MAX };
    bench_engine.start(&setup);
    if (bench_engine.enter != NULL)
        bench_engine.enter(measure);
    else
        measure();
    bench_engine.stop();
    struct bench_verdict verdict = bench_check_end(&run.tasks);
    print_result(verdict, body_ns);
    return verdict.order && verdict.updates && verdict.count ? 0 : 1;
}

/* An engine that has a way of its own to submit has no pace. */
static bool is_supported(void)
{
    bool submits_each = bench_engine.run_all == NULL && bench_engine.enter == NULL;
    return (run.workload->needs & ~bench_engine.features) == 0 &&
           (run.workload->pace == NULL || submits_each);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--measure-machine") == 0) {
        printf("{\"body_rounds\": %llu, \"line_round_trip_ns\": %.0f}\n",
               (unsigned long long)bench_body_rounds(BODY_NS), bench_line_round_trip_ns());
        return 0;
    }
    run.options = bench_options_read(argc, argv);
    run.workload = bench_workload_find(run.options.workload);
    bench_require(run.workload != NULL, "finding a workload of that name");
    if (run.options.workers == 0)
        run.options.workers = run.workload->workers;
    if (!is_supported()) {
        print_head(false);
        printf("}\n");
        return 0;
    }
    return run_workload();
}
