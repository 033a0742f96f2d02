/* Owns the planned order: reads files and makes numbered tasks. */
#include "plan/plan.h"

#include <stdlib.h>

#include "base/file_name.h"
#include "base/syntax.h"
#include "memory.h"
#include "plan/check_book.h"
#include "plan/pattern_check.h"
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
    size_t capacity;
};

void plan_init(struct plan *plan)
{
    *plan = (struct plan){ 0 };
    rules_init(&plan->rules);
}

void plan_fini(struct plan *plan)
{
    free(plan->tasks);
    clients_fini(&plan->clients);
    book_fini(&plan->book);
    rules_fini(&plan->rules);
    opening_fini(&plan->opening);
}

static bool read_files(struct plan *plan, const char *const *files, size_t file_count,
                       struct problem *problem)
{
    uint64_t last_seq = 0;
    if (plan->has_opening && !opening_fill(&plan->opening, &plan->book, problem)) {
        return false;
    }
    for (size_t i = 0; i < file_count; i++) {
        bool read = plan->rules.csv ? csv_read(&plan->book, files[i], &last_seq, problem)
                                    : journal_read(&plan->book, files[i], problem);
        if (!read) {
            return false;
        }
    }
    if (!faults_none(&plan->book.faults, problem)) {
        return false;
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

static void add_planned_task(struct planner *planner, enum task_kind kind, uint32_t subject,
                             uint32_t month)
{
    struct plan *plan = planner->plan;
    plan->tasks =
        memory_grow(plan->tasks, &planner->capacity, plan->task_count + 1, sizeof *plan->tasks);
    uint32_t seq = plan->base_seq + (uint32_t)plan->task_count + 1;
    plan->tasks[plan->task_count++] = (struct task){
        .seq = seq, .subject = subject, .month = month, .member = NO_INDEX, .kind = (uint8_t)kind
    };
}

static void add_month_end(struct planner *planner, uint32_t month)
{
    const struct rules *rules = &planner->plan->rules;
    for (uint32_t group = 0; group < planner->plan->clients.group_count; group++) {
        if (rules->statement) {
            add_planned_task(planner, TASK_STATEMENT, group, month);
        }
        if (rules->accrual) {
            add_planned_task(planner, TASK_ACCRUAL, group, month);
        }
        if (rules->close) {
            add_planned_task(planner, TASK_CLOSE, group, month);
        }
    }
}

static size_t rollups_a_month(const struct plan *plan)
{
    const struct rules *rules = &plan->rules;
    return plan->clients.group_count *
           ((size_t)rules->statement + (size_t)rules->accrual + (size_t)rules->close);
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

/*
 * Finds the months that end: of a run all months of its transactions; of a day those that end after
 * the day before, and by that day.
 */
static void find_months(struct plan *plan)
{
    const struct book *book = &plan->book;
    size_t count = book->transaction_count;
    plan->first_month = count ? date_month(book->transactions[book->order[0]].date) : UINT32_MAX;
    plan->end_month = count ? date_month(book->transactions[book->order[count - 1]].date) + 1 : 0;
    if (plan->rules.until != 0 && plan->end_month > month_after(plan->rules.until)) {
        plan->end_month = month_after(plan->rules.until);
    }
    if (!plan->has_opening) {
        plan->first_month =
            plan->first_month < plan->end_month ? plan->first_month : plan->end_month;
        return;
    }
    plan->end_month = month_after(plan->opening.day);
    if (plan->opening.last_day != 0) {
        plan->first_month = month_after(plan->opening.last_day);
    }
    if (plan->first_month > plan->end_month) {
        plan->first_month = plan->end_month;
    }
}

static bool plan_tasks(struct plan *plan, struct problem *problem)
{
    struct planner planner = { .plan = plan, .capacity = plan->book.transaction_count + 1 };
    const struct book *book = &plan->book;
    bool has_rollups = rollups_a_month(plan) > 0;
    find_months(plan);
    if (!check_counts(plan, problem)) {
        return false;
    }
    plan->tasks = memory_zeroed(planner.capacity, sizeof *plan->tasks);
    uint32_t month = plan->first_month;
    for (size_t i = 0; i < book->transaction_count; i++) {
        uint32_t next = date_month(book->transactions[book->order[i]].date);
        for (; has_rollups && month < next; month++) {
            add_month_end(&planner, month);
        }
        add_planned_task(&planner, TASK_POST, book->order[i], next);
    }
    for (; has_rollups && month < plan->end_month; month++) {
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
    bool good = check_book(&plan->book, starts, stored->cell_count, problem);
    free(starts);
    return good;
}

bool plan_make(struct plan *plan, const char *const *files, size_t file_count,
               struct problem *problem)
{
    const struct opening *opening = plan->has_opening ? &plan->opening : NULL;
    plan->base_seq = plan->opening.base_seq;
    if (!read_files(plan, files, file_count, problem) ||
        (opening && !opening_check_book(opening, &plan->book, problem)) ||
        !check_balances(plan, problem) ||
        !clients_find(&plan->clients, &plan->book, &plan->rules, opening, problem) ||
        (opening && !opening_check_clients(opening, &plan->book, &plan->clients, problem)) ||
        !pattern_check_rules(&plan->rules, &plan->book, problem) || !plan_tasks(plan, problem)) {
        return false;
    }
    rules_digest(&plan->rules, &plan->book, plan->opening.day, plan->digest);
    return true;
}

bool plan_check_folders(const struct plan *plan, struct problem *problem)
{
    struct buffer name = { 0 };
    bool good = true;
    for (size_t i = 0; good && plan->rules.statement && i < plan->clients.count; i++) {
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

uint32_t plan_date(const struct plan *plan, const struct task *task)
{
    bool is_late = plan_is_late(plan, task);
    if (task->kind == TASK_POST && is_late) {
        return plan->retry_day ? plan->retry_day : plan_last_day(plan);
    }
    if (task->kind == TASK_POST) {
        return plan->book.transactions[task->subject].date;
    }
    return date_month_end(is_late ? plan->end_month - 1 : task->month);
}

const char *task_kind_word(enum task_kind kind)
{
    static const char *const words[] = { "post", "statement", "accrual", "close" };
    return words[kind];
}
