/*
 * A set of output files: they are written into a staging folder, made durable, and then renamed to
 * their places.
 */
#ifndef LEDGERBATCH_PUBLISH_PUBLICATION_H
#define LEDGERBATCH_PUBLISH_PUBLICATION_H

#include "base/buffer.h"
#include "base/sha256.h"
#include "problem.h"

/* A file that is written. */
struct published_file {
    char *path; /* relative */
    char digest[SHA256_TEXT_SIZE];
};

struct publication {
    char *folder;                 /* the folder of the outputs */
    char *staging;                /* the staging folder, inside the folder */
    struct published_file *files; /* in the order of writing */
    size_t count, capacity;
};

/* A file that is written piece by piece. */
struct publication_file {
    int descriptor; /* -1 when it is not open */
    char *path;
    struct publication *publication;
    size_t number; /* in the publication */
    struct sha256 hash;
};

/* Makes the folders. Removes the files that an interrupted run has left in the staging folder. */
bool publication_begin(struct publication *publication, const char *folder,
                       struct problem *problem);

/* Opens a file for writing, and makes its folders. The path is relative. */
bool publication_open(struct publication *publication, struct publication_file *file,
                      const char *path, struct problem *problem);
bool publication_append(struct publication_file *file, struct slice content,
                        struct problem *problem);

/* Closes a file, if it is open. */
bool publication_close(struct publication_file *file, struct problem *problem);

/* Writes a whole file. */
bool publication_write(struct publication *publication, const char *path, struct slice content,
                       struct problem *problem);

/* Makes all files durable and moves them to their places. */
bool publication_finish(struct publication *publication, struct problem *problem);

/* Frees a list of files. */
void published_files_free(struct published_file *files, size_t count);

void publication_fini(struct publication *publication);

#endif
