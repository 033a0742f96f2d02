/* Owns the steps of a run: read, check, open, post, write the outputs, mark as finished. */
#include "run/run_command.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/syntax.h"
#include "commit/batch_rows.h"
#include "commit/committer.h"
#include "commit/held_rows.h"
#include "commit/name_rows.h"
#include "inspect/inspect.h"
#include "memory.h"
#include "plan/pattern_check.h"
#include "publish/output.h"
#include "run/day.h"
#include "run/submit.h"

struct runner {
    struct run_options *options;
    struct plan plan;
    struct batch batch;
    struct committer committer;
    struct progress progress;
    struct watch watch;
    struct store *store;
    struct store_facts last; /* of the store before this command */
    struct buffer folder;    /* of the outputs; ends with a zero byte */
    struct leftovers leftovers;
    struct output_report report;
    size_t skipped;
    size_t held_before; /* how many lanes were held before this run */
    bool has_batch;
};

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
           store_set_state(runner->store, STORE_UNFINISHED, problem) &&
           store_commit(runner->store, problem);
}

/* Returns true if the store does not have the batch yet. */
static bool is_new(const struct runner *runner)
{
    return runner->plan.has_opening ? runner->plan.opening.is_new
                                    : runner->last.state == STORE_EMPTY;
}

/* Begins a new batch. One that follows another begins with its balances. */
static bool begin_batch(struct runner *runner, struct problem *problem)
{
    bool is_first = runner->last.state == STORE_EMPTY;
    return (is_first || batch_rows_check_files(runner->store, &runner->plan, problem)) &&
           batch_rows_begin(runner->store, &runner->plan, problem) &&
           (is_first || resume_store(runner, problem));
}

static bool check_digest(const struct runner *runner, struct problem *problem)
{
    if (is_new(runner) || strcmp(runner->last.digest, runner->plan.digest) == 0) {
        return true;
    }
    uint32_t day = runner->plan.opening.day;
    return runner->plan.has_opening
               ? problem_set(problem, EXIT_CODE_OTHER,
                             "%s: the day %04u-%02u-%02u has other input or rules",
                             runner->options->database, day / 10000, day / 100 % 100, day % 100)
               : problem_set(problem, EXIT_CODE_OTHER,
                             "%s: belongs to other input or rules; name another database with "
                             "--db, or post a next day with ledgerbatch day",
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
    const struct task *task = plan_find(plan, seq);
    if (!task) {
        task = plan_find(plan, seq - (uint32_t)plan->task_count); /* deferred, and posted late */
    }
    if (!task || task->kind != TASK_POST) {
        return;
    }
    const struct transaction *transaction = &plan->book.transactions[task->subject];
    *file = slice_of(plan->book.sources.items[transaction->source]->name);
    *line = transaction->line;
}

static bool write_outputs(struct runner *runner, bool is_partial, struct problem *problem)
{
    const struct plan *plan = &runner->plan;
    struct output_options options = { .folder = runner->folder.data,
                                      .day = plan->opening.day,
                                      .first_month = plan->first_month,
                                      .end_month = plan->end_month,
                                      .statements = plan->rules.statement,
                                      .statement_files = runner->options->statement_files,
                                      .trial_balances = plan->rules.trial_balance,
                                      .is_partial = is_partial,
                                      .places = { find_input_line, &runner->plan } };
    return runner->options->folder
               ? output_write(runner->store, &options, &runner->report, problem)
               : output_report(runner->store, is_partial, "held", &runner->report, problem);
}

/* Returns how many transactions are still deferred, those of earlier batches too. */
static size_t count_deferred(const struct runner *runner)
{
    return runner->report.counts[TOTAL_DEFERRED] + runner->report.carried;
}

/* A day does without the index: to keep it up to date would cost more with each day. */
static bool index_postings(struct runner *runner, struct problem *problem)
{
    return runner->plan.has_opening || store_index_postings(runner->store, problem);
}

/* Puts the outputs of this command, so that a change of one is found. */
static bool put_outputs(struct runner *runner, struct problem *problem)
{
    const struct output_report *report = &runner->report;
    uint32_t number = batch_rows_facts(&runner->plan).number;
    bool put = store_clear_outputs(runner->store, problem);
    for (size_t i = 0; put && i < report->file_count; i++) {
        struct stored_output output = { number, 0, slice_of(report->files[i].path),
                                        slice_of(report->files[i].digest) };
        put = store_put_output(runner->store, &output, problem);
    }
    return put;
}

static bool commit_outputs(struct runner *runner, struct problem *problem)
{
    bool committed = store_begin(runner->store, problem) && put_outputs(runner, problem) &&
                     store_commit(runner->store, problem);
    if (!committed) {
        store_rollback(runner->store);
    }
    return committed;
}

static bool finish_store(struct runner *runner, struct problem *problem)
{
    bool finished =
        write_outputs(runner, false, problem) && store_begin(runner->store, problem) &&
        store_clear_held(runner->store, problem) && put_outputs(runner, problem) &&
        index_postings(runner, problem) &&
        store_set_state(runner->store, count_deferred(runner) > 0 ? STORE_CLOSED : STORE_FINISHED,
                        problem) &&
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
    if ((excludes_held && !commit_outputs(runner, problem)) || !print_report(runner, problem)) {
        return false;
    }
    size_t lanes = count_held_lanes(runner);
    if (runner->options->is_check) {
        return problem_set(problem, EXIT_CODE_HELD,
                           "%zu of %zu tasks would be held, in the lanes of %zu client%s, because "
                           "%zu would fail",
                           quarantine->task_count, runner->plan.task_count, lanes,
                           lanes == 1 ? "" : "s", quarantine->failure_count);
    }
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

/* Prints what would not be posted, and the totals. */
static bool print_check(const struct runner *runner, struct problem *problem)
{
    bool listed = inspect_list_unposted(runner->store, runner->options->folder != NULL, problem);
    buffer_print(&runner->report.text);
    return listed;
}

static bool print_summary(const struct runner *runner, struct problem *problem)
{
    const struct plan *plan = &runner->plan;
    size_t rollups = plan->task_count - plan->book.transaction_count;
    if (plan->has_opening) {
        uint32_t day = plan->opening.day;
        printf("day %04u-%02u-%02u: ", day / 10000, day / 100 % 100, day % 100);
    }
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
    if (plan->left_out_count > 0) {
        print_count("; after --until: ", plan->left_out_count, "transaction");
    }
    if (runner->options->is_check) {
        printf("\nthis is a check: %s has not changed\n", runner->options->database);
        return print_check(runner, problem);
    }
    printf("\ndatabase %s, outputs in %s\n", runner->options->database, runner->folder.data);
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
    if (runner->options->is_check) {
        return problem_set(problem, EXIT_CODE_REFUSED,
                           "%zu of %zu transactions would be refused, more than --max-refused %s",
                           refused, read, limit->text);
    }
    return problem_set(problem, EXIT_CODE_REFUSED,
                       "%zu of %zu transactions are refused, more than --max-refused %s; all is "
                       "posted and written; see %s/refused.csv",
                       refused, read, limit->text, runner->folder.data);
}

/* Tells how far a failure reaches. The batch is closed: all else is posted, and all is written. */
static bool check_deferred(const struct runner *runner, struct problem *problem)
{
    const struct output_report *report = &runner->report;
    const char *how = runner->plan.has_opening
                          ? "on a next day: ledgerbatch day --post-deferred"
                          : "now: ledgerbatch retry --all, with the files and options of the run";
    char carried[64] = "";
    if (report->carried > 0) {
        snprintf(carried, sizeof carried, ", and %zu of earlier days", report->carried);
    }
    if (count_deferred(runner) > 0 && runner->options->is_check) {
        return problem_set(problem, EXIT_CODE_DEFERRED,
                           "%zu of %zu transactions would be deferred%s",
                           report->counts[TOTAL_DEFERRED], report->counts[TOTAL_READ], carried);
    }
    return count_deferred(runner) == 0 ||
           problem_set(problem, EXIT_CODE_DEFERRED,
                       "%zu of %zu transactions are deferred%s, of %zu held client%s and %zu "
                       "other%s; all else is posted and written; see %s/deferred.csv; to post "
                       "them %s, --db %s",
                       report->counts[TOTAL_DEFERRED], report->counts[TOTAL_READ], carried,
                       report->held_clients, report->held_clients == 1 ? "" : "s",
                       report->other_clients, report->other_clients == 1 ? "" : "s",
                       runner->folder.data, how, runner->options->database);
}

static bool run_batch(struct runner *runner, struct problem *problem)
{
    bool ready = is_new(runner) ? begin_batch(runner, problem) : resume_store(runner, problem);
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

static bool start_batch(struct runner *runner, struct problem *problem)
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
    bool has_run = run_batch(runner, problem);
    return watch_report(&runner->watch, has_run, problem);
}

/* Opens the database, and reads what its last batch is. */
static bool open_store(struct runner *runner, enum store_mode mode, struct problem *problem)
{
    const char *database = runner->options->database;
    bool is_day = runner->options->day != 0;
    runner->store = runner->options->is_check
                        ? store_open_memory(database, is_day && store_exists(database), problem)
                        : store_open(database, mode, problem);
    return runner->store && store_read_facts(runner->store, &runner->last, problem);
}

/* A day needs the database before it reads the input. So does a retry, which may be one of a day.
 */
static bool open_day(struct runner *runner, struct problem *problem)
{
    struct run_options *options = runner->options;
    bool is_there = store_exists(options->database);
    if ((options->day == 0 && !options->resumed.is_retry) ||
        (is_there && !open_store(runner, STORE_REOPEN, problem))) {
        return options->day == 0 && !options->resumed.is_retry;
    }
    uint32_t day = options->day;
    if (day == 0 && runner->last.is_day) {
        day = runner->last.date;
    }
    runner->plan.has_opening = day != 0;
    const struct opening_requests *requests = &options->requests;
    if (day == 0 && (requests->posts_deferred || requests->skip_count + requests->reversal_count)) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "--post-deferred, --skip and --reverse are for days, and %s has none",
                           options->database);
    }
    return day == 0 || day_open(&runner->plan.opening, runner->store, &runner->last, day,
                                &options->requests, problem);
}

static bool run_plan(struct runner *runner, struct problem *problem)
{
    const struct store_facts *last = &runner->last;
    enum store_mode mode = runner->options->resumed.is_retry ? STORE_REOPEN : STORE_WRITE;
    if ((!runner->store && !open_store(runner, mode, problem)) || !check_digest(runner, problem)) {
        return false;
    }
    if (!is_new(runner)) {
        store_set_window(runner->store, last);
    }
    if (runner->options->resumed.is_retry && last->state != STORE_UNFINISHED &&
        last->state != STORE_CLOSED) {
        return problem_set(problem, EXIT_CODE_INPUT, "%s: nothing is held: the database is %s",
                           runner->options->database,
                           last->state == STORE_EMPTY ? "empty" : "finished");
    }
    if (is_new(runner) || last->state != STORE_FINISHED) {
        return start_batch(runner, problem);
    }
    printf("%s is finished: %u task%s done; nothing to do\n", runner->options->database,
           last->task_count, last->task_count == 1 ? " is" : "s are");
    return output_report(runner->store, false, "held", &runner->report, problem) &&
           print_head(runner, problem) && check_refusals(runner, problem);
}

/* Checks that the day of a retry is not before the end of the batch. */
static bool set_retry_day(struct runner *runner, struct problem *problem)
{
    struct plan *plan = &runner->plan;
    uint32_t day = runner->options->retry_day;
    uint32_t last = plan_last_day(plan);
    plan->retry_day = day;
    if (plan->has_opening && day != 0 && day != last) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "--day is not for days; to post deferred transactions on a later day: "
                           "ledgerbatch day --post-deferred");
    }
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
               (options->statement_files == STATEMENT_FILES_GROUP ||
                plan_check_folders(&runner->plan, problem)) &&
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

/* Each day has its own folder in the one of --out, so that outputs of earlier days never change. */
static void set_folder(struct runner *runner)
{
    buffer_add_text(&runner->folder, runner->options->folder ? runner->options->folder : "");
    if (runner->plan.has_opening) {
        buffer_add_byte(&runner->folder, '/');
        date_write(buffer_room(&runner->folder, DATE_SIZE), runner->plan.opening.day);
        runner->folder.size += DATE_SIZE;
    }
    buffer_add_byte(&runner->folder, 0);
}

static void warn_of_reader(const char *database)
{
    fprintf(stderr,
            "ledgerbatch: another program is reading %s: until it has ended and another command of "
            "ledgerbatch has run, %s-wal is a part of the database\n",
            database, database);
}

bool run_command(struct run_options *options, struct problem *problem)
{
    struct runner runner = { .options = options };
    plan_init(&runner.plan);
    runner.plan.rules = options->rules;
    rules_init(&options->rules); /* the plan owns them from here on */
    bool opened = open_day(&runner, problem);
    set_folder(&runner);
    bool done = opened && make_plan(&runner, problem) &&
                watch_open(&runner.watch, &options->watch, problem) && run_plan(&runner, problem);
    if (runner.has_batch) {
        committer_fini(&runner.committer);
        batch_fini(&runner.batch);
    }
    output_report_fini(&runner.report);
    buffer_fini(&runner.folder);
    leftovers_fini(&runner.leftovers);
    watch_fini(&runner.watch);
    if (!store_close(runner.store) && (done || problem->code != EXIT_CODE_IO)) {
        warn_of_reader(options->database);
    }
    plan_fini(&runner.plan);
    return done;
}
