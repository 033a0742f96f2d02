/* Owns the planned order: reads files and makes numbered tasks. */
#include "plan/plan.h"

#include <stdlib.h>

#include "base/file_name.h"
#include "base/syntax.h"
#include "memory.h"
#include "plan/check_book.h"
#include "plan/codes.h"
#include "plan/pattern_check.h"
#include "plan/step_check.h"
#include "plan/step_prepare.h"
#include "read/csv.h"
#include "read/journal.h"

/* Postings and tasks have numbers of 32 bits; a late rollup has a second, higher number. */
#define ITEMS_MAX ((size_t)UINT32_MAX / 2 - 1)
/* A rollup has at most two postings for each cell. */
#define CELLS_MAX ITEMS_MAX
/* Month-end rollups of all groups and months: 200 years of 10,000 groups. */
#define ROLLUPS_MAX ((size_t)100000000)

/* The longest name of a file, on all usual file systems. */
#define FILE_NAME_MAX 255

struct planner {
    struct plan *plan;
    size_t capacity, trial_capacity;
};

void plan_init(struct plan *plan)
{
    *plan = (struct plan){ 0 };
    rules_init(&plan->rules);
}

void plan_fini(struct plan *plan)
{
    free(plan->tasks);
    free(plan->trials);
    step_tables_fini(&plan->step_tables);
    clients_fini(&plan->clients);
    book_fini(&plan->book);
    rules_fini(&plan->rules);
    opening_fini(&plan->opening);
}

static bool read_files(struct plan *plan, const char *const *files, size_t file_count,
                       struct problem *problem)
{
    uint64_t last_seq = 0;
    if (plan->rules.clients.by != CLIENT_BY_DEPTH &&
        (plan->rules.csv || plan->rules.client_depth > 1)) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "--csv and --client-depth are for --client-by depth only");
    }
    if (plan->has_opening && !opening_fill(&plan->opening, &plan->book, problem)) {
        return false;
    }
    for (size_t i = 0; i < file_count; i++) {
        bool read = plan->rules.csv
                        ? csv_read(&plan->book, files[i], &last_seq, problem)
                        : journal_read(&plan->book, files[i], &plan->rules.clients, problem);
        if (!read) {
            return false;
        }
    }
    if (!faults_none(&plan->book.faults, problem)) {
        return false;
    }
    if (plan->book.rejects.has_new) {
        return true; /* the input is read again */
    }
    if (plan->rules.until != 0) {
        plan->left_out_count = book_drop_later(&plan->book, plan->rules.until);
    }
    if (plan->left_out_count > 0 && plan->book.transaction_count == 0) {
        return problem_set(problem, EXIT_CODE_INPUT, "all transactions are after --until");
    }
    if (plan->book.transaction_count == 0 && !plan->has_opening) {
        return problem_set(problem, EXIT_CODE_INPUT, "%s: the input has no transactions", files[0]);
    }
    return true;
}

static struct task *add_planned_task(struct planner *planner, enum task_kind kind, uint32_t subject,
                                     uint32_t month)
{
    struct plan *plan = planner->plan;
    plan->tasks =
        memory_grow(plan->tasks, &planner->capacity, plan->task_count + 1, sizeof *plan->tasks);
    uint32_t seq = plan->base_seq + (uint32_t)plan->task_count + 1;
    struct task *task = &plan->tasks[plan->task_count++];
    *task = (struct task){
        .seq = seq, .subject = subject, .month = month, .member = NO_INDEX, .kind = (uint8_t)kind
    };
    return task;
}

/* Adds the place for a trial balance behind the last task. */
static void add_trial(struct planner *planner, uint32_t month)
{
    struct plan *plan = planner->plan;
    plan->trials = memory_grow(plan->trials, &planner->trial_capacity, plan->trial_count + 1,
                               sizeof *plan->trials);
    plan->trials[plan->trial_count++] =
        (struct trial_place){ month, plan->base_seq + (uint32_t)plan->task_count };
}

static enum task_kind kind_of_step(const struct month_end_step *step)
{
    switch (step->kind) {
    case MONTH_END_STATEMENT:
        return TASK_STATEMENT;
    case MONTH_END_ACCRUAL:
        return TASK_ACCRUAL;
    case MONTH_END_CLOSE:
        return TASK_CLOSE;
    case MONTH_END_FEES:
        return TASK_FEES;
    case MONTH_END_USER:
        return TASK_STEP;
    case MONTH_END_TRIAL_BALANCE:
        break;
    }
    return TASK_POST; /* a trial balance has no task */
}

static bool is_done_for(const struct plan *plan, const struct month_end_step *step, uint32_t group)
{
    return step->kind != MONTH_END_TRIAL_BALANCE &&
           month_end_step_has_group(step, plan->clients.groups[group].name);
}

/* Adds the steps from first to end - 1, group by group. */
static void add_rollups(struct planner *planner, size_t first, size_t end, uint32_t month)
{
    const struct month_end_steps *steps = &planner->plan->rules.steps;
    for (uint32_t group = 0; group < planner->plan->clients.group_count; group++) {
        for (size_t i = first; i < end; i++) {
            if (is_done_for(planner->plan, &steps->items[i], group)) {
                add_planned_task(planner, kind_of_step(&steps->items[i]), group, month)->step =
                    (uint16_t)i;
            }
        }
    }
}

static void add_month_end(struct planner *planner, uint32_t month)
{
    const struct month_end_steps *steps = &planner->plan->rules.steps;
    size_t first = 0;
    for (size_t i = 0; i < steps->count; i++) {
        if (steps->items[i].kind == MONTH_END_TRIAL_BALANCE) {
            add_rollups(planner, first, i, month);
            add_trial(planner, month);
            first = i + 1;
        }
    }
    add_rollups(planner, first, steps->count, month);
}

static size_t rollups_a_month(const struct plan *plan)
{
    size_t rollups = 0;
    for (size_t i = 0; i < plan->rules.steps.count; i++) {
        for (uint32_t group = 0; group < plan->clients.group_count; group++) {
            rollups += is_done_for(plan, &plan->rules.steps.items[i], group);
        }
    }
    return rollups;
}

/* Checks counts before the tasks are made: two distant dates can need more rollups than fit. */
static bool check_counts(const struct plan *plan, struct problem *problem)
{
    uint32_t first = plan->first_month;
    uint32_t last = plan->end_month - 1;
    size_t months = plan->end_month - first;
    size_t rollups = months * rollups_a_month(plan);
    if (rollups > ROLLUPS_MAX) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "%zu months with month-ends of %zu groups are more than %zu rollups: "
                           "the first month is %u-%02u, the last is %u-%02u",
                           months, plan->clients.group_count, ROLLUPS_MAX, first / 12,
                           first % 12 + 1, last / 12, last % 12 + 1);
    }
    return (plan->base_seq + plan->book.transaction_count + rollups <= ITEMS_MAX &&
            plan->book.posting_count <= ITEMS_MAX && plan->clients.cell_count <= CELLS_MAX) ||
           problem_set(problem, EXIT_CODE_INPUT, "more than %zu tasks or postings, or %zu balances",
                       ITEMS_MAX, CELLS_MAX);
}

/* Returns the first month whose end is after a day. */
static uint32_t month_after(uint32_t day)
{
    uint32_t month = date_month(day);
    return date_month_end(month) > day ? month : month + 1;
}

/* Returns the last day that the input of a run is about. */
static uint32_t find_end(const struct plan *plan)
{
    const struct book *book = &plan->book;
    uint32_t last = book->transactions[book->order[book->transaction_count - 1]].date;
    uint32_t until = plan->rules.until;
    uint32_t month_end = date_month_end(date_month(last)); /* later months have no month-end */
    if (plan->rules.ends_month) {
        return month_end;
    }
    return until <= last ? last : until < month_end ? until : month_end;
}

/*
 * Finds the months that end: of a run those from its first transaction on that are over when it
 * ends; of a day those that end after the day before, and by that day.
 */
static void find_months(struct plan *plan)
{
    const struct book *book = &plan->book;
    bool has_transactions = book->transaction_count > 0;
    uint32_t last_day = plan->opening.last_day;
    plan->end_month = plan->has_opening  ? month_after(plan->opening.day)
                      : has_transactions ? month_after(find_end(plan))
                                         : 0;
    plan->first_month = last_day != 0      ? month_after(last_day)
                        : has_transactions ? date_month(book->transactions[book->order[0]].date)
                                           : plan->end_month;
    if (plan->first_month > plan->end_month) {
        plan->first_month = plan->end_month;
    }
}

static bool plan_tasks(struct plan *plan, struct problem *problem)
{
    struct planner planner = { .plan = plan, .capacity = plan->book.transaction_count + 1 };
    const struct book *book = &plan->book;
    bool has_steps = plan->rules.steps.count > 0;
    find_months(plan);
    if (!check_counts(plan, problem)) {
        return false;
    }
    plan->tasks = memory_zeroed(planner.capacity, sizeof *plan->tasks);
    uint32_t month = plan->first_month;
    for (size_t i = 0; i < book->transaction_count; i++) {
        uint32_t next = date_month(book->transactions[book->order[i]].date);
        for (; has_steps && month < next; month++) {
            add_month_end(&planner, month);
        }
        (void)add_planned_task(&planner, TASK_POST, book->order[i], next);
    }
    for (; has_steps && month < plan->end_month; month++) {
        add_month_end(&planner, month);
    }
    return true;
}

/* Checks the book from the opening balances, which the first cells have. */
static bool check_balances(struct plan *plan, struct problem *problem)
{
    const struct stored_book *stored = &plan->opening.book;
    int64_t *starts = memory_zeroed(stored->cell_count + 1, sizeof *starts);
    for (size_t i = 0; i < stored->cell_count; i++) {
        starts[i] = stored->cells[i].start;
    }
    bool good = check_book(&plan->book, rules_divide_accounts(&plan->rules), starts,
                           stored->cell_count, problem);
    free(starts);
    return good;
}

/* Reads the input and checks it. If that rejects something, leaves out the rest of the checks. */
static bool read_and_check(struct plan *plan, const char *const *files, size_t file_count,
                           struct problem *problem)
{
    const struct rejects *rejects = &plan->book.rejects;
    return read_files(plan, files, file_count, problem) &&
           (rejects->has_new || !plan->has_opening ||
            opening_check_book(&plan->opening, &plan->book, problem)) &&
           (rejects->has_new || !plan->rules.unique_codes ||
            codes_check(&plan->book, plan->has_opening ? &plan->opening : NULL, problem)) &&
           (rejects->has_new || check_balances(plan, problem));
}

/* Reads the input until nothing more of it is rejected. */
static bool read_input(struct plan *plan, const char *const *files, size_t file_count,
                       struct problem *problem)
{
    bool good = read_and_check(plan, files, file_count, problem);
    while (good && plan->book.rejects.has_new) {
        book_restart(&plan->book);
        good = read_and_check(plan, files, file_count, problem);
    }
    return good;
}

bool plan_make(struct plan *plan, const char *const *files, size_t file_count,
               struct problem *problem)
{
    const struct opening *opening = plan->has_opening ? &plan->opening : NULL;
    plan->base_seq = plan->opening.base_seq;
    rules_complete(&plan->rules);
    if (!month_end_steps_open(&plan->rules.steps, problem) ||
        !read_input(plan, files, file_count, problem) ||
        !step_prepare(&plan->book, &plan->rules, problem) ||
        !clients_find(&plan->clients, &plan->book, &plan->rules, opening, problem) ||
        (opening && !opening_check_clients(opening, &plan->book, &plan->clients, problem)) ||
        !pattern_check_rules(&plan->rules, &plan->book, problem) ||
        !step_check(&plan->rules, &plan->book, &plan->clients, problem) ||
        !plan_tasks(plan, problem)) {
        return false;
    }
    book_sort_prices(&plan->book);
    if (!step_tables_make(&plan->step_tables, &plan->book, &plan->clients, &plan->rules,
                          plan->first_month, plan->end_month, problem)) {
        return false;
    }
    rules_digest(&plan->rules, &plan->book, plan->opening.day, plan->digest);
    return true;
}

bool plan_check_folders(const struct plan *plan, struct problem *problem)
{
    struct buffer name = { 0 };
    bool good = true;
    bool has_folders = month_end_steps_find(&plan->rules.steps, MONTH_END_STATEMENT) != NULL;
    for (size_t i = 0; good && has_folders && i < plan->clients.count; i++) {
        name.size = 0;
        file_name_add(&name, plan->clients.items[i].name);
        if (name.size > FILE_NAME_MAX) {
            good = problem_set(problem, EXIT_CODE_INPUT,
                               "the name of the client '%.*s' is too long for a folder",
                               SLICE_ARGUMENTS(plan->clients.items[i].name));
        }
    }
    buffer_fini(&name);
    return good;
}

void plan_lanes(const struct plan *plan, const struct task *task, struct lane_list *lanes)
{
    lanes->count = 0;
    if (task->member != NO_INDEX) {
        lane_list_add(lanes, task->member);
        return;
    }
    if (task->kind != TASK_POST) {
        const struct group *group = &plan->clients.groups[task->subject];
        for (uint32_t i = 0; i < group->member_count; i++) {
            lane_list_add(lanes, plan->clients.members[group->first_member + i]);
        }
        return;
    }
    const struct transaction *transaction = &plan->book.transactions[task->subject];
    for (uint32_t i = 0; i < transaction->posting_count; i++) {
        uint32_t cell = plan->book.postings[transaction->first_posting + i].cell;
        uint32_t client = plan->clients.cells[cell].client;
        if (client != NO_INDEX) {
            lane_list_add(lanes, client);
        }
    }
    lane_list_drop_duplicates(lanes);
    if (lanes->count == 0) {
        lane_list_add(lanes, plan_house_lane(plan));
    }
}

/* The last task of a run has its last day. */
uint32_t plan_last_day(const struct plan *plan)
{
    return plan->has_opening ? plan->opening.day
                             : plan_date(plan, &plan->tasks[plan->task_count - 1]);
}

uint32_t plan_open_month(const struct plan *plan)
{
    const struct book *book = &plan->book;
    bool has_month_ends =
        !plan->has_opening && plan->rules.steps.count > 0 && book->transaction_count > 0;
    uint32_t last =
        has_month_ends
            ? date_month(book->transactions[book->order[book->transaction_count - 1]].date)
            : 0;
    return has_month_ends && last >= plan->end_month ? last : 0;
}

uint32_t plan_date(const struct plan *plan, const struct task *task)
{
    bool is_late = plan_is_late(plan, task);
    if (task->kind == TASK_POST && is_late) {
        return plan->retry_day ? plan->retry_day : plan_last_day(plan);
    }
    if (task->kind == TASK_POST) {
        return plan->book.transactions[task->subject].date;
    }
    return is_late ? plan_last_day(plan) : date_month_end(task->month);
}

const char *task_kind_word(enum task_kind kind)
{
    static const char *const words[] = { "post", "statement", "accrual", "close", "fees", "step" };
    return words[kind];
}
