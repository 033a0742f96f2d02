/* Owns the rows about user's steps and prices; see commit/step_rows.h. */
#include "commit/step_rows.h"

static bool is_same_pair(const struct market_price *a, const struct market_price *b)
{
    return a->commodity == b->commodity && a->price.commodity == b->price.commodity;
}

/*
 * Puts the prices of the book, which include those of earlier batches. Left out is a price that a
 * later one for the same commodities replaces: at the same date, or at one before this batch. So an
 * ordinary day has as many rows as there are pairs of commodities.
 */
static bool put_prices(struct store *store, const struct plan *plan, struct problem *problem)
{
    const struct book *book = &plan->book;
    bool put = store_clear_prices(store, problem);
    for (size_t i = 0; put && i < book->price_count; i++) {
        const struct market_price *price = &book->prices[i];
        const struct market_price *next = price + 1;
        bool is_replaced = i + 1 < book->price_count && is_same_pair(price, next) &&
                           (next->date == price->date || next->date <= plan->opening.last_day);
        struct stored_price row = { price->commodity, price->price.commodity, price->date,
                                    price->price.units, price->price.scale };
        put = is_replaced || store_put_price(store, &row, problem);
    }
    return put;
}

bool step_rows_put(struct store *store, const struct plan *plan, uint32_t batch,
                   struct problem *problem)
{
    const struct month_end_steps *steps = &plan->rules.steps;
    bool put = put_prices(store, plan, problem);
    for (size_t i = 0; put && i < steps->count; i++) {
        const struct user_step *user = steps->items[i].user;
        if (user) {
            struct stored_step row = { batch, (uint32_t)i + 1, slice_of(user->name),
                                       slice_of(user->object.digest) };
            put = store_put_step(store, &row, problem);
        }
    }
    return put;
}

/* Returns the step of the plan with this name; NULL if there is none. */
static const struct user_step *find_step(const struct plan *plan, struct slice name)
{
    const struct user_step *found = NULL;
    for (size_t i = 0; !found && i < plan->rules.steps.count; i++) {
        const struct user_step *user = plan->rules.steps.items[i].user;
        found = user && slice_equal(slice_of(user->name), name) ? user : NULL;
    }
    return found;
}

bool step_rows_check(struct store *store, const struct plan *plan, uint32_t batch,
                     const char *database, struct problem *problem)
{
    struct stored_step row;
    struct store_cursor *cursor = store_cursor_open(store, STORE_STEPS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &row, problem);
        const struct user_step *user =
            step == STORE_ROW && row.batch == batch ? find_step(plan, row.name) : NULL;
        if (user && !slice_equal(row.digest, slice_of(user->object.digest))) {
            problem_set(problem, EXIT_CODE_OTHER,
                        "%s: was begun with another object of the step %s: with that of SHA-256 "
                        "%.*s, and %s has %s",
                        database, user->name, SLICE_ARGUMENTS(row.digest), user->path,
                        user->object.digest);
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}
