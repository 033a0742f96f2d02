/* Owns the command status --store, and the reasons of tasks. */
#include "remote/status.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/print.h"
#include "lanepool/adapters/pg.h"
#include "lanepool/remote.h"
#include "memory.h"
#include "remote/record.h"

#define REASON_WAIT_NS UINT64_C(10000000000)

struct worker {
    uint64_t id;
    char *name;
    uint64_t seen_before_ns;
    size_t shards;
};

struct view {
    struct worker *workers; /* those that are not dead */
    uint64_t *owners;       /* of the shards */
    size_t worker_count, worker_capacity, shard_count, shard_capacity;
};

static void add_worker(void *context, const lanepool_remote_node_row *row)
{
    struct view *view = context;
    if (row->is_dead) {
        return;
    }
    view->workers = memory_grow(view->workers, &view->worker_capacity, view->worker_count + 1,
                                sizeof *view->workers);
    view->workers[view->worker_count++] =
        (struct worker){ row->id, memory_copy_text(row->name), row->seen_before_ns, 0 };
}

static void add_shard(void *context, const lanepool_remote_shard_row *row)
{
    struct view *view = context;
    view->owners = memory_grow(view->owners, &view->shard_capacity, view->shard_count + 1,
                               sizeof *view->owners);
    view->owners[view->shard_count++] = row->owner;
}

static void ignore_entry(void *context, const lanepool_remote_entry_row *row)
{
    (void)context;
    (void)row;
}

static void ignore_letter(void *context, const lanepool_remote_letter_row *row)
{
    (void)context;
    (void)row;
}

static void ignore_outcome(void *context, const lanepool_remote_outcome_row *row)
{
    (void)context;
    (void)row;
}

/* Counts the shards of each worker; returns the number of all these. */
static size_t count_shards(struct view *view)
{
    size_t count = 0;
    for (size_t i = 0; i < view->shard_count; i++) {
        for (size_t j = 0; j < view->worker_count; j++) {
            bool owns = view->workers[j].id == view->owners[i];
            view->workers[j].shards += owns;
            count += owns;
        }
    }
    return count;
}

static void print_workers(struct view *view)
{
    size_t owned = count_shards(view);
    printf("%zu process%s on %zu of %zu shards\n", view->worker_count,
           view->worker_count == 1 ? " works" : "es work", owned, view->shard_count);
    for (size_t i = 0; i < view->worker_count; i++) {
        const struct worker *worker = &view->workers[i];
        print_format("  %s: %zu shard%s, seen %.1f s ago\n", worker->name, worker->shards,
                     worker->shards == 1 ? "" : "s", (double)worker->seen_before_ns / 1e9);
    }
}

static bool print_tasks(struct record *record, size_t task_count, struct problem *problem)
{
    PGresult *rows;
    if (session_call(&record->session, "SELECT count(*) FROM lanepool_ledgerbatch.effect", 0, NULL,
                     false, &rows, problem) != ANSWER_DONE) {
        return false;
    }
    print_format("%s of %zu tasks are done", PQgetvalue(rows, 0, 0), task_count);
    PQclear(rows);
    if (!record->is_sealed) {
        printf("; at least %zu are in the store", record->appended);
    }
    printf("\n");
    if (record->head[0]) {
        print_format("published by %s\nhead %s\n", record->publisher, record->head);
    }
    return true;
}

static bool print_view(lanepool_pg_store *store, struct problem *problem)
{
    struct view view = { 0 };
    lanepool_remote_news news;
    const lanepool_remote_visitor visitor = { .context = &view,
                                              .shard = add_shard,
                                              .node = add_worker,
                                              .entry = ignore_entry,
                                              .letter = ignore_letter,
                                              .outcome = ignore_outcome };
    const lanepool_remote_store_functions *functions = lanepool_pg_functions();
    lanepool_status status = functions->read_status(store, 0, &visitor, &news);
    if (status == LANEPOOL_OK) {
        print_workers(&view);
    } else {
        problem_set(problem, EXIT_CODE_IO, "the store: %s", functions->error_text(store));
    }
    for (size_t i = 0; i < view.worker_count; i++) {
        free(view.workers[i].name);
    }
    free(view.workers);
    free(view.owners);
    return status == LANEPOOL_OK;
}

static void write_text(void *context, const char *text, size_t size)
{
    (void)context;
    (void)fwrite(text, 1, size, stdout);
}

/* A node that takes no shards asks for the reason. */
static bool print_reason(lanepool_pg_store *store, uint64_t task, struct problem *problem)
{
    lanepool_remote *remote;
    lanepool_remote_options options = LANEPOOL_REMOTE_OPTIONS_INIT;
    options.name = "status";
    lanepool_status status =
        lanepool_remote_open(lanepool_pg_functions(), store, &options, &remote);
    if (status == LANEPOOL_OK) {
        status = lanepool_remote_explain(remote, task, REASON_WAIT_NS, write_text, NULL);
        lanepool_status left = lanepool_remote_leave(remote, REASON_WAIT_NS);
        status = status == LANEPOOL_OK ? left : status;
        lanepool_remote_close(remote);
    }
    return status == LANEPOOL_OK ||
           problem_set(problem, EXIT_CODE_IO, "task %llu of the store: %s",
                       (unsigned long long)task, lanepool_status_name(status));
}

static bool print_status(const char *uri, struct record *record, size_t task_count, uint64_t task,
                         struct problem *problem)
{
    char error[512] = "";
    lanepool_pg_store *store;
    lanepool_pg_options options = LANEPOOL_PG_OPTIONS_INIT;
    options.must_exist = true;
    options.error = error;
    options.error_size = sizeof error;
    if (lanepool_pg_open(uri, RECORD_BATCH_NAME, &options, &store) != LANEPOOL_OK) {
        return problem_set(problem, EXIT_CODE_IO, "the store: %s", error);
    }
    bool is_printed = print_tasks(record, task_count, problem) && print_view(store, problem) &&
                      (task == 0 || print_reason(store, task, problem));
    lanepool_pg_close(store);
    return is_printed;
}

bool remote_status(const char *store, uint64_t task, struct problem *problem)
{
    struct record record;
    size_t task_count = 0;
    bool is_printed = record_view(&record, store, &task_count, problem) &&
                      print_status(store, &record, task_count, task, problem);
    record_close(&record);
    return is_printed;
}
