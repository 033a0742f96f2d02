/*
 * How fast nodes run a remote batch in PostgreSQL. Submits a batch, starts a process for each node,
 * and waits until all tasks are done and durable.
 *
 *     machines CONNINFO [NAME=VALUE...]
 *
 * prints "tasks_per_second node_cpu_us steps letters" for a batch, where node_cpu_us is the CPU
 * time of all nodes for each task. `run` starts a server, and adds what the server used.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lanepool/adapters/pg.h"
#include "lanepool/remote.h"

enum { CLAIMS_MOST = 256, SUBMIT_TASKS = 1000, NODES_MOST = 64 };

static struct {
    uint64_t nodes, workers, tasks, lanes, group_lanes, rollups, rollup_lanes, shards;
    uint64_t sleep_us, work_us, step_us, window, is_scattered, kill_ms, stop_ms;
} settings = { .nodes = 1,
               .workers = 1,
               .tasks = 200000,
               .lanes = 4480,
               .group_lanes = 40,
               .rollup_lanes = 40,
               .shards = 16 };

static const struct {
    const char *name;
    uint64_t *value;
} names[] = {
    { "nodes", &settings.nodes },
    { "workers", &settings.workers }, /* of each node */
    { "tasks", &settings.tasks },
    { "lanes", &settings.lanes },
    { "group_lanes", &settings.group_lanes },   /* lanes with one group */
    { "rollups", &settings.rollups },           /* of 1,000 tasks */
    { "rollup_lanes", &settings.rollup_lanes }, /* that one claims */
    { "shards", &settings.shards },
    { "sleep_us", &settings.sleep_us },      /* of each function */
    { "work_us", &settings.work_us },        /* CPU time of each function */
    { "step_us", &settings.step_us },        /* 0: the default */
    { "window", &settings.window },          /* 0: the default */
    { "scattered", &settings.is_scattered }, /* 1: lanes have no groups */
    { "kill_ms", &settings.kill_ms },        /* when a node is killed; 0: none is */
    { "stop_ms", &settings.stop_ms },        /* when a node is stopped; 0: none is */
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "machines: %s: %s\n", what, why);
    exit(1);
}

static void require(lanepool_status status, const char *what)
{
    if (status != LANEPOOL_OK)
        fail(what, lanepool_status_name(status));
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    if (clock_gettime(clock, &now) != 0)
        abort();
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* --- tasks --- */

static void spend_time(void)
{
    double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + (double)settings.work_us * 1e-6;
    struct timespec pause = { 0, (long)settings.sleep_us * 1000 };
    if (settings.sleep_us > 0)
        (void)nanosleep(&pause, NULL);
    while (settings.work_us > 0 && seconds_of(CLOCK_THREAD_CPUTIME_ID) < end) {
    }
}

/* Adds 1 to each lane. */
static int add_to_lanes(lanepool_remote_run *run, const lanepool_remote_task *task, void *user)
{
    (void)user;
    spend_time();
    for (size_t i = 0; i < task->claim_count; i++) {
        int64_t state[2] = { 0, 0 };
        lanepool_remote_bytes stored = lanepool_remote_state(run, i);
        if (stored.size == sizeof state)
            memcpy(state, stored.data, sizeof state);
        state[0]++;
        if (lanepool_remote_set_state(run, i, state, sizeof state) != LANEPOOL_OK)
            abort();
        if (i == 0 && lanepool_remote_put(run, state, sizeof state) != LANEPOOL_OK)
            abort();
    }
    return 0;
}

static const lanepool_remote_kind kind = { .run = add_to_lanes };

static uint64_t draw(uint64_t *random)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *random >> 33;
}

static void submit_all(lanepool_remote *remote)
{
    static lanepool_remote_claim claims[SUBMIT_TASKS][CLAIMS_MOST];
    static lanepool_remote_task tasks[SUBMIT_TASKS];
    uint64_t random = 1;
    for (uint64_t done = 0; done < settings.tasks;) {
        size_t count = 0;
        for (; count < SUBMIT_TASKS && done + count < settings.tasks; count++) {
            bool is_rollup = draw(&random) % 1000 < settings.rollups;
            uint64_t first = draw(&random) % settings.lanes;
            tasks[count].claims = claims[count];
            tasks[count].claim_count = is_rollup ? settings.rollup_lanes : 1;
            if (is_rollup)
                first -= first % settings.group_lanes;
            for (size_t i = 0; i < tasks[count].claim_count; i++) {
                uint64_t lane = (first + i) % settings.lanes;
                uint64_t group = settings.is_scattered ? 0 : 1 + lane / settings.group_lanes;
                claims[count][i] = (lanepool_remote_claim){ lane + 1, group, LANEPOOL_EXCLUSIVE };
            }
        }
        require(lanepool_remote_submit_many(remote, tasks, count, LANEPOOL_FOREVER, NULL),
                "submit");
        done += count;
    }
    require(lanepool_remote_seal(remote, LANEPOOL_FOREVER), "seal");
}

/* --- processes --- */

static lanepool_remote *open_batch(const char *conninfo, size_t kind_count,
                                   lanepool_pg_store **store)
{
    char error[256];
    lanepool_remote *remote;
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    lanepool_remote_options remote_options = LANEPOOL_REMOTE_OPTIONS_INIT;
    lanepool_options pool = LANEPOOL_OPTIONS_INIT;
    options.shard_count = (uint32_t)settings.shards;
    options.error = error;
    options.error_size = sizeof error;
    if (lanepool_pg_open(conninfo, "machines", &options, store) != LANEPOOL_OK)
        fail("open", error);
    pool.workers = (uint32_t)settings.workers;
    remote_options.kinds = &kind;
    remote_options.kind_count = kind_count;
    remote_options.pool = &pool;
    remote_options.step_ns = settings.step_us * 1000;
    remote_options.window_tasks = settings.window;
    require(lanepool_remote_open(lanepool_pg_functions(), *store, &remote_options, &remote),
            "open");
    return remote;
}

static void run_node(const char *conninfo, int report)
{
    lanepool_pg_store *store;
    lanepool_remote_view view;
    uint64_t counts[3];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)prctl(PR_SET_TIMERSLACK, 1000);
    lanepool_remote *remote = open_batch(conninfo, 1, &store);
    require(lanepool_remote_await_all(remote, LANEPOOL_FOREVER), "await");
    require(lanepool_remote_status(remote, LANEPOOL_FOREVER, &view), "status");
    counts[0] = view.counts.steps;
    counts[1] = view.counts.letters;
    counts[2] = view.counts.tasks;
    if (write(report, counts, sizeof counts) != (ssize_t)sizeof counts)
        abort();
    lanepool_remote_close(remote);
    lanepool_pg_close(store);
    exit(0);
}

static void read_settings(int count, char **texts)
{
    for (int i = 0; i < count; i++) {
        size_t number = 0;
        size_t length = strcspn(texts[i], "=");
        while (number < sizeof names / sizeof *names &&
               (strncmp(names[number].name, texts[i], length) != 0 ||
                names[number].name[length] != '\0'))
            number++;
        if (number == sizeof names / sizeof *names || texts[i][length] != '=')
            fail(texts[i], "unknown setting");
        *names[number].value = strtoull(texts[i] + length + 1, NULL, 10);
    }
    if (settings.rollup_lanes > CLAIMS_MOST || settings.lanes == 0 || settings.group_lanes == 0 ||
        settings.nodes > NODES_MOST)
        fail("settings", "out of range");
}

struct totals {
    uint64_t steps, letters, tasks;
};

static void start_nodes(const char *conninfo, int report, pid_t *nodes)
{
    for (uint64_t i = 0; i < settings.nodes; i++) {
        nodes[i] = fork();
        if (nodes[i] == 0)
            run_node(conninfo, report);
    }
}

/* Kills or stops a node, and prints after which time others have all its shards. */
static void disturb(lanepool_remote *remote, pid_t node)
{
    lanepool_remote_view view;
    uint64_t after_ms = settings.kill_ms + settings.stop_ms;
    struct timespec pause = { (time_t)(after_ms / 1000), (long)(after_ms % 1000) * 1000000 };
    (void)nanosleep(&pause, NULL);
    require(lanepool_remote_status(remote, LANEPOOL_FOREVER, &view), "status");
    uint32_t live = view.live_nodes;
    double begin = seconds_of(CLOCK_MONOTONIC);
    (void)kill(node, settings.kill_ms > 0 ? SIGKILL : SIGSTOP);
    do
        require(lanepool_remote_status(remote, LANEPOOL_FOREVER, &view), "status");
    while (view.live_nodes >= live || view.free_shards > 0);
    printf("others have its shards after %.2f s; ", seconds_of(CLOCK_MONOTONIC) - begin);
    (void)kill(node, SIGCONT);
}

static struct totals read_reports(int report)
{
    struct totals totals = { 0, 0, 0 };
    for (uint64_t i = settings.kill_ms > 0; i < settings.nodes; i++) {
        uint64_t counts[3];
        if (read(report, counts, sizeof counts) != (ssize_t)sizeof counts)
            fail("node", "it has ended");
        totals.steps += counts[0];
        totals.letters += counts[1];
        totals.tasks += counts[2];
    }
    return totals;
}

static void await_nodes(void)
{
    for (uint64_t i = 0; i < settings.nodes; i++) {
        int status;
        if (wait(&status) < 0 || (status != 0 && settings.kill_ms == 0))
            fail("node", "it has failed");
    }
}

static double cpu_of_nodes(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_CHILDREN, &usage) != 0)
        abort();
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

int main(int argc, char **argv)
{
    int report[2];
    pid_t nodes[NODES_MOST];
    lanepool_pg_store *store;
    if (argc < 2)
        fail("usage", "machines CONNINFO [NAME=VALUE...]");
    read_settings(argc - 2, argv + 2);
    if (pipe(report) != 0)
        abort();
    lanepool_remote *remote = open_batch(argv[1], 0, &store);
    submit_all(remote);
    lanepool_remote_close(remote);
    lanepool_pg_close(store);
    double begin = seconds_of(CLOCK_MONOTONIC);
    start_nodes(argv[1], report[1], nodes);
    remote = open_batch(argv[1], 0, &store);
    if (settings.kill_ms + settings.stop_ms > 0)
        disturb(remote, nodes[0]);
    struct totals totals = read_reports(report[0]);
    double wall = seconds_of(CLOCK_MONOTONIC) - begin;
    lanepool_remote_close(remote);
    lanepool_pg_close(store);
    await_nodes();
    if (totals.tasks < settings.tasks && settings.kill_ms == 0)
        fail("tasks", "some were not run");
    printf("%.0f tasks/s, %.1f us of CPU of the nodes for each task, %llu steps, %llu letters\n",
           (double)settings.tasks / wall, cpu_of_nodes() * 1e6 / (double)settings.tasks,
           (unsigned long long)totals.steps, (unsigned long long)totals.letters);
    return 0;
}
