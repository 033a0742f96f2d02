/* Owns the headers of tasks: dates, codes and texts. */
#include "commit/task_header.h"

#include "base/syntax.h"

/* Returns the date that a transaction is about, if it is booked later; else 0. */
static uint32_t value_date(const struct plan *plan, const struct task *task)
{
    const struct transaction *transaction = &plan->book.transactions[task->subject];
    bool is_late = plan_is_late(plan, task);
    return transaction->value_date == 0 && is_late ? transaction->date : transaction->value_date;
}

static struct stored_transaction transaction_header(const struct plan *plan,
                                                    const struct task *task)
{
    const struct transaction *transaction = &plan->book.transactions[task->subject];
    return (struct stored_transaction){ .seq = task->seq,
                                        .date = plan_date(plan, task),
                                        .kind = slice_of("post"),
                                        .status = transaction->status,
                                        .has_code = transaction->has_code,
                                        .code = { transaction->code, transaction->code_size },
                                        .text = { transaction->text, transaction->text_size },
                                        .value_date = value_date(plan, task) };
}

/* Writes KIND YYYY-MM GROUP. The kind of a step of the user's is its name. */
static void write_code(struct buffer *text, const struct plan *plan, const struct task *task)
{
    char month[MONTH_SIZE];
    date_write_month(month, task->month);
    const struct user_step *user = plan_user_step(plan, task);
    buffer_add_text(text, user ? user->name : task_kind_word((enum task_kind)task->kind));
    buffer_add_byte(text, ' ');
    buffer_add(text, (struct slice){ month, MONTH_SIZE });
    buffer_add_byte(text, ' ');
    buffer_add(text, plan->clients.groups[task->subject].name);
}

struct stored_transaction task_header(const struct plan *plan, const struct task *task,
                                      struct buffer *text)
{
    static const char *const texts[] = { [TASK_STATEMENT] = "Statement",
                                         [TASK_ACCRUAL] = "Interest",
                                         [TASK_CLOSE] = "Month-end close",
                                         [TASK_FEES] = "Fees",
                                         [TASK_STEP] = "Month-end step" };
    text->size = 0;
    if (task->kind == TASK_POST) {
        return transaction_header(plan, task);
    }
    write_code(text, plan, task);
    return (struct stored_transaction){ .seq = task->seq,
                                        .date = plan_date(plan, task),
                                        .kind =
                                            slice_of(task_kind_word((enum task_kind)task->kind)),
                                        .status = '*',
                                        .has_code = true,
                                        .code = buffer_slice(text),
                                        .text = slice_of(texts[task->kind]) };
}
