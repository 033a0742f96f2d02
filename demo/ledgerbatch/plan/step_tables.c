/* Owns the tables of user's steps; see plan/step_tables.h. */
#include "plan/step_tables.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"

/* The visits of a group have half of all numbers of postings, and its `group` the other half. */
#define NUMBERS_MAX ((size_t)UINT32_MAX / 2 - 1)

struct ledgerbatch_commodity *step_tables_commodities(const struct book *book)
{
    struct ledgerbatch_commodity *commodities =
        memory_zeroed(book->commodity_names.count + 1, sizeof *commodities);
    for (uint32_t i = 0; i < book->commodity_names.count; i++) {
        commodities[i] =
            (struct ledgerbatch_commodity){ .symbol = book_symbol(book, i).data,
                                            .decimals = book->commodities[i].storage_scale,
                                            .shown_decimals = book->commodities[i].scale };
    }
    return commodities;
}

/* Lists the cells of the house accounts that a step may post to. */
static void find_house_cells(struct user_step *user, const struct book *book,
                             const struct clients *clients)
{
    user->house_cells = memory_zeroed(clients->cell_count + 1, sizeof *user->house_cells);
    for (uint32_t i = 0; i < clients->cell_count; i++) {
        const struct client_cell *cell = &clients->cells[i];
        if (cell->client == NO_INDEX && cell->flags & ACCOUNT_HOUSE &&
            patterns_match(&user->house, book_account_name(book, cell->account))) {
            user->house_cells[user->house_cell_count++] = i;
        }
    }
}

/* --- prices --- */

/* Returns true if the price before this one in the book is of the same commodities. */
static bool is_same_pair(const struct market_price *a, const struct market_price *b)
{
    return a->commodity == b->commodity && a->price.commodity == b->price.commodity;
}

static size_t count_pairs(const struct book *book)
{
    size_t count = 0;
    for (size_t i = 0; i < book->price_count; i++) {
        count += i == 0 || !is_same_pair(&book->prices[i - 1], &book->prices[i]);
    }
    return count;
}

/* The book's prices are sorted by commodity, currency and date: the last one by then holds. */
static void find_prices(struct month_prices *prices, const struct book *book, size_t pair_count,
                        uint32_t last_day)
{
    prices->items = memory_zeroed(pair_count + 1, sizeof *prices->items);
    for (size_t i = 0; i < book->price_count; i++) {
        const struct market_price *price = &book->prices[i];
        bool is_next_later = i + 1 == book->price_count || !is_same_pair(price, price + 1) ||
                             price[1].date > last_day;
        if (price->date <= last_day && is_next_later) {
            prices->items[prices->count++] =
                (struct ledgerbatch_price){ .commodity = price->commodity,
                                            .currency = price->price.commodity,
                                            .units = price->price.units,
                                            .decimals = price->price.scale,
                                            .date = price->date };
        }
    }
}

/*
 * Checks that the postings of a step can be numbered: each call has a number for each cell of its
 * clients, and for each house cell of the rule.
 */
static bool check_numbers(const struct user_step *user, const struct clients *clients,
                          struct problem *problem)
{
    size_t houses = user->house_cell_count;
    bool fits = clients->cell_count <= NUMBERS_MAX &&
                houses <= (NUMBERS_MAX - clients->cell_count) / (clients->count + 1);
    return fits ||
           problem_set(problem, EXIT_CODE_INPUT,
                       "the step %s has %zu house accounts and commodities for %zu clients: "
                       "more postings than there are numbers",
                       user->name, houses, clients->count);
}

bool step_tables_make(struct step_tables *tables, const struct book *book,
                      const struct clients *clients, struct rules *rules, uint32_t first_month,
                      uint32_t end_month, struct problem *problem)
{
    bool has_steps = false;
    for (size_t i = 0; i < rules->steps.count; i++) {
        if (rules->steps.items[i].user) {
            find_house_cells(rules->steps.items[i].user, book, clients);
            if (!check_numbers(rules->steps.items[i].user, clients, problem)) {
                return false;
            }
            has_steps = true;
        }
    }
    if (!has_steps || first_month >= end_month) {
        return true;
    }
    tables->commodities = step_tables_commodities(book);
    tables->first_month = first_month;
    tables->month_count = end_month - first_month;
    tables->prices = memory_zeroed(tables->month_count, sizeof *tables->prices);
    size_t pair_count = count_pairs(book);
    for (uint32_t i = 0; i < tables->month_count; i++) {
        find_prices(&tables->prices[i], book, pair_count, date_month_end(first_month + i));
    }
    return true;
}

void step_tables_fini(struct step_tables *tables)
{
    for (size_t i = 0; i < tables->month_count; i++) {
        free(tables->prices[i].items);
    }
    free(tables->prices);
    free(tables->commodities);
}

const struct month_prices *step_tables_prices(const struct step_tables *tables, uint32_t month)
{
    return &tables->prices[month - tables->first_month];
}
