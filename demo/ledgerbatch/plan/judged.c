/* Owns the balances that assertions are about. */
#include "plan/judged.h"

#include <stdlib.h>

#include "memory.h"

void judged_init(struct judged *judged, const struct book *book, bool is_divided)
{
    *judged = (struct judged){ .book = book, .is_divided = is_divided };
}

/* Leaves out the client, which is the first component. */
static struct slice name_in_journal(struct slice name)
{
    const char *colon = memchr(name.data, ':', name.size);
    return colon ? slice_between(colon + 1, name.data + name.size) : name;
}

static void add_account(struct judged *judged)
{
    size_t account = judged->account_of_count;
    const struct account *found = &judged->book->accounts[account];
    struct slice name = book_account_name(judged->book, (uint32_t)account);
    uint32_t number = judged->is_divided ? names_intern(&judged->names, name_in_journal(name))
                                         : (uint32_t)account;
    judged->account_of = memory_grow(judged->account_of, &judged->account_of_capacity, account + 1,
                                     sizeof *judged->account_of);
    judged->account_of[judged->account_of_count++] = number;
    judged->accounts = memory_grow(judged->accounts, &judged->account_capacity, (size_t)number + 1,
                                   sizeof *judged->accounts);
    if (number == judged->account_count) {
        judged->accounts[judged->account_count++] = (struct judged_account){ 0 };
    }
    struct judged_account *known = &judged->accounts[number];
    known->has_plain = known->has_plain || found->has_plain;
    known->has_bracketed = known->has_bracketed || found->has_bracketed;
}

/* Returns the number of a judged cell; adds it if it is new. */
static uint32_t require_cell(struct judged *judged, uint32_t account, uint32_t commodity)
{
    if (judged->is_divided) {
        uint32_t known = cell_index_find(&judged->index, account, commodity);
        if (known != CELL_NONE) {
            return known;
        }
        cell_index_add(&judged->index, account, commodity, (uint32_t)judged->cell_count);
    }
    bool is_named = !book_is_nameless(judged->book, commodity);
    judged->cells = memory_grow(judged->cells, &judged->cell_capacity, judged->cell_count + 1,
                                sizeof *judged->cells);
    judged->cells[judged->cell_count] =
        (struct judged_cell){ .account = account, .is_named = is_named };
    judged->accounts[account].named_count += is_named;
    return (uint32_t)judged->cell_count++;
}

void judged_add_cell(struct judged *judged, int64_t start)
{
    struct cell cell = judged->book->cells[judged->cell_of_count];
    while (judged->account_of_count < judged->book->account_names.count) {
        add_account(judged);
    }
    uint32_t number = require_cell(judged, judged->account_of[cell.account], cell.commodity);
    judged->cell_of = memory_grow(judged->cell_of, &judged->cell_of_capacity,
                                  judged->cell_of_count + 1, sizeof *judged->cell_of);
    judged->cell_of[judged->cell_of_count++] = number;
    judged_set(judged, &judged->cells[number], judged->cells[number].balance + start);
}

struct judged_cell *judged_find(const struct judged *judged, uint32_t account, uint32_t commodity)
{
    uint32_t number = judged->is_divided
                          ? cell_index_find(&judged->index, judged->account_of[account], commodity)
                          : cell_index_find(&judged->book->cell_index, account, commodity);
    return number == CELL_NONE ? NULL : &judged->cells[number];
}

void judged_set(struct judged *judged, struct judged_cell *cell, wide balance)
{
    struct judged_account *account = &judged->accounts[cell->account];
    if (cell->is_named) {
        account->named_open -= cell->balance != 0;
        account->named_open += balance != 0;
    }
    cell->balance = balance;
}

void judged_fini(struct judged *judged)
{
    names_fini(&judged->names);
    cell_index_fini(&judged->index);
    free(judged->account_of);
    free(judged->accounts);
    free(judged->cell_of);
    free(judged->cells);
}
