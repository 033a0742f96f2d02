/*
 * The clients of a book, their groups and their cells.
 *
 * Clients are numbered in the order of their names. The cells of a client have consecutive numbers,
 * by account and commodity; those of house accounts are last. So the numbers depend on the input
 * only.
 */
#ifndef LEDGERBATCH_PLAN_CLIENTS_H
#define LEDGERBATCH_PLAN_CLIENTS_H

#include "book/book.h"
#include "plan/accounts.h"
#include "plan/rules.h"

struct opening;

struct client_cell {
    uint32_t account, commodity;
    uint32_t client; /* NO_INDEX: of a house account */
    uint8_t flags;   /* of its account */
};

/* The cells that a month-end step posts to. */
struct step_cells {
    uint32_t
        *targets; /* by cell: the cell that gets the opposite amount, of the client or of the
                     house; NO_INDEX: the step is not about the cell. NULL if it posts nothing */
};

struct client {
    struct slice name;
    uint32_t group;
    uint32_t first_cell, cell_count;
    uint32_t group_cell; /* the number of its first cell among the cells of its group */
};

struct group {
    struct slice name;
    uint32_t first_member, member_count; /* in `members` */
};

struct clients {
    struct client *items;
    struct group *groups; /* by name */
    uint32_t *members;    /* client numbers, in order within each group */
    struct client_cell *cells;
    struct step_cells *steps; /* by month-end step */
    size_t count, group_count, cell_count, step_count;
    struct names names; /* owns the names of clients and groups */
};

/*
 * Finds the clients of a checked book, adds the accounts that month-end rollups post to, and
 * renumbers the cells of all postings. Clients of the opening (NULL: there is none) keep their
 * groups.
 */
bool clients_find(struct clients *clients, struct book *book, const struct rules *rules,
                  const struct opening *opening, struct problem *problem);

void clients_fini(struct clients *clients);

#endif
