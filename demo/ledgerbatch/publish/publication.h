/*
 * A set of output files that appear together: written aside, made durable, then
 * renamed into place.
 */
#ifndef LEDGERBATCH_PUBLISH_PUBLICATION_H
#define LEDGERBATCH_PUBLISH_PUBLICATION_H

#include "base/buffer.h"
#include "problem.h"

struct publication {
    char *folder;  /* where the files go */
    char *staging; /* where they are written first: a folder inside it */
    char **files;  /* relative paths, in the order of writing */
    size_t count, capacity;
};

/* A file that is being written piece by piece. */
struct publication_file {
    int descriptor; /* -1 when it is not open */
    char *path;
};

/* Makes the folders; what an interrupted run left in the staging folder is removed. */
bool publication_begin(struct publication *publication, const char *folder,
                       struct problem *problem);

/* Opens a file for writing. The path is relative; its folders are made. */
bool publication_open(struct publication *publication, struct publication_file *file,
                      const char *path, struct problem *problem);
bool publication_append(struct publication_file *file, struct slice content,
                        struct problem *problem);

/* Closes a file, if it is open. */
bool publication_close(struct publication_file *file, struct problem *problem);

/* Writes one file whole. */
bool publication_write(struct publication *publication, const char *path, struct slice content,
                       struct problem *problem);

/* Makes all files durable and moves them into place. */
bool publication_finish(struct publication *publication, struct problem *problem);

void publication_fini(struct publication *publication);

#endif
