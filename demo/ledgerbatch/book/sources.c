/*
 * Owns the bytes of the input. For each large file a thread computes the digest while the parser
 * reads the same bytes; neither changes them.
 */
#include "book/sources.h"

#include <errno.h>
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

/* Returns the place of the first byte that is not UTF-8, or the size. */
static size_t find_no_utf8(const char *data, size_t size)
{
    const unsigned char *text = (const unsigned char *)data;
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
            return at;
        }
        at += more + 1;
    }
    return size;
}

bool sources_is_utf8(struct slice text)
{
    return find_no_utf8(text.data, text.size) == text.size;
}

/* Refuses text that is not UTF-8, as ledger and hledger do. */
static bool check_utf8(const struct source *source, struct problem *problem)
{
    size_t wrong = find_no_utf8(source->data, source->size);
    size_t line = 1;
    if (wrong == source->size) {
        return true;
    }
    for (size_t i = 0; i < wrong; i++) {
        line += source->data[i] == '\n';
    }
    return problem_set_place(problem, "%s:%lu: this is not UTF-8 text", source->name, line);
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

char *source_add_text(struct source *source, size_t size)
{
    source->texts = memory_grow(source->texts, &source->text_capacity, source->text_count + 1,
                                sizeof *source->texts);
    source->texts[source->text_count] = memory_zeroed(size, 1);
    return source->texts[source->text_count++];
}

static void free_texts(struct source *source)
{
    for (size_t i = 0; i < source->text_count; i++) {
        free(source->texts[i]);
    }
    source->text_count = 0;
}

static void free_source(struct source *source)
{
    free_texts(source);
    free(source->texts);
    free(source->name);
    free(source->data);
    free(source);
}

/* Frees the files of an earlier reading that were not read again. */
static void free_kept(struct sources *sources)
{
    for (size_t i = sources->kept_next; i < sources->kept_count; i++) {
        free_source(sources->kept[i]);
    }
    free(sources->kept);
    sources->kept = NULL;
    sources->kept_count = 0;
    sources->kept_next = 0;
}

struct source *sources_read_once(struct sources *sources, const char *name, enum source_namer namer,
                                 struct problem *problem)
{
    if (sources->kept_next == sources->kept_count) {
        struct source *source = sources_read(sources, name, namer, problem);
        if (source) {
            source->is_file = true;
        }
        return source;
    }
    struct source *source = sources->kept[sources->kept_next++];
    sources->items =
        memory_grow(sources->items, &sources->capacity, sources->count + 1, sizeof *sources->items);
    sources->items[sources->count++] = source;
    return source;
}

void sources_restart(struct sources *sources)
{
    sources_finish_digests(sources);
    free_kept(sources);
    sources->kept = memory_zeroed(sources->count, sizeof *sources->kept);
    for (size_t i = 0; i < sources->count; i++) {
        struct source *source = sources->items[i];
        free_texts(source);
        if (source->is_file) {
            sources->kept[sources->kept_count++] = source;
        } else {
            free_source(source);
        }
    }
    sources->count = 0;
}

void sources_drop_bytes(struct sources *sources)
{
    sources_finish_digests(sources);
    for (size_t i = 0; i < sources->count; i++) {
        free_texts(sources->items[i]);
        free(sources->items[i]->data);
        sources->items[i]->data = NULL;
    }
}

bool sources_set_include_root(struct sources *sources, const char *folder, struct problem *problem)
{
    sources->include_root = realpath(folder, NULL);
    return sources->include_root ||
           problem_set(problem, EXIT_CODE_INPUT, "--include-root %s: %s", folder, strerror(errno));
}

bool sources_may_include(const struct sources *sources, const char *path)
{
    const char *root = sources->include_root;
    size_t size = root && strcmp(root, "/") != 0 ? strlen(root) : 0;
    return size == 0 || (strncmp(path, root, size) == 0 && path[size] == '/');
}

void sources_fini(struct sources *sources)
{
    sources_finish_digests(sources);
    free_kept(sources);
    for (size_t i = 0; i < sources->count; i++) {
        free_source(sources->items[i]);
    }
    free(sources->items);
    free(sources->include_root);
    *sources = (struct sources){ 0 };
}
