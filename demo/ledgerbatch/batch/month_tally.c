/* Owns the sums of daily balances and the numbers of postings; see batch/month_tally.h. */
#include "batch/month_tally.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"

void month_tally_init(struct month_tally *tally, const struct plan *plan)
{
    *tally = (struct month_tally){ .plan = plan };
    if (plan->first_month == plan->end_month) {
        return;
    }
    for (size_t i = 0; i < plan->rules.steps.count; i++) {
        if (month_end_step_has_tally(&plan->rules.steps.items[i])) {
            tally->cells[i] = memory_zeroed(plan->clients.cell_count + 1, sizeof *tally->cells[i]);
            tally->is_used = true;
        }
    }
}

void month_tally_fini(struct month_tally *tally)
{
    for (size_t i = 0; i < MONTH_END_STEPS_MAX; i++) {
        free(tally->cells[i]);
    }
}

/* Returns the tally of a cell; NULL if the step is not about the cell. */
static struct cell_tally *find_cell(const struct month_tally *tally, size_t step, uint32_t cell)
{
    bool is_about =
        tally->cells[step] && tally->plan->clients.steps[step].targets[cell] != NO_INDEX;
    return is_about ? &tally->cells[step][cell] : NULL;
}

static uint32_t first_day(uint32_t month)
{
    uint32_t end = date_month_end(month);
    return date_days(end) - end % 100 + 1;
}

/* Begins with a month anew, unless the tally is about it. */
static struct cell_tally in_month(struct cell_tally cell, uint32_t month)
{
    return cell.month == month
               ? cell
               : (struct cell_tally){ .sum = 0, .month = month, .day = first_day(month) };
}

/* Returns the sum of the rates of the days from `day` to `end` - 1. */
static wide sum_rates(const struct month_end_step *step, uint32_t day, uint32_t end)
{
    wide sum = 0;
    for (size_t i = 0; i < step->rate_count; i++) {
        uint32_t from = date_days(step->rates[i].from);
        uint32_t until = i + 1 < step->rate_count ? date_days(step->rates[i + 1].from) : end;
        from = from > day ? from : day;
        until = until < end ? until : end;
        sum += from < until ? (wide)step->rates[i].units * (until - from) : 0;
    }
    return sum;
}

/* Adds the days of a balance from the day of the tally to `end` - 1. */
static void add_days(const struct month_tally *tally, size_t number, uint32_t cell, int64_t balance,
                     uint32_t end, struct cell_tally *to)
{
    const struct month_end_step *step = &tally->plan->rules.steps.items[number];
    uint32_t commodity = tally->plan->clients.cells[cell].commodity;
    if (end <= to->day) {
        return;
    }
    if (!step_amounts_is_below(&step->minimum_balance, commodity, balance)) {
        to->sum += balance * sum_rates(step, to->day, end);
    }
    to->day = end;
}

void month_tally_end_balance(struct month_tally *tally, uint32_t cell, int64_t balance,
                             uint32_t date)
{
    const struct month_end_steps *steps = &tally->plan->rules.steps;
    for (size_t i = 0; tally->is_used && i < steps->count; i++) {
        struct cell_tally *found = find_cell(tally, i, cell);
        if (found && steps->items[i].kind == MONTH_END_ACCRUAL) {
            *found = in_month(*found, date_month(date));
            add_days(tally, i, cell, balance, date_days(date), found);
        }
    }
}

void month_tally_count_posting(struct month_tally *tally, uint32_t cell, uint32_t date, int by)
{
    const struct month_end_steps *steps = &tally->plan->rules.steps;
    for (size_t i = 0; tally->is_used && i < steps->count; i++) {
        struct cell_tally *found = find_cell(tally, i, cell);
        if (found && steps->items[i].kind == MONTH_END_FEES) {
            *found = in_month(*found, date_month(date));
            found->sum += by;
        }
    }
}

wide month_tally_sum(const struct month_tally *tally, size_t step, uint32_t cell, int64_t balance,
                     uint32_t month)
{
    struct cell_tally found = in_month(tally->cells[step][cell], month);
    add_days(tally, step, cell, balance, date_days(date_month_end(month)) + 1, &found);
    return found.sum;
}

wide month_tally_postings(const struct month_tally *tally, size_t step, uint32_t cell,
                          uint32_t month)
{
    return in_month(tally->cells[step][cell], month).sum;
}
