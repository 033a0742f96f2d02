/*
 * The commands run, day and retry: post files into a database and write the outputs. And the
 * command check: does so in memory.
 */
#ifndef LEDGERBATCH_RUN_RUN_COMMAND_H
#define LEDGERBATCH_RUN_RUN_COMMAND_H

#include "commit/held_rows.h"
#include "plan/opening.h"
#include "plan/rules.h"
#include "problem.h"
#include "publish/output.h"
#include "run/refusal_limit.h"
#include "watch/watch.h"

struct run_options {
    struct rules rules;
    const char *database;
    const char *store; /* the URI of a batch of many machines; NULL if this process runs it alone */
    bool joins;        /* that batch must be there: --join */
    const char *folder; /* of the outputs; NULL for a check without outputs */
    enum statement_files statement_files;
    struct watch_options watch;
    unsigned workers;      /* 0: one for each CPU */
    unsigned task_wait_us; /* see --task-wait-us */
    struct patterns fail_on;
    enum on_quarantine on_quarantine;
    bool has_on_quarantine;           /* it was given */
    bool defers;                      /* --on-failure defer */
    uint32_t retry_day;               /* of deferred transactions; 0: the last day of the batch */
    uint32_t day;                     /* the date of the command day; 0: another command */
    bool is_check;                    /* the command check: in memory only */
    struct opening_requests requests; /* what a day does about earlier ones; the caller frees */
    struct refusal_limit max_refused;
    struct held_choice resumed; /* which of the held clients are resumed */
    size_t commit_size;         /* about how many tasks share a commit */
    const char *include_root;   /* included files must be below this folder; NULL: anywhere */
    const char *rejects; /* the file for rejected input; or NULL if a fault stops the command */
    size_t max_rejects;
    bool has_max_rejects; /* it was given */
    const char *const *files;
    size_t file_count;
};

/*
 * Runs a batch, resumes one, or tries held work again. Prints a summary on standard output. Returns
 * false after a problem.
 */
bool run_command(struct run_options *options, struct problem *problem);

#endif
