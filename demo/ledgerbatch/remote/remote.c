/* Owns the order of a process's part: take part, wait for the end, publish once. */
#include "remote/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/stop.h"
#include "batch/effect.h"
#include "lanepool/adapters/pg.h"
#include "memory.h"
#include "remote/append.h"
#include "remote/effects.h"
#include "remote/record.h"
#include "remote/run_task.h"

/* How long the node works between two looks at SIGTERM. */
#define WORK_NS UINT64_C(100000000)
/* How many tasks of a shard are read ahead. A shard moves to a process that joins when these are
 * done. */
#define WINDOW_TASKS 64
/* How long it tries to leave in order. Without that, its tasks run elsewhere all the same. */
#define LEAVE_NS UINT64_C(2000000000)
/* How often a process asks whether it is its turn, or whether the store is back. */
#define PAUSE_NS 100000000
/* In how many looks the record is read once. */
#define LOOKS_PER_READ 10

struct remote {
    struct plan *plan;
    struct record record;
    struct run_tables tables;
    lanepool_options pool;
    lanepool_pg_store *store;
    lanepool_remote *node;
    struct effects effects;
    char name[128]; /* of this process, for others */
};

static void pause_work(void)
{
    const struct timespec pause = { 0, PAUSE_NS };
    (void)nanosleep(&pause, NULL);
}

static bool report_stop(struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_STOPPED,
                       "stopped by SIGTERM: what is done is in the store, and others go on; run "
                       "the same command again to take part");
}

static bool report_status(const char *what, lanepool_status status, struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_IO, "the store: %s: %s", what,
                       lanepool_status_text(status));
}

/* Sets the name of this process: HOST:PID. */
static void set_name(struct remote *remote)
{
    char host[100] = "";
    if (gethostname(host, sizeof host - 1) != 0) {
        host[0] = 0;
    }
    snprintf(remote->name, sizeof remote->name, "%s:%ld", host, (long)getpid());
}

static size_t count_workers(unsigned workers)
{
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    return workers > 0 ? workers : cpus > 0 ? (size_t)cpus : 1;
}

static bool open_store(struct remote *remote, const char *store, struct problem *problem)
{
    char error[512] = "";
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    options.error = error;
    options.error_size = sizeof error;
    lanepool_status status = lanepool_pg_open(store, RECORD_BATCH_NAME, &options, &remote->store);
    return status == LANEPOOL_OK || problem_set(problem, EXIT_CODE_IO, "the store: %s",
                                                error[0] ? error : lanepool_status_text(status));
}

static bool open_node(struct remote *remote, struct problem *problem)
{
    static const lanepool_remote_kind kinds[RUN_TASK_KINDS] = {
        [RUN_TASK_WRITES] = { run_task, false }, [RUN_TASK_READS] = { run_task, true }
    };
    lanepool_remote_options options = LANEPOOL_REMOTE_OPTIONS_INIT;
    remote->pool = (lanepool_options)LANEPOOL_OPTIONS_INIT;
    remote->pool.workers = (unsigned)remote->tables.count;
    options.name = remote->name;
    options.kinds = kinds;
    options.kind_count = RUN_TASK_KINDS;
    options.user = &remote->tables;
    options.pool = &remote->pool;
    options.window_tasks = WINDOW_TASKS;
    lanepool_status status =
        lanepool_remote_open(lanepool_pg_functions(), remote->store, &options, &remote->node);
    return status == LANEPOOL_OK || report_status("it cannot be opened", status, problem);
}

static bool open_parts(struct remote *remote, const struct remote_options *options,
                       struct problem *problem)
{
    size_t workers = count_workers(options->workers);
    set_name(remote);
    return run_tables_init(&remote->tables, remote->plan, workers, options->task_wait_us,
                           problem) &&
           open_store(remote, options->store, problem) &&
           record_make(&remote->record, remote->plan, problem) && open_node(remote, problem);
}

/* Ends the node. The tables are freed, since the publication needs memory. */
static void close_parts(struct remote *remote)
{
    lanepool_remote_close(remote->node);
    lanepool_pg_close(remote->store);
    run_tables_fini(&remote->tables);
}

/* --- work --- */

/* Appends tasks if no other process does. Returns false after a problem. */
static bool append_in_turn(struct remote *remote, struct problem *problem)
{
    bool is_got = false;
    enum answer answer = record_lock(&remote->record, RECORD_APPEND, &is_got, problem);
    if (answer == ANSWER_DONE && is_got && !remote->record.is_sealed) {
        answer = append_tasks(remote->node, &remote->record, remote->plan, problem);
    }
    return answer != ANSWER_REFUSED;
}

/* Works on tasks until all are done. Then it leaves in order. */
static bool work(struct remote *remote, struct problem *problem)
{
    lanepool_status status = LANEPOOL_TIMED_OUT;
    for (unsigned look = 0; status == LANEPOOL_TIMED_OUT && !stop_is_asked(); look++) {
        bool reads = !remote->record.is_sealed && look % LOOKS_PER_READ == 0;
        if (reads && !append_in_turn(remote, problem)) {
            return false;
        }
        status = lanepool_remote_await_all(remote->node, WORK_NS);
    }
    if (status != LANEPOOL_OK && status != LANEPOOL_TIMED_OUT) {
        return report_status("the batch cannot be worked on", status, problem);
    }
    lanepool_status left = lanepool_remote_leave(remote->node, LEAVE_NS);
    (void)left; /* if it has not left, others see that its connection is gone */
    return status == LANEPOOL_OK || report_stop(problem);
}

/* --- publishing --- */

/* Waits until this process may publish, or another one has. */
static bool await_turn(struct remote *remote, bool *publishes, struct problem *problem)
{
    bool is_got = false;
    while (!is_got && !remote->record.head[0]) {
        enum answer answer = record_lock(&remote->record, RECORD_PUBLISH, &is_got, problem);
        if (answer == ANSWER_REFUSED) {
            return false;
        }
        if (answer == ANSWER_AWAY || (!is_got && !remote->record.head[0])) {
            is_got = false;
            pause_work();
        }
        if (stop_is_asked()) {
            return report_stop(problem);
        }
    }
    *publishes = !remote->record.head[0];
    return true;
}

static void print_publisher(const struct remote *remote)
{
    printf("all %zu tasks are done; published by %s\nhead %s\n", remote->plan->task_count,
           remote->record.publisher, remote->record.head);
}

static bool take_part(struct remote *remote, const struct remote_options *options,
                      struct problem *problem)
{
    if (remote->record.head[0]) {
        return true;
    }
    bool is_done = open_parts(remote, options, problem) && work(remote, problem);
    close_parts(remote);
    return is_done;
}

bool remote_work(struct remote **made, struct plan *plan, const struct remote_options *options,
                 bool *publishes, struct problem *problem)
{
    struct remote *remote = memory_zeroed(1, sizeof *remote);
    *made = remote;
    remote->plan = plan;
    stop_begin();
    bool is_done =
        record_open(&remote->record, options->store, options->must_exist, plan, problem) &&
        take_part(remote, options, problem) && await_turn(remote, publishes, problem);
    stop_end();
    if (is_done && !*publishes) {
        print_publisher(remote);
    }
    return is_done;
}

static bool report_failure(const struct task *task, const struct wire *effect,
                           struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_HELD,
                       "task %u fails: %.*s; clients are held on one machine only: run the same "
                       "command without --store, it goes on from there",
                       task->seq, (int)effect->left - 1, (const char *)effect->at + 1);
}

bool remote_read(struct remote *remote, struct batch *batch, struct task *task,
                 struct problem *problem)
{
    struct wire effect;
    uint32_t found;
    enum answer answer = ANSWER_AWAY;
    while (answer == ANSWER_AWAY) {
        answer = effects_find(&remote->effects, &remote->record.session, task->seq, &effect, &found,
                              problem);
        if (answer == ANSWER_AWAY) {
            pause_work();
        }
    }
    if (answer == ANSWER_REFUSED) {
        return false;
    }
    if (found == task->seq && effect.left > 0 && effect.at[0] == OUTCOME_NONE) {
        return report_failure(task, &effect, problem);
    }
    return (found == task->seq && wire_get_effect(&effect, batch, task)) ||
           problem_set(problem, EXIT_CODE_IO,
                       "the store is damaged: what task %u has done is not there", task->seq);
}

bool remote_end(struct remote *remote, const char *head, struct problem *problem)
{
    enum answer answer = ANSWER_AWAY;
    set_name(remote);
    while (answer == ANSWER_AWAY) {
        answer = record_set_head(&remote->record, head, remote->name, problem);
        if (answer == ANSWER_AWAY) {
            pause_work();
        }
    }
    return answer == ANSWER_DONE;
}

void remote_close(struct remote *remote)
{
    if (remote) {
        effects_fini(&remote->effects);
        record_close(&remote->record);
        free(remote);
    }
}
