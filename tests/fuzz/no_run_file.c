/* Owns the stand-in for the run file: a database in memory has none. */
#include "store/run_file.h"

void run_file_init(struct run_file *file, const char *database)
{
    (void)database;
    *file = (struct run_file){ .descriptor = -1 };
}

struct store_activity run_file_read(const struct run_file *file)
{
    return file->activity;
}

bool run_file_take(struct run_file *file, const char *database, struct problem *problem)
{
    (void)file;
    (void)database;
    (void)problem;
    return true;
}

bool run_file_begin(struct run_file *file, uint32_t done_before)
{
    file->activity.done_before = done_before;
    return true;
}

void run_file_note_commit(struct run_file *file)
{
    (void)file;
}

void run_file_fini(struct run_file *file)
{
    (void)file;
}
