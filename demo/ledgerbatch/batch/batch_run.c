/* Owns the choice of what a task does: by the verdict of the quarantine, then by its kind. */
#include "batch/batch_run.h"

#include "batch/month_end.h"
#include "batch/post.h"
#include "batch/step_run.h"

static int run_kind(struct batch *batch, struct task *task, struct lane_list *missing)
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
    case TASK_FEES:
        return month_end_fees(batch, task, missing);
    case TASK_STEP:
        return step_run(batch, task);
    }
    return BATCH_FAILED;
}

int batch_run(struct batch *batch, struct task *task, struct lane_list *missing)
{
    if (task->kind == TASK_POST && missing->count == 0 && post_is_skipped(batch, task)) {
        return 0;
    }
    bool can_defer = batch->deferral.is_used && task->kind == TASK_POST && missing->count == 0;
    if (can_defer && deferral_skip(batch, task)) {
        return 0;
    }
    switch (quarantine_judge(&batch->quarantine, task, missing)) {
    case VERDICT_RUN:
        break;
    case VERDICT_HOLD:
        return BATCH_HELD;
    case VERDICT_PASS:
        return 0;
    case VERDICT_FAIL:
        month_end_fail(task, missing);
        return 0;
    }
    int code = run_kind(batch, task, missing);
    if (code != 0 && can_defer) {
        deferral_fail(batch, task);
        return 0;
    }
    if (code != 0) {
        quarantine_fail(&batch->quarantine, task);
    }
    return code;
}
