/*
 * Changes of ledgerbatch's database in memory that a fuzzer chooses. Each goes on until the choices
 * are used up.
 */
#ifndef TESTS_FUZZ_DATABASE_CHANGES_H
#define TESTS_FUZZ_DATABASE_CHANGES_H

#include "base/buffer.h"
#include "property/choices.h"

/* Changes cells, columns and rows of the open database. */
void database_change_values(struct choices *choices);

/* Changes bytes of a file. */
void database_change_bytes(struct buffer *bytes, struct choices *choices);

/* Replaces each table by one with the same columns that takes any value. */
void database_loosen(void);

#endif
