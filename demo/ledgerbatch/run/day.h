/*
 * The place of a day in the database: a new one, or the last one again.
 */
#ifndef LEDGERBATCH_RUN_DAY_H
#define LEDGERBATCH_RUN_DAY_H

#include "plan/opening.h"
#include "store/store.h"

/*
 * Finds out whether a day is new, or the last one in the store, and loads what it begins with. A
 * day is new if it is later than the last one, which has ended. `store` is NULL if there is no
 * database. Restricts the store to the day.
 */
bool day_open(struct opening *opening, struct store *store, const struct store_facts *last,
              uint32_t date, struct opening_requests *requests, struct problem *problem);

#endif
