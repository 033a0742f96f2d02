/*
 * Checks that the steps of a rules file are about something in the books: their patterns, groups
 * and commodities. A pattern without a match has a typing error, or belongs to other books.
 */
#ifndef LEDGERBATCH_PLAN_STEP_CHECK_H
#define LEDGERBATCH_PLAN_STEP_CHECK_H

#include "plan/clients.h"

/*
 * Also finds the amounts of the steps as the book has them. The book gets a fault for each step
 * that has one.
 */
bool step_check(struct rules *rules, struct book *book, const struct clients *clients,
                struct problem *problem);

#endif
