/*
 * Owns the bytes of the input. For each large file a thread computes the digest while the parser
 * reads the same bytes; neither changes them.
 */
#include "book/sources.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* A smaller file is hashed by the reading thread: starting another would cost more. */
#define HASH_THREAD_SIZE ((size_t)1 << 18)

static void hash_source(struct source *source)
{
    struct sha256 hash;
    sha256_init(&hash);
    sha256_update(&hash, source->data, source->size);
    sha256_finish(&hash, source->digest);
}

static void *hasher_main(void *argument)
{
    hash_source(argument);
    return NULL;
}

static void start_digest(struct source *source)
{
    if (source->size >= HASH_THREAD_SIZE) {
        source->hashing = pthread_create(&source->hasher, NULL, hasher_main, source) == 0;
    }
    if (!source->hashing) {
        hash_source(source);
    }
}

/* Refuses text that is not UTF-8, as ledger and hledger do. */
static bool check_utf8(const struct source *source, struct problem *problem)
{
    const unsigned char *text = (const unsigned char *)source->data;
    size_t size = source->size;
    size_t line = 1;
    for (size_t at = 0; at < size;) {
        uint64_t word;
        if (size - at >= 8) {
            memcpy(&word, text + at, 8);
            if ((word & 0x8080808080808080u) == 0) {
                at += 8;
                continue;
            }
        }
        unsigned char c = text[at];
        size_t more = c < 0x80                ? 0
                      : c >= 0xc2 && c < 0xe0 ? 1
                      : c >= 0xe0 && c < 0xf0 ? 2
                      : c >= 0xf0 && c < 0xf5 ? 3
                                              : 4;
        bool good = more < 4 && size - at > more;
        for (size_t i = 1; good && i <= more; i++) {
            good = (text[at + i] & 0xc0) == 0x80;
        }
        if (!good) {
            for (size_t i = 0; i < at; i++) {
                line += text[i] == '\n';
            }
            return problem_set_place(problem, "%s:%lu: this is not UTF-8 text", source->name, line);
        }
        at += more + 1;
    }
    return true;
}

struct source *sources_add(struct sources *sources, const char *name)
{
    struct source *source = memory_zeroed(1, sizeof *source);
    sources->items =
        memory_grow(sources->items, &sources->capacity, sources->count + 1, sizeof *sources->items);
    sources->items[sources->count++] = source;
    size_t length = strlen(name) + 1;
    source->name = memory_zeroed(length, 1);
    memcpy(source->name, name, length);
    return source;
}

bool sources_accept(struct source *source, struct problem *problem)
{
    if (source->size >= 3 && memcmp(source->data, "\xef\xbb\xbf", 3) == 0) {
        return problem_set_place(problem, "%s:1: a byte-order mark is not in the portable subset",
                                 source->name);
    }
    if (!check_utf8(source, problem)) {
        return false;
    }
    start_digest(source);
    return true;
}

void sources_finish_digests(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = sources->items[i];
        if (source->hashing) {
            pthread_join(source->hasher, NULL);
            source->hashing = false;
        }
    }
}

void sources_fini(struct sources *sources)
{
    sources_finish_digests(sources);
    for (size_t i = 0; i < sources->count; i++) {
        free(sources->items[i]->name);
        free(sources->items[i]->data);
        free(sources->items[i]);
    }
    free(sources->items);
    *sources = (struct sources){ 0 };
}
