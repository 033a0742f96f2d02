/*
 * The input files, whole in memory: everything that is read from them later is
 * a slice of their bytes.
 */
#ifndef LEDGERBATCH_BOOK_SOURCES_H
#define LEDGERBATCH_BOOK_SOURCES_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sha256.h"
#include "base/slice.h"
#include "problem.h"

struct source {
    char *name; /* as the user named it; "-" is standard input */
    char *data;
    size_t size;
    dev_t device; /* which file it is, to notice a file that includes itself */
    ino_t inode;
    uint8_t digest[SHA256_SIZE];
    pthread_t hasher; /* computes the digest beside the parser when `hashing` */
    bool hashing;
};

struct sources {
    struct source **items;
    size_t count, capacity;
};

/* Reads a file; NULL, with the reason in problem, when that fails. See book/sources_file.c. */
struct source *sources_read(struct sources *sources, const char *name, struct problem *problem);

/* The two halves of reading: a source without bytes; the check of its bytes, once they are there.
 */
struct source *sources_add(struct sources *sources, const char *name);
bool sources_accept(struct source *source, struct problem *problem);

/* Waits until every digest is there. */
void sources_finish_digests(struct sources *sources);

void sources_fini(struct sources *sources);

#endif
