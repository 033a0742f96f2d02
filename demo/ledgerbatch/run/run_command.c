/* Owns the steps of a run: read, check, open, post, write the outputs, mark as finished. */
#include "run/run_command.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/syntax.h"
#include "commit/batch_rows.h"
#include "commit/committer.h"
#include "commit/held_rows.h"
#include "commit/name_rows.h"
#include "commit/step_rows.h"
#include "commit/tally_rows.h"
#include "memory.h"
#include "publish/output.h"
#include "run/day.h"
#include "run/input.h"
#include "run/machines.h"
#include "run/rejects_file.h"
#include "run/run_report.h"
#include "run/submit.h"

struct runner {
    struct run_options *options;
    struct plan plan;
    struct batch batch;
    struct committer committer;
    struct progress progress;
    struct watch watch;
    struct store *store;
    struct remote *remote;   /* NULL without --store */
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
           tally_rows_load(runner->store, &runner->batch, problem) &&
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

/* Writes the file of rejected input. That is durable before anything is posted. */
static bool write_rejects(const struct runner *runner, struct problem *problem)
{
    return runner->options->is_check ||
           rejects_file_write(runner->options->rejects, &runner->plan, problem);
}

/* Begins a new batch. One that follows another begins with its balances. */
static bool begin_batch(struct runner *runner, struct problem *problem)
{
    bool is_first = runner->last.state == STORE_EMPTY;
    return (is_first || batch_rows_check_files(runner->store, &runner->plan, problem)) &&
           write_rejects(runner, problem) &&
           batch_rows_begin(runner->store, &runner->plan, problem) &&
           (is_first || resume_store(runner, problem));
}

static bool check_digest(const struct runner *runner, struct problem *problem)
{
    if (is_new(runner) || strcmp(runner->last.digest, runner->plan.digest) == 0) {
        return true;
    }
    uint32_t day = runner->plan.opening.day;
    if (!step_rows_check(runner->store, &runner->plan, runner->last.number,
                         runner->options->database, problem)) {
        return false;
    }
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
    bool ran = runner->remote ? machines_commit(submitter, runner->remote, problem)
                              : submit_run(submitter, problem);
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
                                      .statements = month_end_steps_find(&plan->rules.steps,
                                                                         MONTH_END_STATEMENT),
                                      .statement_files = runner->options->statement_files,
                                      .trials = plan->trials,
                                      .trial_count = plan->trial_count,
                                      .is_partial = is_partial,
                                      .places = { find_input_line, &runner->plan } };
    return runner->options->folder
               ? output_write(runner->store, &options, &runner->report, problem)
               : output_report(runner->store, is_partial, "held", &runner->report, problem);
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
        store_set_state(runner->store,
                        run_report_deferred(&runner->report) > 0 ? STORE_CLOSED : STORE_FINISHED,
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

static bool print_report(const struct runner *runner, struct problem *problem)
{
    buffer_print(&runner->report.text);
    return run_report_head(runner->store, problem);
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

static struct run_report report_of(const struct runner *runner)
{
    return (struct run_report){ .options = runner->options,
                                .plan = &runner->plan,
                                .store = runner->store,
                                .totals = &runner->report,
                                .folder = runner->folder.data,
                                .skipped = runner->skipped };
}

static bool run_batch(struct runner *runner, struct problem *problem)
{
    bool ready = is_new(runner) ? begin_batch(runner, problem)
                                : write_rejects(runner, problem) && resume_store(runner, problem);
    if (!ready || !run_tasks(runner, problem)) {
        return false;
    }
    quarantine_settle(&runner->batch.quarantine);
    if (count_held_lanes(runner) > 0) {
        return record_held(runner, problem);
    }
    sources_drop_bytes(&runner->plan.book.sources); /* all is posted, and the outputs need memory */
    if (!finish_store(runner, problem) || !machines_end(runner->remote, runner->store, problem)) {
        return false;
    }
    struct run_report report = report_of(runner);
    return run_report_print(&report, problem) && run_report_check_deferred(&report, problem) &&
           run_report_check_refusals(&report, problem);
}

static bool start_batch(struct runner *runner, struct problem *problem)
{
    if (!batch_init(&runner->batch, &runner->plan,
                    runner->options->defers && !runner->options->resumed.is_retry, problem)) {
        return false;
    }
    runner->has_batch = true;
    runner->batch.calls_steps_twice = runner->options->is_check;
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
    if (day == 0 && (requests->posts_deferred ||
                     requests->skip_count + requests->reversal_count + requests->month_count)) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "--post-deferred, --skip, --reverse and --backdated are for days, and "
                           "%s has none",
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
    struct run_report report = report_of(runner);
    return output_report(runner->store, false, "held", &runner->report, problem) &&
           machines_end(runner->remote, runner->store, problem) &&
           run_report_head(runner->store, problem) && run_report_check_refusals(&report, problem);
}

/* Runs the plan; or takes part in it, and then publishes, unless another process does. */
static bool run_here_or_remotely(struct runner *runner, struct problem *problem)
{
    bool publishes = true;
    return (!runner->options->store ||
            machines_work(&runner->remote, runner->options, &runner->plan, &publishes, problem)) &&
           (!publishes || run_plan(runner, problem));
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
    bool opened = input_begin(&runner.plan, options, problem) && open_day(&runner, problem);
    set_folder(&runner);
    bool done = opened && input_make_plan(&runner.plan, runner.options, problem) &&
                watch_open(&runner.watch, &options->watch, problem) &&
                run_here_or_remotely(&runner, problem);
    if (runner.has_batch) {
        committer_fini(&runner.committer);
        batch_fini(&runner.batch);
    }
    output_report_fini(&runner.report);
    buffer_fini(&runner.folder);
    leftovers_fini(&runner.leftovers);
    watch_fini(&runner.watch);
    remote_close(runner.remote);
    if (!store_close(runner.store) && (done || problem->code != EXIT_CODE_IO)) {
        warn_of_reader(options->database);
    }
    plan_fini(&runner.plan);
    return done;
}
