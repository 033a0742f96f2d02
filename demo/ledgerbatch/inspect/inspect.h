/*
 * The commands that only read a database: balances and status.
 */
#ifndef LEDGERBATCH_INSPECT_INSPECT_H
#define LEDGERBATCH_INSPECT_INSPECT_H

#include "problem.h"

bool inspect_balances(const char *database, struct problem *problem);
bool inspect_status(const char *database, struct problem *problem);

#endif
