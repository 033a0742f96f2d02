/* Owns trial balances: all accounts at the end of a month, with sums by group and of the book. */
#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "publish/output_scan.h"
#include "store/entry.h"

#define HOUSE_GROUP "(house)"

struct side_sums {
    wide debit, credit;
};

struct named {
    struct slice name;
    size_t number;
};

/* The sums of a trial balance: a row for each group, then one for the book. */
struct trial_balance {
    const struct stored_book *book;
    struct buffer *text;
    struct names groups;
    struct named *commodities; /* by symbol */
    struct side_sums *sums;    /* by row and commodity */
};

static int compare_named(const void *left, const void *right)
{
    return slice_compare(((const struct named *)left)->name, ((const struct named *)right)->name);
}

/* Returns the commodities with their numbers, sorted by symbol. The caller frees. */
static struct named *sort_commodities(const struct stored_book *book)
{
    struct named *sorted = memory_zeroed(book->commodity_count + 1, sizeof *sorted);
    for (size_t i = 0; i < book->commodity_count; i++) {
        sorted[i] = (struct named){ book->commodities[i].symbol, i };
    }
    qsort(sorted, book->commodity_count, sizeof *sorted, compare_named);
    return sorted;
}

static struct named *sort_groups(const struct names *groups)
{
    struct named *sorted = memory_zeroed(groups->count + 1, sizeof *sorted);
    for (size_t i = 0; i < groups->count; i++) {
        sorted[i] = (struct named){ groups->items[i], i };
    }
    qsort(sorted, groups->count, sizeof *sorted, compare_named);
    return sorted;
}

static struct slice group_of(const struct stored_book *book, const struct stored_account *account)
{
    return account->has_lane ? book->lanes[account->lane].group : slice_of(HOUSE_GROUP);
}

/* Adds a line KIND,GROUP,ACCOUNT,COMMODITY,DEBIT,CREDIT. */
static void add_line(const struct trial_balance *trial, const char *kind, struct slice group,
                     struct slice account, size_t commodity, struct side_sums sums)
{
    const struct stored_commodity *described = &trial->book->commodities[commodity];
    buffer_add_text(trial->text, kind);
    buffer_add_byte(trial->text, ',');
    buffer_add_field(trial->text, group);
    buffer_add_byte(trial->text, ',');
    buffer_add_field(trial->text, account);
    buffer_add_byte(trial->text, ',');
    buffer_add_field(trial->text, described->symbol);
    buffer_add_byte(trial->text, ',');
    entry_number(trial->text, described, sums.debit);
    buffer_add_byte(trial->text, ',');
    entry_number(trial->text, described, sums.credit);
    buffer_add_byte(trial->text, '\n');
}

static void add_to_row(const struct trial_balance *trial, size_t row, size_t commodity,
                       struct side_sums sums)
{
    struct side_sums *total = &trial->sums[row * trial->book->commodity_count + commodity];
    total->debit += sums.debit;
    total->credit += sums.credit;
}

/* The book's row is behind the last group's. Groups are known before, so rows do not move. */
static void add_accounts(const struct trial_balance *trial)
{
    const struct stored_book *book = trial->book;
    for (size_t i = 0; i < book->cell_count; i++) {
        const struct stored_cell *cell = &book->cells[i];
        const struct stored_account *account = &book->accounts[cell->account];
        struct slice group = group_of(book, account);
        struct side_sums sums = { cell->running > 0 ? cell->running : 0,
                                  cell->running < 0 ? -(wide)cell->running : 0 };
        if (cell->running != 0) {
            add_line(trial, "account", group, account->name, cell->commodity, sums);
        }
        add_to_row(trial, names_find(&trial->groups, group), cell->commodity, sums);
        add_to_row(trial, trial->groups.count, cell->commodity, sums);
    }
}

static void add_sums(const struct trial_balance *trial, const char *kind, struct slice group,
                     size_t row)
{
    for (size_t i = 0; i < trial->book->commodity_count; i++) {
        size_t commodity = trial->commodities[i].number;
        struct side_sums sums = trial->sums[row * trial->book->commodity_count + commodity];
        if (sums.debit != 0 || sums.credit != 0) {
            add_line(trial, kind, group, slice_of(""), commodity, sums);
        }
    }
}

static void add_groups(const struct trial_balance *trial)
{
    struct named *groups = sort_groups(&trial->groups);
    for (size_t i = 0; i < trial->groups.count; i++) {
        add_sums(trial, "group", groups[i].name, groups[i].number);
    }
    free(groups);
}

void output_trial_balance(const struct stored_book *book, struct buffer *text)
{
    struct trial_balance trial = { .book = book, .text = text };
    for (size_t i = 0; i < book->cell_count; i++) {
        names_intern(&trial.groups, group_of(book, &book->accounts[book->cells[i].account]));
    }
    trial.commodities = sort_commodities(book);
    size_t rows = trial.groups.count + 1;
    trial.sums = memory_zeroed(rows * book->commodity_count, sizeof *trial.sums);
    buffer_add_text(text, "kind,group,account,commodity,debit,credit\n");
    add_accounts(&trial);
    add_groups(&trial);
    add_sums(&trial, "book", slice_of(""), trial.groups.count);
    free(trial.sums);
    free(trial.commodities);
    names_fini(&trial.groups);
}

static bool write_trial_balance(struct output_scan *scan, uint32_t month, struct problem *problem)
{
    scan->page.size = 0;
    output_trial_balance(&scan->book, &scan->page);
    scan->path.size = 0;
    buffer_add_text(&scan->path, "trial-balance/");
    date_write(buffer_room(&scan->path, DATE_SIZE), date_month_end(month));
    scan->path.size += sizeof "YYYY-MM" - 1;
    buffer_add(&scan->path, (struct slice){ ".csv", sizeof ".csv" });
    return publication_write(&scan->publication, scan->path.data, buffer_slice(&scan->page),
                             problem);
}

bool scan_write_trials(struct output_scan *scan, uint32_t before, struct problem *problem)
{
    const struct output_options *options = scan->options;
    bool written = true;
    for (; written && scan->trial_passed_count < options->trial_count &&
           options->trials[scan->trial_passed_count].after_seq < before;
         scan->trial_passed_count++) {
        written =
            write_trial_balance(scan, options->trials[scan->trial_passed_count].month, problem);
    }
    return written;
}
