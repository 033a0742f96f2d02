/* Owns the tables of a running batch. */
#include "batch/batch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "batch/effect.h"
#include "batch/step_run.h"
#include "memory.h"

bool batch_init(struct batch *batch, struct plan *plan, bool defers, struct problem *problem)
{
    *batch = (struct batch){ .plan = plan };
    atomic_init(&batch->done_count, 0);
    if (!quarantine_init(&batch->quarantine, plan, problem)) {
        return false;
    }
    deferral_init(&batch->deferral, plan, defers);
    month_tally_init(&batch->tally, plan);
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
    step_gatherings_free(batch);
    effect_drop(batch->plan->tasks, batch->plan->task_count);
    deferral_fini(&batch->deferral);
    month_tally_fini(&batch->tally);
    quarantine_fini(&batch->quarantine);
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

void batch_wait_first(const struct batch *batch)
{
    struct timespec left = { (time_t)(batch->task_wait_us / 1000000),
                             (long)(batch->task_wait_us % 1000000) * 1000 };
    while (batch->task_wait_us > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

void batch_fail(struct batch *batch, const struct task *task, uint32_t client, const char *format,
                ...)
{
    va_list arguments;
    va_start(arguments, format);
    quarantine_explain(&batch->quarantine, task, client, format, arguments);
    va_end(arguments);
}
