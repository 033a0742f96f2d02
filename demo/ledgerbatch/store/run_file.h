/*
 * The file FILE-run beside a database FILE: the program that posts into it has a lock on it, so
 * that no second one does. The file says how far that program is. Other programs read it without a
 * lock. The system drops the lock when the program ends, however that is. The file then stays if
 * the program was killed.
 */
#ifndef LEDGERBATCH_STORE_RUN_FILE_H
#define LEDGERBATCH_STORE_RUN_FILE_H

#include "store/store.h"

struct run_file {
    char *path;
    int descriptor; /* -1: this program has no lock */
    struct store_activity activity;
};

/* Names the file of a database, and opens nothing. */
void run_file_init(struct run_file *file, const char *database);

/* Reads what another program says, if one posts, or did and was killed. */
struct store_activity run_file_read(const struct run_file *file);

/* Makes the file and takes the lock. It is a problem if another program has the lock. */
bool run_file_take(struct run_file *file, const char *database, struct problem *problem);

/* Tells other programs that this one begins, and how many tasks are done. Always returns true. */
bool run_file_begin(struct run_file *file, uint32_t done_before);

/* Tells other programs of a commit, if this program has the lock. */
void run_file_note_commit(struct run_file *file);

/* Removes the file and drops the lock, if this program has it. Frees the path. */
void run_file_fini(struct run_file *file);

#endif
