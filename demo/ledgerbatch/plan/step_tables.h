/*
 * The tables that all calls of user's steps read: commodities and prices. And the house cells that
 * each step may post to.
 */
#ifndef LEDGERBATCH_PLAN_STEP_TABLES_H
#define LEDGERBATCH_PLAN_STEP_TABLES_H

#include "plan/clients.h"

/* The prices that hold at the end of a month. */
struct month_prices {
    struct ledgerbatch_price *items; /* by commodity, then by currency */
    size_t count;
};

struct step_tables {
    struct ledgerbatch_commodity
        *commodities; /* by number; or NULL, if there are no user's steps */
    uint32_t first_month;
    struct month_prices *prices; /* by month, from first_month on */
    size_t month_count;
};

/* Returns the commodities of a book, by number. The caller frees them. */
struct ledgerbatch_commodity *step_tables_commodities(const struct book *book);

/*
 * Makes the tables, if there are user's steps, for the months from first to end - 1. It is a
 * problem if a step can have more postings than there are numbers.
 */
bool step_tables_make(struct step_tables *tables, const struct book *book,
                      const struct clients *clients, struct rules *rules, uint32_t first_month,
                      uint32_t end_month, struct problem *problem);
void step_tables_fini(struct step_tables *tables);

/* Returns the prices of a month. */
const struct month_prices *step_tables_prices(const struct step_tables *tables, uint32_t month);

#endif
