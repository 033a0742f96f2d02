/*
 * The input files, each in memory as a whole. The texts in a book are slices of their bytes.
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
    char *name; /* as the user gave it; "-" is standard input */
    char *data;
    size_t size;
    dev_t device; /* identify the file, to find one that includes itself */
    ino_t inode;
    uint8_t digest[SHA256_SIZE];
    pthread_t hasher; /* if `hashing`: computes the digest while the file is parsed */
    bool hashing;
};

struct sources {
    struct source **items;
    size_t count, capacity;
};

/* Who named a file. The user can name a pipe, a device, or "-". A file can include only a regular
 * one, since the program would wait for a pipe, and read a device for ever. */
enum source_namer { SOURCE_OF_USER, SOURCE_INCLUDED };

/* Reads and accepts a file. Returns NULL, and sets the problem, if that fails. */
struct source *sources_read(struct sources *sources, const char *name, enum source_namer namer,
                            struct problem *problem);

/* The two halves of sources_read(): adds a source without bytes; checks the bytes of a source. */
struct source *sources_add(struct sources *sources, const char *name);
bool sources_accept(struct source *source, struct problem *problem);

/* Waits until every digest is computed. */
void sources_finish_digests(struct sources *sources);

void sources_fini(struct sources *sources);

#endif
