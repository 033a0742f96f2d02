/* Owns the comparison of a folder with the output files that the store knows. */
#include "inspect/verify_outputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/names.h"
#include "base/syntax.h"
#include "memory.h"

#define READ_SIZE 65536

struct comparison {
    const char *folder;
    struct names known; /* paths below the folder */
    struct buffer path; /* of the file at hand, with a zero byte behind */
    size_t differing;   /* how many files differ */
    struct problem *problem;
};

/* Notes a file that differs. The problem names the first one. */
static void note(struct comparison *comparison, const char *path, const char *what)
{
    if (comparison->differing++ == 0) {
        problem_set(comparison->problem, EXIT_CODE_OTHER, "%s: %s", path, what);
    }
}

static void set_path(struct buffer *path, const char *folder, struct slice name)
{
    path->size = 0;
    buffer_add_text(path, folder);
    buffer_add_byte(path, '/');
    buffer_add(path, name);
    buffer_add_byte(path, 0);
}

/* --- the files that the store knows --- */

/* Hashes a file. Returns false, with errno, if it cannot be read. */
static bool hash_file(const char *path, char digest[SHA256_TEXT_SIZE])
{
    static char bytes[READ_SIZE];
    struct sha256 hash;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    ssize_t size = file < 0 ? -1 : 1;
    sha256_init(&hash);
    while (size > 0) {
        size = read(file, bytes, sizeof bytes);
        if (size > 0) {
            sha256_update(&hash, bytes, (size_t)size);
        }
    }
    if (file >= 0) {
        int reason = errno;
        close(file);
        errno = reason;
    }
    sha256_finish_text(&hash, digest);
    return size == 0;
}

static void compare_file(struct comparison *comparison, const struct stored_output *output)
{
    char digest[SHA256_TEXT_SIZE];
    struct buffer name = { 0 };
    if (output->date != 0) {
        date_write(buffer_room(&name, DATE_SIZE), output->date);
        name.size += DATE_SIZE;
        buffer_add_byte(&name, '/');
    }
    buffer_add(&name, output->path);
    names_intern(&comparison->known, buffer_slice(&name));
    set_path(&comparison->path, comparison->folder, buffer_slice(&name));
    if (!hash_file(comparison->path.data, digest)) {
        note(comparison, comparison->path.data, errno == ENOENT ? "is missing" : strerror(errno));
    } else if (!slice_equal(output->digest, slice_of(digest))) {
        note(comparison, comparison->path.data, "has changed since it was written");
    }
    buffer_fini(&name);
}

static bool compare_files(struct comparison *comparison, struct store *store)
{
    struct stored_output output;
    struct store_cursor *cursor = store_cursor_open(store, STORE_OUTPUTS, comparison->problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &output, comparison->problem);
        if (step == STORE_ROW) {
            compare_file(comparison, &output);
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

/* --- the files that are there --- */

static bool walk(struct comparison *comparison, const char *folder, const char *below);

/* Looks at one entry of a folder. `below` is the folder's path below the first one. */
static bool look_at(struct comparison *comparison, const char *folder, const char *below,
                    const char *name)
{
    struct stat status;
    struct buffer path = { 0 };
    struct buffer inner = { 0 };
    bool good = true;
    set_path(&path, folder, slice_of(name));
    buffer_add_text(&inner, below);
    buffer_add_text(&inner, name);
    if (lstat(path.data, &status) != 0) {
        good = problem_set(comparison->problem, EXIT_CODE_IO, "%s: %s", path.data, strerror(errno));
    } else if (S_ISDIR(status.st_mode)) {
        buffer_add_text(&inner, "/");
        buffer_add_byte(&inner, 0);
        good = walk(comparison, path.data, inner.data);
    } else if (names_find(&comparison->known, buffer_slice(&inner)) == NAME_NONE) {
        note(comparison, path.data, "is no output of this database");
    }
    buffer_fini(&path);
    buffer_fini(&inner);
    return good;
}

static bool walk(struct comparison *comparison, const char *folder, const char *below)
{
    DIR *opened = opendir(folder);
    const struct dirent *entry;
    bool good = opened != NULL ||
                problem_set(comparison->problem, EXIT_CODE_IO, "%s: %s", folder, strerror(errno));
    while (good && (entry = readdir(opened)) != NULL) {
        good = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
               look_at(comparison, folder, below, entry->d_name);
    }
    if (opened) {
        closedir(opened);
    }
    return good;
}

bool verify_outputs(struct store *store, const char *folder, size_t *count, struct problem *problem)
{
    struct comparison comparison = { .folder = folder, .problem = problem };
    bool good = compare_files(&comparison, store) && walk(&comparison, folder, "");
    *count = comparison.known.count;
    if (good && comparison.differing > 1) {
        struct problem first = *problem;
        problem_set(problem, EXIT_CODE_OTHER, "%.900s; %zu files differ in all", first.text,
                    comparison.differing);
    }
    names_fini(&comparison.known);
    buffer_fini(&comparison.path);
    return good && comparison.differing == 0;
}
