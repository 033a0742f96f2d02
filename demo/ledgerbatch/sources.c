/*
 * Owns the bytes of the input. Large files are hashed by a thread of their own
 * while the parser reads the same, unchanging bytes.
 */
#include "sources.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

/* Smaller files are hashed at once: a thread would cost more. */
#define HASH_APART_SIZE ((size_t)1 << 18)
/* A line number and an offset into a source must fit 32 bits. */
#define SOURCE_SIZE_MAX ((size_t)UINT32_MAX)

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
    if (source->size >= HASH_APART_SIZE) {
        source->hashing = pthread_create(&source->hasher, NULL, hasher_main, source) == 0;
    }
    if (!source->hashing) {
        hash_source(source);
    }
}

static bool read_all(struct source *source, int file, struct problem *problem)
{
    struct stat status;
    size_t capacity = 0;
    if (fstat(file, &status) != 0) {
        return problem_set(problem, EXIT_CODE_IO, "%s: %s", source->name, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return problem_set(problem, EXIT_CODE_IO, "%s: is a directory", source->name);
    }
    source->device = status.st_dev;
    source->inode = status.st_ino;
    size_t expected = S_ISREG(status.st_mode) ? (size_t)status.st_size : 1 << 16;
    source->data = memory_grow(NULL, &capacity, expected + 1, 1);
    for (;;) {
        if (source->size == capacity) {
            source->data = memory_grow(source->data, &capacity, capacity + 1, 1);
        }
        ssize_t got = read(file, source->data + source->size, capacity - source->size);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return problem_set(problem, EXIT_CODE_IO, "%s: %s", source->name, strerror(errno));
        }
        if (got == 0) {
            break;
        }
        source->size += (size_t)got;
        if (source->size > SOURCE_SIZE_MAX) {
            return problem_set(problem, EXIT_CODE_INPUT,
                               "%s: larger than 4 GiB; split it and name the parts in order",
                               source->name);
        }
    }
    return true;
}

/* Both programs that share this format refuse a file that is not UTF-8. */
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
            return problem_set_place(problem, source->name, line, "this is not UTF-8 text");
        }
        at += more + 1;
    }
    return true;
}

static bool load(struct source *source, struct problem *problem)
{
    bool is_standard_input = strcmp(source->name, "-") == 0;
    int file = is_standard_input ? STDIN_FILENO : open(source->name, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return problem_set(problem, EXIT_CODE_IO, "%s: %s", source->name, strerror(errno));
    }
    bool loaded = read_all(source, file, problem);
    if (!is_standard_input) {
        close(file);
    }
    if (!loaded) {
        return false;
    }
    if (source->size >= 3 && memcmp(source->data, "\xef\xbb\xbf", 3) == 0) {
        return problem_set_place(problem, source->name, 1,
                                 "a byte-order mark is not in the portable subset");
    }
    return check_utf8(source, problem);
}

struct source *sources_read(struct sources *sources, const char *name, struct problem *problem)
{
    struct source *source = memory_zeroed(1, sizeof *source);
    sources->items =
        memory_grow(sources->items, &sources->capacity, sources->count + 1, sizeof *sources->items);
    sources->items[sources->count++] = source;
    size_t length = strlen(name) + 1;
    source->name = memory_zeroed(length, 1);
    memcpy(source->name, name, length);
    if (!load(source, problem)) {
        return NULL;
    }
    start_digest(source);
    return source;
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
