/*
 * The page docs/orders.md, which has a row for each part of each order of the protocols:
 *
 *     ## `src/lane/lane.c`
 *
 *     | `function` | `operation(object)` | part | what breaks | finder |
 *
 * Names are without `lanepool_i_`. The finder is a litmus program or `workloads`, in backquotes; or
 * "kept", if no run fails without this order. Then the text of the page says why it stays.
 */
#ifndef TESTS_SIMULATOR_ORDERS_PAGE_H
#define TESTS_SIMULATOR_ORDERS_PAGE_H

#include <stdbool.h>

enum { ORDERS_ROWS_MAX = 512 };

struct orders_row {
    char key[320]; /* file, function, operation and part */
    char finder[64];
    bool used;
};

struct orders_page {
    struct orders_row rows[ORDERS_ROWS_MAX];
    unsigned count;
};

/* Ends the program if the page cannot be read. */
void orders_page_read(struct orders_page *page, const char *path);
/* Returns the row with this key, or NULL. */
struct orders_row *orders_page_find(struct orders_page *page, const char *key);

#endif
