/* Owns the steps of a run: read, check, open, post, write the outputs, mark as finished. */
#include "run/run_command.h"

#include <stdio.h>
#include <stdlib.h>

#include "commit/committer.h"
#include "commit/held_rows.h"
#include "commit/input_totals.h"
#include "commit/name_rows.h"
#include "memory.h"
#include "plan/pattern_check.h"
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
    struct output_report report;
    size_t skipped;
    size_t held_before; /* how many lanes were held before this run */
    bool has_batch;
};

static bool create_store(struct runner *runner, struct problem *problem)
{
    struct store_facts facts = { .task_count = (uint32_t)runner->plan.task_count,
                                 .transaction_count =
                                     (uint32_t)runner->plan.book.transaction_count };
    memcpy(facts.digest, runner->plan.digest, sizeof facts.digest);
    bool created = store_begin(runner->store, problem) &&
                   store_create(runner->store, &facts, problem) &&
                   input_totals_put(runner->store, &runner->plan, problem) &&
                   name_rows_put(runner->store, &runner->plan, problem) &&
                   store_commit(runner->store, problem);
    if (!created) {
        store_rollback(runner->store);
    }
    return created;
}

/* Checks that no transaction is deferred in a batch with late rollups: both would be run late. */
static bool check_late_rollups(const struct runner *runner, struct problem *problem)
{
    bool has_rollups = runner->leftovers.late_count > runner->leftovers.deferred_count;
    return !has_rollups || !runner->batch.deferral.is_used ||
           problem_set(problem, EXIT_CODE_INPUT,
                       "%s: has rollups that are done late (--on-quarantine fail); "
                       "--on-failure defer is not for such a batch",
                       runner->options->database);
}

/*
 * Resumes an unfinished batch. The rows of held lanes stay until this command ends by itself, so
 * that a retry can be repeated if it is killed.
 */
static bool resume_store(struct runner *runner, struct problem *problem)
{
    return name_rows_check(runner->store, &runner->plan, problem) &&
           committer_load(&runner->committer, problem) &&
           leftovers_load(&runner->leftovers, runner->store, &runner->plan, &runner->batch,
                          runner->options->resumed.is_retry, problem) &&
           check_late_rollups(runner, problem) &&
           held_rows_load(runner->store, &runner->batch.quarantine, &runner->options->resumed,
                          runner->leftovers.deferral_count, &runner->held_before, problem) &&
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

/* Checks that a retry of deferred transactions does not begin in the middle of a stopped batch. */
static bool check_closed(const struct runner *runner, const struct submitter *submitter,
                         struct problem *problem)
{
    bool is_stopped =
        runner->leftovers.deferred_count > 0 && runner->held_before == 0 && submitter->undone > 0;
    return !is_stopped ||
           problem_set(problem, EXIT_CODE_INPUT,
                       "%s: the batch was stopped, and %zu tasks are left; first run it to its "
                       "end: ledgerbatch run",
                       runner->options->database, submitter->undone);
}

static bool check_and_submit(struct runner *runner, struct submitter *submitter,
                             struct problem *problem)
{
    if (!submit_check(submitter, problem) || !check_closed(runner, submitter, problem)) {
        return false;
    }
    runner->skipped = submitter->skipped;
    progress_begin(&runner->progress, runner->plan.task_count, !runner->options->watch.is_live);
    bool ran = submit_run(submitter, problem);
    progress_end(&runner->progress);
    return ran;
}

static bool run_tasks(struct runner *runner, struct problem *problem)
{
    /* A copy, since the committer's own array changes while tasks are submitted. */
    size_t size = (runner->plan.clients.count + 1) * sizeof(uint32_t);
    uint32_t *last_seqs = memory_zeroed(size, 1);
    memcpy(last_seqs, runner->committer.last_seqs, size);
    struct submitter submitter = { .batch = &runner->batch,
                                   .committer = &runner->committer,
                                   .progress = &runner->progress,
                                   .watch = &runner->watch,
                                   .last_seqs = last_seqs,
                                   .leftovers = &runner->leftovers,
                                   .workers = runner->options->workers,
                                   .commit_size = runner->options->commit_size };
    bool ran = check_and_submit(runner, &submitter, problem);
    free(last_seqs);
    return ran;
}

static void find_input_line(const void *context, uint32_t seq, struct slice *file, uint32_t *line)
{
    const struct plan *plan = context;
    if (seq > plan->task_count) {
        seq -= (uint32_t)plan->task_count; /* a deferred transaction, posted late */
    }
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
                                      .trial_balances = runner->plan.rules.trial_balance,
                                      .is_partial = is_partial,
                                      .places = { find_input_line, &runner->plan } };
    return output_write(runner->store, &options, &runner->report, problem);
}

static bool finish_store(struct runner *runner, struct problem *problem)
{
    bool finished = write_outputs(runner, false, problem) && store_begin(runner->store, problem) &&
                    store_clear_held(runner->store, problem) &&
                    (runner->report.counts[TOTAL_DEFERRED] > 0 ||
                     store_mark_finished(runner->store, problem)) &&
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

/* Prints the head, so that verify can be told it later. */
static bool print_head(const struct runner *runner, struct problem *problem)
{
    char head[SHA256_TEXT_SIZE];
    if (!store_read_head(runner->store, head, problem)) {
        return false;
    }
    printf("head %s\n", head);
    return true;
}

static bool print_report(const struct runner *runner, struct problem *problem)
{
    buffer_print(&runner->report.text);
    return print_head(runner, problem);
}

/*
 * Records what is held, and why, for the status command. If rollups are run without held clients,
 * the outputs so far are written, unless outputs of a closed batch are there.
 */
static bool record_held(struct runner *runner, struct problem *problem)
{
    struct quarantine *quarantine = &runner->batch.quarantine;
    bool excludes_held = runner->options->on_quarantine == ON_QUARANTINE_EXCLUDE &&
                         !runner->batch.deferral.is_used && runner->leftovers.deferral_count == 0;
    if (!held_rows_record(runner->store, quarantine, problem) ||
        !(excludes_held ? write_outputs(runner, true, problem)
                        : output_report(runner->store, true, "held", &runner->report, problem))) {
        return false;
    }
    if (!print_report(runner, problem)) {
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

/* --- telling the user --- */

static void print_count(const char *before, size_t count, const char *noun)
{
    printf("%s%zu %s%s", before, count, noun, count == 1 ? "" : "s");
}

static bool print_summary(const struct runner *runner, struct problem *problem)
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
    return print_report(runner, problem);
}

/*
 * Checks --max-refused. The refused transactions are results, so all is written before: the exit
 * code is for the operator.
 */
static bool check_refusals(const struct runner *runner, struct problem *problem)
{
    const struct refusal_limit *limit = &runner->options->max_refused;
    size_t read = runner->report.counts[TOTAL_READ];
    size_t refused = runner->report.counts[TOTAL_REFUSED];
    if (!limit->is_set || !refusal_limit_is_exceeded(limit, refused, read)) {
        return true;
    }
    return problem_set(problem, EXIT_CODE_REFUSED,
                       "%zu of %zu transactions are refused, more than --max-refused %s; all is "
                       "posted and written; see %s/refused.csv",
                       refused, read, limit->text, runner->options->folder);
}

/* Tells how far a failure reaches. The batch is closed: all else is posted, and all is written. */
static bool check_deferred(const struct runner *runner, struct problem *problem)
{
    size_t count = runner->report.counts[TOTAL_DEFERRED];
    if (count == 0) {
        return true;
    }
    return problem_set(
        problem, EXIT_CODE_DEFERRED,
        "%zu of %zu transactions are deferred, of %zu held client%s and %zu other%s; "
        "all else is posted and written; see %s/deferred.csv; to post them: "
        "ledgerbatch retry --all --db %s, with the files and options of the run",
        count, runner->report.counts[TOTAL_READ], runner->report.held_clients,
        runner->report.held_clients == 1 ? "" : "s", runner->report.other_clients,
        runner->report.other_clients == 1 ? "" : "s", runner->options->folder,
        runner->options->database);
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
    return print_summary(runner, problem) && check_deferred(runner, problem) &&
           check_refusals(runner, problem);
}

static bool start_batch(struct runner *runner, const struct store_facts *facts,
                        struct problem *problem)
{
    if (!batch_init(&runner->batch, &runner->plan,
                    runner->options->defers && !runner->options->resumed.is_retry, problem)) {
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
        return output_report(runner->store, false, "held", &runner->report, problem) &&
               print_head(runner, problem) && check_refusals(runner, problem);
    }
    return start_batch(runner, &facts, problem);
}

/* Checks that the day of a retry is not before the end of the batch. */
static bool set_retry_day(struct runner *runner, struct problem *problem)
{
    struct plan *plan = &runner->plan;
    uint32_t day = runner->options->retry_day;
    uint32_t last = plan_date(plan, &plan->tasks[plan->task_count - 1]);
    plan->retry_day = day;
    return day == 0 || day >= last ||
           problem_set(problem, EXIT_CODE_INPUT,
                       "--day %04u-%02u-%02u is before the last day of the batch, %04u-%02u-%02u",
                       day / 10000, day / 100 % 100, day % 100, last / 10000, last / 100 % 100,
                       last % 100);
}

/* Reads the input. If it has several faults, prints all of them. */
static bool make_plan(struct runner *runner, struct problem *problem)
{
    const struct run_options *options = runner->options;
    const struct faults *faults = &runner->plan.book.faults;
    if (plan_make(&runner->plan, options->files, options->file_count, problem)) {
        return pattern_check(&options->fail_on, "--fail-on", &runner->plan.book, problem) &&
               set_retry_day(runner, problem);
    }
    if (faults->count < 2 || !problem->has_place) {
        return false;
    }
    for (size_t i = 0; i < faults->count; i++) {
        fprintf(stderr, "%s\n", faults->items[i].text);
    }
    return problem_set(problem, EXIT_CODE_INPUT, "%s%zu errors in the input; nothing was written",
                       faults->count == FAULTS_MAX ? "the first " : "", faults->count);
}

bool run_command(struct run_options *options, struct problem *problem)
{
    struct runner runner = { .options = options };
    plan_init(&runner.plan);
    runner.plan.rules = options->rules;
    rules_init(&options->rules); /* the plan owns them from here on */
    bool done = make_plan(&runner, problem) &&
                watch_open(&runner.watch, &options->watch, problem) && run_plan(&runner, problem);
    if (runner.has_batch) {
        committer_fini(&runner.committer);
        batch_fini(&runner.batch);
    }
    buffer_fini(&runner.report.text);
    leftovers_fini(&runner.leftovers);
    watch_fini(&runner.watch);
    store_close(runner.store);
    plan_fini(&runner.plan);
    return done;
}
