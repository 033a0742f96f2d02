/* Owns the reading of input files into memory. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "book/sources.h"
#include "memory.h"

/* Line numbers and offsets in a source have 32 bits. */
#define SOURCE_SIZE_MAX ((size_t)UINT32_MAX)

static bool read_all(struct source *source, int file, enum source_namer namer,
                     struct problem *problem)
{
    struct stat status;
    size_t capacity = 0;
    if (fstat(file, &status) != 0) {
        return problem_set(problem, EXIT_CODE_IO, "%s: %s", source->name, strerror(errno));
    }
    if (S_ISDIR(status.st_mode)) {
        return problem_set(problem, EXIT_CODE_IO, "%s: is a directory", source->name);
    }
    if (namer == SOURCE_INCLUDED && !S_ISREG(status.st_mode)) {
        return problem_set(problem, EXIT_CODE_IO, "%s: is not a regular file", source->name);
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

/* Checks that the file may be included. The input is not trusted. The file system
 * is: its links do not change during the check. */
static bool check_include_root(const struct sources *sources, const char *name,
                               struct problem *problem)
{
    if (!sources->include_root) {
        return true;
    }
    char *path = realpath(name, NULL);
    bool may = !path || sources_may_include(sources, path); /* the reading says why there is none */
    free(path);
    return may || problem_set(problem, EXIT_CODE_IO, "%s: is not below %s (--include-root)", name,
                              sources->include_root);
}

static bool load_source(struct source *source, enum source_namer namer, struct problem *problem)
{
    bool is_standard_input = strcmp(source->name, "-") == 0;
    int flags = O_RDONLY | O_CLOEXEC | (namer == SOURCE_INCLUDED ? O_NONBLOCK : 0);
    int file = is_standard_input ? STDIN_FILENO : open(source->name, flags);
    if (file < 0) {
        return problem_set(problem, EXIT_CODE_IO, "%s: %s", source->name, strerror(errno));
    }
    bool loaded = read_all(source, file, namer, problem);
    if (!is_standard_input) {
        close(file);
    }
    return loaded;
}

struct source *sources_read(struct sources *sources, const char *name, enum source_namer namer,
                            struct problem *problem)
{
    if (namer == SOURCE_INCLUDED && !check_include_root(sources, name, problem)) {
        return NULL;
    }
    struct source *source = sources_add(sources, name);
    return load_source(source, namer, problem) && sources_accept(source, problem) ? source : NULL;
}
