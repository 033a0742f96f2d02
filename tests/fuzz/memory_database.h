/*
 * A database of SQLite in memory. As long as it is open, each program part that opens
 * MEMORY_DATABASE_NAME reads and writes it: SQLite's file system `memdb` becomes the default one.
 */
#ifndef TESTS_FUZZ_MEMORY_DATABASE_H
#define TESTS_FUZZ_MEMORY_DATABASE_H

#include "base/buffer.h"

#define MEMORY_DATABASE_NAME "/database"

struct sqlite3_file;

/* Opens the database with these bytes; they are copied. */
struct sqlite3_file *memory_database_open(struct slice bytes);

/* Replaces the content of a buffer by the database's bytes. */
void memory_database_read(struct sqlite3_file *database, struct buffer *bytes);

/* Frees the database. Nothing else may have it open. */
void memory_database_close(struct sqlite3_file *database);

/* Runs SQL without parameters and results on the open database, which must be good. */
void memory_database_execute(const char *text);

#endif
