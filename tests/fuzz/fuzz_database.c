/*
 * Any changes of a database of ledgerbatch: the commands that read it give an answer or a reason,
 * and a batch that goes on in it ends well, or with a reason. An input is
 *
 *     one byte: the batch (stored_batches.h), and bits of enum flag
 *     changes: of a cell, of a column, of a row; or of bytes of the file
 *
 * so that an input cut short makes fewer changes. The first byte alone changes nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "checked_outputs.h"
#include "database_changes.h"
#include "inspect/inspect.h"
#include "memory_database.h"
#include "stored_batches.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum flag {
    IS_RETRY = 8,  /* goes on with retry in place of run */
    IS_LOOSE = 16, /* the tables have no constraints */
    IS_RAW = 32    /* changes bytes of the file */
};

static void must(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

static struct sqlite3_file *open_changed(unsigned batch, uint32_t flags, struct choices *choices)
{
    struct buffer bytes = { 0 };
    buffer_add(&bytes, stored_batch(batch, flags & IS_LOOSE));
    if (flags & IS_RAW) {
        database_change_bytes(&bytes, choices);
    }
    struct sqlite3_file *database = memory_database_open(buffer_slice(&bytes));
    buffer_fini(&bytes);
    if (!(flags & IS_RAW)) {
        database_change_values(choices);
    }
    return database;
}

/* --- the commands --- */

/* A problem has a text that does not control a terminal, and a code. */
static void check_problem(const struct problem *problem)
{
    must(problem->code != EXIT_CODE_DONE && problem->text[0] != 0, "a problem without a reason");
    for (const char *at = problem->text; *at; at++) {
        must((unsigned char)*at >= 0x20 && *at != 0x7f, "a problem with control characters");
    }
}

/* Returns whether the database is good; if not, `problem` says why. */
static bool check_reading(struct problem *problem)
{
    bool is_good = inspect_balances(MEMORY_DATABASE_NAME, problem);
    if (!is_good) {
        check_problem(problem);
    }
    if (!inspect_status(MEMORY_DATABASE_NAME, problem)) {
        check_problem(problem);
        is_good = false;
    }
    if (!inspect_trial_balance(MEMORY_DATABASE_NAME, UINT32_MAX, problem)) {
        check_problem(problem);
        is_good = false;
    }
    if (!inspect_verify(MEMORY_DATABASE_NAME, NULL, NULL, problem)) {
        check_problem(problem);
        is_good = false;
    }
    return is_good;
}

/*
 * Returns whether the batch goes on. If it ends, and says so, each value of its database has been
 * checked: the database is good, and there is nothing left to do. A day does not check the values
 * of earlier batches.
 */
static bool check_going_on(unsigned batch, uint32_t flags)
{
    struct problem problem = { .code = EXIT_CODE_DONE };
    (void)checked_outputs_finished();
    if (!stored_batch_run_on(batch, flags & IS_RETRY, &problem)) {
        check_problem(&problem);
        return problem.code != EXIT_CODE_IO;
    }
    if (checked_outputs_finished() && !(flags & IS_RAW)) {
        bool is_day = stored_batch_is_day(batch);
        must(check_reading(&problem) || is_day, problem.text);
        must(stored_batch_run_on(batch, false, &problem) || is_day, problem.text);
    }
    return true;
}

/* What the commands print is not wanted. */
static int begin_silence(void)
{
    fflush(stdout);
    int output = dup(STDOUT_FILENO);
    must(output >= 0 && freopen("/dev/null", "w", stdout), "/dev/null");
    return output;
}

static void end_silence(int output)
{
    fflush(stdout);
    must(dup2(output, STDOUT_FILENO) >= 0, "standard output");
    close(output);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nothing;
    struct choices choices = choices_from_bytes(data ? data : &nothing, size);
    uint32_t flags = choose_byte(&choices);
    unsigned batch = flags % 8 % STORED_BATCH_COUNT;
    bool is_changed = choices.size > 0;
    int output = begin_silence();
    struct sqlite3_file *database = open_changed(batch, flags, &choices);
    struct problem problem = { .code = EXIT_CODE_DONE };
    bool reads = check_reading(&problem);
    bool goes_on = check_going_on(batch, flags);
    memory_database_close(database);
    end_silence(output);
    must(is_changed || (reads && goes_on), "an unchanged database is not good");
    return 0;
}
