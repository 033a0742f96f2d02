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
    bool is_file; /* its bytes were read from a file */
    char **texts; /* changed copies of some of its texts */
    size_t text_count, text_capacity;
};

struct sources {
    struct source **items;
    size_t count, capacity;
    struct source **kept; /* files of an earlier reading, in the order of reading */
    size_t kept_count, kept_next;
    char *include_root; /* a folder without links: included files are below it; NULL: anywhere */
};

/* A file is named by the user or by a file that includes it. The user can name a pipe, a device, or
 * "-". A file can include only a regular one, since the program would wait for a pipe, and read a
 * device for ever. */
enum source_namer { SOURCE_OF_USER, SOURCE_INCLUDED };

/* Lets files include only what is below this folder, links followed. */
bool sources_set_include_root(struct sources *sources, const char *folder, struct problem *problem);

/* Returns true if a path without links is below the include root, or there is none. */
bool sources_may_include(const struct sources *sources, const char *path);

/* Reads and accepts a file. Returns NULL, and sets the problem, if that fails. */
struct source *sources_read(struct sources *sources, const char *name, enum source_namer namer,
                            struct problem *problem);

/* Does the same, but takes a file that was read before sources_restart() as it was then. */
struct source *sources_read_once(struct sources *sources, const char *name, enum source_namer namer,
                                 struct problem *problem);

/* Removes all sources. Files that are read again keep their bytes and digests. */
void sources_restart(struct sources *sources);

/* Returns memory of a source for a changed copy of one of its texts. */
char *source_add_text(struct source *source, size_t size);

/* The two halves of sources_read(): adds a source without bytes; checks the bytes of a source. */
struct source *sources_add(struct sources *sources, const char *name);
bool sources_accept(struct source *source, struct problem *problem);

/* Returns true if a text is UTF-8. */
bool sources_is_utf8(struct slice text);

/* Waits until every digest is computed. */
void sources_finish_digests(struct sources *sources);

/* Frees the bytes of all sources. Texts that point into them must not be used any more. */
void sources_drop_bytes(struct sources *sources);

void sources_fini(struct sources *sources);

#endif
