/* Owns what a run says at its end; see run/run_report.h. */
#include "run/run_report.h"

#include <stdio.h>

#include "inspect/inspect.h"

size_t run_report_deferred(const struct output_report *totals)
{
    return totals->counts[TOTAL_DEFERRED] + totals->carried;
}

bool run_report_head(struct store *store, struct problem *problem)
{
    char head[SHA256_TEXT_SIZE];
    if (!store_read_head(store, head, problem)) {
        return false;
    }
    printf("head %s\n", head);
    return true;
}

static void print_count(const char *before, size_t count, const char *noun)
{
    printf("%s%zu %s%s", before, count, noun, count == 1 ? "" : "s");
}

/* Prints what would not be posted, and the totals. */
static bool print_check(const struct run_report *report, struct problem *problem)
{
    bool listed = inspect_list_unposted(report->store, report->options->folder != NULL, problem);
    buffer_print(&report->totals->text);
    return listed;
}

bool run_report_print(const struct run_report *report, struct problem *problem)
{
    const struct plan *plan = report->plan;
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
    if (report->skipped > 0) {
        printf(" (%zu were done before)", report->skipped);
    }
    if (plan->left_out_count > 0) {
        print_count("; after --until: ", plan->left_out_count, "transaction");
    }
    uint32_t open_month = plan_open_month(plan);
    if (open_month != 0) {
        printf("; %04u-%02u is not over, and has no month-end (--end-month)", open_month / 12,
               open_month % 12 + 1);
    }
    if (plan->opening.month_count > 0) {
        print_count("; backdated: ", opening_count_backdated(&plan->book), "transaction");
    }
    if (plan->book.rejects.count > 0) {
        print_count("; rejected: ", plan->book.rejects.count, "transaction");
        if (!report->options->is_check) {
            printf(", see %s", report->options->rejects);
        }
    }
    if (report->options->is_check) {
        printf("\nthis is a check: %s has not changed\n", report->options->database);
        return print_check(report, problem);
    }
    printf("\ndatabase %s, outputs in %s\n", report->options->database, report->folder);
    buffer_print(&report->totals->text);
    return run_report_head(report->store, problem);
}

bool run_report_check_refusals(const struct run_report *report, struct problem *problem)
{
    const struct refusal_limit *limit = &report->options->max_refused;
    size_t read = report->totals->counts[TOTAL_READ];
    size_t refused = report->totals->counts[TOTAL_REFUSED];
    if (!limit->is_set || !refusal_limit_is_exceeded(limit, refused, read)) {
        return true;
    }
    if (report->options->is_check) {
        return problem_set(problem, EXIT_CODE_REFUSED,
                           "%zu of %zu transactions would be refused, more than --max-refused %s",
                           refused, read, limit->text);
    }
    return problem_set(problem, EXIT_CODE_REFUSED,
                       "%zu of %zu transactions are refused, more than --max-refused %s; all is "
                       "posted and written; see %s/refused.csv",
                       refused, read, limit->text, report->folder);
}

bool run_report_check_deferred(const struct run_report *report, struct problem *problem)
{
    const struct output_report *totals = report->totals;
    const char *how = report->plan->has_opening
                          ? "on a next day: ledgerbatch day --post-deferred"
                          : "now: ledgerbatch retry --all, with the files and options of the run";
    char carried[64] = "";
    if (totals->carried > 0) {
        snprintf(carried, sizeof carried, ", and %zu of earlier days", totals->carried);
    }
    if (run_report_deferred(totals) > 0 && report->options->is_check) {
        return problem_set(problem, EXIT_CODE_DEFERRED,
                           "%zu of %zu transactions would be deferred%s",
                           totals->counts[TOTAL_DEFERRED], totals->counts[TOTAL_READ], carried);
    }
    return run_report_deferred(totals) == 0 ||
           problem_set(problem, EXIT_CODE_DEFERRED,
                       "%zu of %zu transactions are deferred%s, of %zu held client%s and %zu "
                       "other%s; all else is posted and written; see %s/deferred.csv; to post "
                       "them %s, --db %s",
                       totals->counts[TOTAL_DEFERRED], totals->counts[TOTAL_READ], carried,
                       totals->held_clients, totals->held_clients == 1 ? "" : "s",
                       totals->other_clients, totals->other_clients == 1 ? "" : "s", report->folder,
                       how, report->options->database);
}
