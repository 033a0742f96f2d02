/* Owns the steps of a run: read, check, open, post, write the outputs, mark as finished. */
#include "run/run_command.h"

#include <stdio.h>
#include <stdlib.h>

#include "commit/committer.h"
#include "commit/held_rows.h"
#include "commit/name_rows.h"
#include "memory.h"
#include "publish/output.h"
#include "run/submit.h"

struct runner {
    const struct run_options *options;
    struct plan plan;
    struct batch batch;
    struct committer committer;
    struct progress progress;
    struct watch watch;
    struct store *store;
    struct leftovers leftovers;
    size_t skipped;
    bool has_batch;
};

static bool create_store(struct runner *runner, struct problem *problem)
{
    bool created = store_begin(runner->store, problem) &&
                   store_create(runner->store, runner->plan.digest,
                                (uint32_t)runner->plan.task_count, problem) &&
                   name_rows_put(runner->store, &runner->plan, problem) &&
                   store_commit(runner->store, problem);
    if (!created) {
        store_rollback(runner->store);
    }
    return created;
}

/*
 * Resumes an unfinished batch. The rows of held lanes stay until this command ends by itself, so
 * that a retry can be repeated if it is killed.
 */
static bool resume_store(struct runner *runner, struct problem *problem)
{
    return name_rows_check(runner->store, &runner->plan, problem) &&
           committer_load(&runner->committer, problem) &&
           held_rows_load(runner->store, &runner->batch.quarantine, &runner->options->resumed,
                          problem) &&
           leftovers_load(&runner->leftovers, runner->store, &runner->plan, &runner->batch,
                          problem) &&
           store_begin(runner->store, problem) && store_clear_held_tasks(runner->store, problem) &&
           store_commit(runner->store, problem);
}

static bool check_digest(const struct runner *runner, const struct store_facts *facts,
                         struct problem *problem)
{
    if (strcmp(facts->digest, runner->plan.digest) == 0) {
        return true;
    }
    return problem_set(problem, EXIT_CODE_OTHER,
                       "%s: belongs to other input or rules; name another database with --db",
                       runner->options->database);
}

/* --- running --- */

static bool submit_and_commit(struct runner *runner, struct submitter *submitter,
                              struct problem *problem)
{
    if (!submit_check(submitter, problem) || !committer_start(&runner->committer, problem)) {
        return false;
    }
    runner->skipped = submitter->skipped;
    progress_begin(&runner->progress, runner->plan.task_count, !runner->options->watch.is_live);
    struct problem commit_problem;
    bool ran = submit_run(submitter, problem);
    commit_queue_close(&runner->batch.queue);
    bool committed = committer_join(&runner->committer, &commit_problem);
    progress_end(&runner->progress);
    if (!committed) {
        *problem = commit_problem;
    }
    return ran && committed;
}

static bool run_tasks(struct runner *runner, struct problem *problem)
{
    /* A copy, since the committer's own array changes while tasks are submitted. */
    size_t size = (runner->plan.clients.count + 1) * sizeof(uint32_t);
    uint32_t *last_seqs = memory_zeroed(size, 1);
    memcpy(last_seqs, runner->committer.last_seqs, size);
    struct submitter submitter = { .batch = &runner->batch,
                                   .progress = &runner->progress,
                                   .watch = &runner->watch,
                                   .last_seqs = last_seqs,
                                   .leftovers = &runner->leftovers,
                                   .workers = runner->options->workers };
    bool ran = submit_and_commit(runner, &submitter, problem);
    free(last_seqs);
    return ran;
}

static void find_input_line(const void *context, uint32_t seq, struct slice *file, uint32_t *line)
{
    const struct plan *plan = context;
    if (seq < 1 || seq > plan->task_count || plan->tasks[seq - 1].kind != TASK_POST) {
        return;
    }
    const struct transaction *transaction = &plan->book.transactions[plan->tasks[seq - 1].subject];
    *file = slice_of(plan->book.sources.items[transaction->source]->name);
    *line = transaction->line;
}

static bool write_outputs(struct runner *runner, bool is_partial, struct problem *problem)
{
    struct output_options options = { .folder = runner->options->folder,
                                      .statements = runner->plan.rules.statement,
                                      .is_partial = is_partial,
                                      .places = { find_input_line, &runner->plan } };
    return output_write(runner->store, &options, problem);
}

static bool finish_store(struct runner *runner, struct problem *problem)
{
    bool finished = write_outputs(runner, false, problem) && store_begin(runner->store, problem) &&
                    store_clear_held(runner->store, problem) &&
                    store_mark_finished(runner->store, problem) &&
                    store_commit(runner->store, problem);
    if (!finished) {
        store_rollback(runner->store);
    }
    return finished;
}

static size_t count_held_lanes(const struct runner *runner)
{
    size_t count = 0;
    for (uint32_t i = 0; i <= plan_house_lane(&runner->plan); i++) {
        count += runner->batch.quarantine.lanes[i].held_seq != 0;
    }
    return count;
}

/*
 * Records what is held, and why, for the status command. If rollups are run without held clients,
 * the outputs so far are written.
 */
static bool record_held(struct runner *runner, struct problem *problem)
{
    struct quarantine *quarantine = &runner->batch.quarantine;
    bool excludes_held = runner->options->on_quarantine == ON_QUARANTINE_EXCLUDE;
    if (!held_rows_record(runner->store, quarantine, problem) ||
        (excludes_held && !write_outputs(runner, true, problem))) {
        return false;
    }
    size_t lanes = count_held_lanes(runner);
    return problem_set(
        problem, EXIT_CODE_HELD,
        "%zu of %zu tasks are held, in the lanes of %zu client%s, because %zu failed; "
        "the others are posted; to see why: ledgerbatch status --db %s",
        quarantine->task_count, runner->plan.task_count, lanes, lanes == 1 ? "" : "s",
        quarantine->failure_count, runner->options->database);
}

static void print_count(const char *before, size_t count, const char *noun)
{
    printf("%s%zu %s%s", before, count, noun, count == 1 ? "" : "s");
}

static void print_summary(const struct runner *runner)
{
    const struct plan *plan = &runner->plan;
    size_t rollups = plan->task_count - plan->book.transaction_count;
    print_count("", plan->book.transaction_count, "transaction");
    if (rollups > 0) {
        print_count(" and ", rollups, "month-end rollup");
    }
    print_count(" of ", plan->clients.count, "client");
    if (rollups > 0) {
        print_count(" in ", plan->clients.group_count, "group");
    }
    if (runner->skipped > 0) {
        printf(" (%zu were done before)", runner->skipped);
    }
    printf("\ndatabase %s, outputs in %s\n", runner->options->database, runner->options->folder);
}

static bool run_batch(struct runner *runner, const struct store_facts *facts,
                      struct problem *problem)
{
    bool ready =
        facts->state == STORE_EMPTY ? create_store(runner, problem) : resume_store(runner, problem);
    if (!ready || !run_tasks(runner, problem)) {
        return false;
    }
    quarantine_settle(&runner->batch.quarantine);
    if (count_held_lanes(runner) > 0) {
        return record_held(runner, problem);
    }
    if (!finish_store(runner, problem)) {
        return false;
    }
    print_summary(runner);
    return true;
}

static bool start_batch(struct runner *runner, const struct store_facts *facts,
                        struct problem *problem)
{
    if (!batch_init(&runner->batch, &runner->plan, runner->options->commit_size, problem)) {
        return false;
    }
    runner->has_batch = true;
    runner->batch.task_wait_us = runner->options->task_wait_us;
    runner->batch.quarantine.on_quarantine = runner->options->on_quarantine;
    batch_break(&runner->batch, &runner->options->fail_on);
    committer_init(&runner->committer, &runner->batch, runner->store);
    bool has_run = run_batch(runner, facts, problem);
    return watch_report(&runner->watch, has_run, problem);
}

static bool run_plan(struct runner *runner, struct problem *problem)
{
    struct store_facts facts;
    enum store_mode mode = runner->options->resumed.is_retry ? STORE_REOPEN : STORE_WRITE;
    runner->store = store_open(runner->options->database, mode, problem);
    if (!runner->store || !store_read_facts(runner->store, &facts, problem)) {
        return false;
    }
    if (facts.state != STORE_EMPTY && !check_digest(runner, &facts, problem)) {
        return false;
    }
    if (runner->options->resumed.is_retry && facts.state != STORE_UNFINISHED) {
        return problem_set(problem, EXIT_CODE_INPUT, "%s: nothing is held: the database is %s",
                           runner->options->database,
                           facts.state == STORE_EMPTY ? "empty" : "finished");
    }
    if (facts.state == STORE_FINISHED) {
        printf("%s is finished: %u task%s done; nothing to do\n", runner->options->database,
               facts.task_count, facts.task_count == 1 ? " is" : "s are");
        return true;
    }
    return start_batch(runner, &facts, problem);
}

bool run_command(struct run_options *options, struct problem *problem)
{
    struct runner runner = { .options = options };
    plan_init(&runner.plan);
    runner.plan.rules = options->rules;
    rules_init(&options->rules); /* the plan owns them from here on */
    bool done = plan_make(&runner.plan, options->files, options->file_count, problem) &&
                watch_open(&runner.watch, &options->watch, problem) && run_plan(&runner, problem);
    if (runner.has_batch) {
        committer_fini(&runner.committer);
        batch_fini(&runner.batch);
    }
    leftovers_fini(&runner.leftovers);
    watch_fini(&runner.watch);
    store_close(runner.store);
    plan_fini(&runner.plan);
    return done;
}
