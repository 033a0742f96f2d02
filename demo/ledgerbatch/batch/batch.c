/* Owns a running batch: the dispatch of tasks. */
#include "batch/batch.h"

#include <stdarg.h>
#include <stdlib.h>

#include "memory.h"

bool batch_init(struct batch *batch, struct plan *plan, size_t commit_size, struct problem *problem)
{
    *batch = (struct batch){ .plan = plan };
    atomic_init(&batch->done_count, 0);
    if (!quarantine_init(&batch->quarantine, plan, problem)) {
        return false;
    }
    if (!commit_queue_init(&batch->queue, commit_size)) {
        quarantine_fini(&batch->quarantine);
        return problem_set(problem, EXIT_CODE_IO, "no mutex can be had");
    }
    batch->balances = memory_zeroed(plan->clients.cell_count, sizeof *batch->balances);
    batch->before = memory_zeroed(plan->clients.cell_count, sizeof *batch->before);
    batch->after = memory_zeroed(plan->book.posting_count, sizeof *batch->after);
    for (size_t i = 0; i < plan->task_count; i++) {
        plan->tasks[i].batch = batch;
    }
    return true;
}

void batch_fini(struct batch *batch)
{
    free(batch->balances);
    free(batch->before);
    free(batch->after);
    free(batch->broken_cells);
    quarantine_fini(&batch->quarantine);
    commit_queue_fini(&batch->queue);
}

void batch_break(struct batch *batch, const struct patterns *fail_on)
{
    const struct clients *clients = &batch->plan->clients;
    if (fail_on->count == 0) {
        return;
    }
    batch->broken_cells = memory_zeroed(clients->cell_count, sizeof *batch->broken_cells);
    for (size_t i = 0; i < clients->cell_count; i++) {
        struct slice name = book_account_name(&batch->plan->book, clients->cells[i].account);
        batch->broken_cells[i] = patterns_match(fail_on, name);
    }
}

void batch_fail(struct batch *batch, const struct task *task, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    quarantine_explain(&batch->quarantine, task, format, arguments);
    va_end(arguments);
}

static int run_body(struct batch *batch, const struct task *task, struct lane_list *missing)
{
    switch ((enum task_kind)task->kind) {
    case TASK_POST:
        return post_transaction(batch, task);
    case TASK_STATEMENT:
        return month_end_statement(batch, task, missing);
    case TASK_ACCRUAL:
        return month_end_accrual(batch, task, missing);
    case TASK_CLOSE:
        return month_end_close(batch, task, missing);
    }
    return BATCH_FAILED;
}

int batch_run(struct batch *batch, const struct task *task, struct lane_list *missing)
{
    switch (quarantine_judge(&batch->quarantine, task, missing)) {
    case VERDICT_RUN:
        break;
    case VERDICT_HOLD:
        return BATCH_HELD;
    case VERDICT_PASS:
        return 0;
    case VERDICT_FAIL:
        month_end_fail(batch, task, missing);
        return 0;
    }
    int code = run_body(batch, task, missing);
    if (code != 0) {
        quarantine_fail(&batch->quarantine, task);
    }
    return code;
}
