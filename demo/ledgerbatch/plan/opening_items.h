/*
 * The transactions of a day that come from earlier ones: deferred ones, and reversals.
 */
#ifndef LEDGERBATCH_PLAN_OPENING_ITEMS_H
#define LEDGERBATCH_PLAN_OPENING_ITEMS_H

#include "plan/opening.h"

/* Loads the items that the requests are about; names are loaded before. Sorts the requests. */
bool opening_items_load(struct opening *opening, struct store *store,
                        struct opening_requests *requests, struct problem *problem);

#endif
