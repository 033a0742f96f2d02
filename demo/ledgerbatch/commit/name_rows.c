/* Owns the rows about names: written once, and compared with the plan when a batch is resumed. */
#include "commit/name_rows.h"

#include <stdlib.h>

#include "memory.h"

struct stored_commodity name_rows_commodity(const struct plan *plan, uint32_t number)
{
    const struct commodity *commodity = &plan->book.commodities[number];
    return (struct stored_commodity){ number,
                                      book_symbol(&plan->book, number),
                                      commodity->scale,
                                      commodity->storage_scale,
                                      commodity->symbol_first,
                                      commodity->spaced };
}

struct stored_lane name_rows_lane(const struct plan *plan, uint32_t number)
{
    struct stored_lane lane = { number, { "", 0 }, { "", 0 }, 0 };
    if (number < plan->clients.count) {
        lane.client = plan->clients.items[number].name;
        lane.group = plan->clients.groups[plan->clients.items[number].group].name;
    }
    return lane;
}

/* Returns the lane of each account, or NO_INDEX if it has none. The caller frees the array. */
static uint32_t *find_lanes(const struct plan *plan)
{
    size_t count = plan->book.account_names.count;
    uint32_t *lanes = memory_zeroed(count, sizeof *lanes);
    for (size_t i = 0; i < count; i++) {
        lanes[i] = NO_INDEX;
    }
    for (size_t i = 0; i < plan->clients.cell_count; i++) {
        lanes[plan->clients.cells[i].account] = plan->clients.cells[i].client;
    }
    return lanes;
}

static struct stored_account make_account_row(const struct plan *plan, const uint32_t *lanes,
                                              uint32_t number)
{
    return (struct stored_account){ number, book_account_name(&plan->book, number),
                                    lanes[number] != NO_INDEX, lanes[number] };
}

/* Puts the new accounts, and sets the lanes of the others. */
static bool put_accounts(struct store *store, const struct plan *plan, struct problem *problem)
{
    uint32_t *lanes = find_lanes(plan);
    bool put = true;
    for (uint32_t i = 0; put && i < plan->book.account_names.count; i++) {
        struct stored_account account = make_account_row(plan, lanes, i);
        put = i < plan->opening.book.account_count
                  ? store_set_account_lane(store, &account, problem)
                  : store_put_account(store, &account, problem);
    }
    free(lanes);
    return put;
}

bool name_rows_put(struct store *store, const struct plan *plan, struct problem *problem)
{
    for (size_t i = plan->opening.book.commodity_count; i < plan->book.commodity_names.count; i++) {
        struct stored_commodity commodity = name_rows_commodity(plan, (uint32_t)i);
        if (!store_put_commodity(store, &commodity, problem)) {
            return false;
        }
    }
    return put_accounts(store, plan, problem);
}

/* --- comparing --- */

struct comparison {
    const struct plan *plan;
    const uint32_t *lanes; /* of accounts */
    size_t count;          /* of rows that the plan needs */
};

union name_row {
    struct stored_lane lane;
    struct stored_commodity commodity;
    struct stored_account account;
};

typedef bool (*row_comparer)(const struct comparison *comparison, uint32_t number,
                             const union name_row *row);

static bool is_same_lane(const struct comparison *comparison, uint32_t number,
                         const union name_row *row)
{
    struct stored_lane lane = name_rows_lane(comparison->plan, number);
    return row->lane.number == number && slice_equal(row->lane.client, lane.client) &&
           slice_equal(row->lane.group, lane.group);
}

static bool is_same_commodity(const struct comparison *comparison, uint32_t number,
                              const union name_row *row)
{
    struct stored_commodity commodity = name_rows_commodity(comparison->plan, number);
    return row->commodity.number == number &&
           slice_equal(row->commodity.symbol, commodity.symbol) &&
           row->commodity.scale == commodity.scale &&
           row->commodity.storage_scale == commodity.storage_scale &&
           row->commodity.symbol_first == commodity.symbol_first &&
           row->commodity.spaced == commodity.spaced;
}

static bool is_same_account(const struct comparison *comparison, uint32_t number,
                            const union name_row *row)
{
    struct stored_account account = make_account_row(comparison->plan, comparison->lanes, number);
    return row->account.number == number && slice_equal(row->account.name, account.name) &&
           row->account.has_lane == account.has_lane &&
           (!account.has_lane || row->account.lane == account.lane);
}

static bool compare_rows(struct store *store, enum store_rows rows,
                         const struct comparison *comparison, row_comparer same,
                         struct problem *problem)
{
    union name_row row;
    uint32_t number = 0;
    bool fits = true;
    struct store_cursor *cursor = store_cursor_open(store, rows, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (fits && step == STORE_ROW) {
        step = store_cursor_next(cursor, &row, problem);
        if (step == STORE_ROW) {
            fits = number < comparison->count && same(comparison, number, &row);
            number++;
        }
    }
    store_cursor_close(cursor);
    if (step == STORE_FAILED) {
        return false;
    }
    return (fits && number == comparison->count) ||
           problem_set(problem, EXIT_CODE_IO,
                       "the database is damaged: its names do not belong to this input");
}

bool name_rows_check(struct store *store, const struct plan *plan, struct problem *problem)
{
    uint32_t *account_lanes = find_lanes(plan);
    struct comparison lanes = { plan, account_lanes, (size_t)plan_house_lane(plan) + 1 };
    struct comparison commodities = { plan, account_lanes, plan->book.commodity_names.count };
    struct comparison accounts = { plan, account_lanes, plan->book.account_names.count };
    bool same = compare_rows(store, STORE_LANES, &lanes, is_same_lane, problem) &&
                compare_rows(store, STORE_COMMODITIES, &commodities, is_same_commodity, problem) &&
                compare_rows(store, STORE_ACCOUNTS, &accounts, is_same_account, problem);
    free(account_lanes);
    return same;
}
