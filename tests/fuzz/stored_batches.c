/* Owns the batches: one journal, posted with other options each time. */
#include "stored_batches.h"

#include <stdio.h>
#include <stdlib.h>

#include "database_changes.h"
#include "input_files.h"
#include "memory_database.h"

/* Two groups, two months, a refusal, a price, an account that earns and one that closes. */
static const char journal[] = "account A:Cash  ; group:east\n"
                              "account B:Cash  ; group:east\n"
                              "account C:Cash  ; group:west\n"
                              "\n"
                              "2024-01-02 Wages\n"
                              "  A:Cash  100.00 USD\n"
                              "  A:Savings  50.00 USD\n"
                              "  A:Income:Wages\n"
                              "\n"
                              "2024-01-03 * (17) Shares\n"
                              "  B:Shares  3 ACME @ 1.50 USD\n"
                              "  Bank:Vault\n"
                              "\n"
                              "2024-01-04 ! Transfer\n"
                              "  A:Cash  -20.00 USD\n"
                              "  C:Cash\n"
                              "\n"
                              "2024-01-05 Too much\n"
                              "  C:Cash  -9000 USD\n"
                              "  B:Cash\n"
                              "\n"
                              "2024-02-01 Fees\n"
                              "  B:Expenses:Fees  1.50 USD\n"
                              "  A:Cash\n";

static const char day_journal[] = "2024-03-05 Another day\n"
                                  "  A:Cash  -1.00 USD\n"
                                  "  D:Cash  1.00 USD\n"
                                  "\n"
                                  "2024-03-06 Too much\n"
                                  "  C:Cash  -9000 USD\n"
                                  "  B:Cash\n";

/* What earlier commands did. */
static const struct {
    const char *fails_on; /* an account; NULL: nothing fails */
    enum on_quarantine on_quarantine;
    bool defers;
    const char *sql;        /* what is done to the database then */
    uint32_t day, going_on; /* of a day that followed, and of the command that goes on; or 0 */
    bool posts_deferred;    /* when it goes on */
} batches[STORED_BATCH_COUNT] = {
    { NULL, ON_QUARANTINE_HOLD, false, "SELECT 1", 0, 0, false },
    { NULL, ON_QUARANTINE_HOLD, false, "UPDATE batches SET state = 'unfinished'", 0, 0, false },
    { "B:Shares", ON_QUARANTINE_HOLD, false, "SELECT 1", 0, 0, false },
    { "B:Shares", ON_QUARANTINE_EXCLUDE, false, "SELECT 1", 0, 0, false },
    { "B:Shares", ON_QUARANTINE_FAIL, false, "SELECT 1", 0, 0, false },
    { "B:Shares", ON_QUARANTINE_HOLD, true, "SELECT 1", 0, 0, false },
    { NULL, ON_QUARANTINE_EXCLUDE, false, "UPDATE batches SET state = 'unfinished' WHERE batch = 2",
      20240331, 20240331, false },
    { "B:Shares", ON_QUARANTINE_EXCLUDE, true, "SELECT 1", 20240306, 20240430, true },
};

bool stored_batch_is_day(unsigned number)
{
    return batches[number].day != 0;
}

/* Adds interest on daily balances: then a run that goes on reads the month so far. */
static void add_daily_interest(struct rules *rules)
{
    struct month_end_step *step = month_end_steps_add(&rules->steps, MONTH_END_ACCRUAL);
    step->balances = BALANCES_DAILY_365;
    step->rate_scale = 3;
    step->house = "Bank:Interest";
    patterns_add(&step->accounts, "*:Savings");
    month_end_step_add_rate(step, (struct dated_rate){ .from = 20240115, .units = 125 });
}

static bool run(unsigned number, struct run_options options, const char *fails_on,
                struct problem *problem)
{
    const char *const files[] = { INPUT_FILE_NAME };
    options.database = MEMORY_DATABASE_NAME;
    options.folder = "outputs";
    options.on_quarantine = batches[number].on_quarantine;
    options.defers = batches[number].defers;
    options.commit_size = 1000;
    options.files = files;
    options.file_count = options.requests.posts_deferred ? 0 : 1;
    input_files_set(slice_of(options.day ? day_journal : journal));
    rules_init(&options.rules);
    patterns_add(&options.rules.commutative, "Bank*");
    patterns_add(&options.rules.no_overdraft, "*:Cash");
    options.rules.ends_month = options.day == 0;
    month_end_steps_read_list(&options.rules.steps, "statement,accrual=0.125,close,trial-balance");
    if (options.on_quarantine != ON_QUARANTINE_FAIL) {
        add_daily_interest(&options.rules);
    }
    if (fails_on) {
        patterns_add(&options.fail_on, fails_on);
    }
    bool has_run = run_command(&options, problem);
    rules_fini(&options.rules);
    free(options.fail_on.items);
    return has_run;
}

bool stored_batch_run_on(unsigned number, bool is_retry, struct problem *problem)
{
    struct run_options options = { .resumed = { .is_retry = is_retry, .all = is_retry } };
    if (!is_retry) {
        options.day = batches[number].going_on;
        options.requests.posts_deferred = batches[number].posts_deferred;
    }
    return run(number, options, NULL, problem);
}

/* Runs one command of those that make a batch. */
static void make_part(unsigned number, uint32_t day)
{
    struct problem problem = { .code = EXIT_CODE_DONE };
    struct run_options options = { .day = day };
    const char *fails_on = day ? NULL : batches[number].fails_on;
    if (!run(number, options, fails_on, &problem) && problem.code != EXIT_CODE_HELD &&
        problem.code != EXIT_CODE_DEFERRED) {
        fprintf(stderr, "a batch cannot be made: %s\n", problem.text);
        abort();
    }
}

/* Makes a database with small pages, so that it is small. */
static void make(unsigned number, bool is_loose, struct buffer *bytes)
{
    struct sqlite3_file *database = memory_database_open(slice_of(""));
    memory_database_execute("PRAGMA page_size = 512; CREATE TABLE t(c); DROP TABLE t");
    make_part(number, 0);
    if (batches[number].day != 0) {
        make_part(number, batches[number].day);
    }
    memory_database_execute(batches[number].sql);
    if (is_loose) {
        database_loosen();
    }
    memory_database_read(database, bytes);
    memory_database_close(database);
}

struct slice stored_batch(unsigned number, bool is_loose)
{
    static struct buffer bytes[STORED_BATCH_COUNT][2];
    struct buffer *made = &bytes[number][is_loose];
    if (made->size == 0) {
        make(number, is_loose, made);
    }
    return buffer_slice(made);
}
