/*
 * Owns the output folder while outputs are written. The files are in a staging folder on the same
 * file system until all of them are durable. Then each is renamed, and replaces the file of an
 * earlier run. After a crash each file is whole, and the next run writes all of them again.
 */
#include "publish/publication.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memory.h"

#define STAGING_NAME ".ledgerbatch-new"

static bool set_system_problem(const char *path, struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_IO, "%s: %s", path, strerror(errno));
}

static char *join_path(const char *folder, const char *path)
{
    size_t size = strlen(folder) + strlen(path) + 2;
    char *joined = memory_zeroed(size, 1);
    snprintf(joined, size, "%s/%s", folder, path);
    return joined;
}

/* Makes the folders of a path. With `whole`, its last component is a folder, too. */
static bool make_folders(const char *path, bool whole, struct problem *problem)
{
    size_t size = strlen(path);
    char *prefix = memory_zeroed(size + 1, 1);
    bool made = true;
    for (size_t i = 1; made && i <= size; i++) {
        bool ends = path[i] == '/' || (path[i] == 0 && whole);
        if (ends) {
            memcpy(prefix, path, i);
            prefix[i] = 0;
            made =
                mkdir(prefix, 0777) == 0 || errno == EEXIST || set_system_problem(prefix, problem);
        }
    }
    free(prefix);
    return made;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status;
    (void)kind;
    (void)walk;
    return remove(path);
}

static bool remove_staging(const char *staging, struct problem *problem)
{
    struct stat status;
    if (lstat(staging, &status) != 0) {
        return errno == ENOENT || set_system_problem(staging, problem);
    }
    return nftw(staging, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0 ||
           set_system_problem(staging, problem);
}

bool publication_begin(struct publication *publication, const char *folder, struct problem *problem)
{
    *publication = (struct publication){ 0 };
    publication->folder = memory_zeroed(strlen(folder) + 1, 1);
    memcpy(publication->folder, folder, strlen(folder));
    publication->staging = join_path(folder, STAGING_NAME);
    return make_folders(folder, true, problem) && remove_staging(publication->staging, problem) &&
           make_folders(publication->staging, true, problem);
}

static void note_file(struct publication *publication, const char *path)
{
    publication->files = memory_grow(publication->files, &publication->capacity,
                                     publication->count + 1, sizeof *publication->files);
    publication->files[publication->count++] =
        (struct published_file){ .path = memory_copy_text(path) };
}

bool publication_open(struct publication *publication, struct publication_file *file,
                      const char *path, struct problem *problem)
{
    int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC;
    file->path = join_path(publication->staging, path);
    file->descriptor = open(file->path, flags, 0666);
    if (file->descriptor < 0 && errno == ENOENT) {
        if (!make_folders(file->path, false, problem)) {
            return false;
        }
        file->descriptor = open(file->path, flags, 0666);
    }
    if (file->descriptor < 0) {
        return set_system_problem(file->path, problem);
    }
    file->publication = publication;
    file->number = publication->count;
    sha256_init(&file->hash);
    note_file(publication, path);
    return true;
}

bool publication_append(struct publication_file *file, struct slice content,
                        struct problem *problem)
{
    sha256_update(&file->hash, content.data, content.size);
    while (content.size > 0) {
        ssize_t written = write(file->descriptor, content.data, content.size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return set_system_problem(file->path, problem);
        }
        content.data += written;
        content.size -= (size_t)written;
    }
    return true;
}

bool publication_close(struct publication_file *file, struct problem *problem)
{
    if (file->descriptor >= 0) {
        sha256_finish_text(&file->hash, file->publication->files[file->number].digest);
    }
    bool closed = file->descriptor < 0 || close(file->descriptor) == 0 ||
                  set_system_problem(file->path, problem);
    free(file->path);
    *file = (struct publication_file){ .descriptor = -1 };
    return closed;
}

bool publication_write(struct publication *publication, const char *path, struct slice content,
                       struct problem *problem)
{
    struct problem close_problem;
    struct publication_file file = { .descriptor = -1 };
    bool written = publication_open(publication, &file, path, problem) &&
                   publication_append(&file, content, problem);
    if (publication_close(&file, &close_problem)) {
        return written;
    }
    if (written) {
        *problem = close_problem;
    }
    return false;
}

/* Makes all files durable with one call, since fsync() for each of thousands would be slow. */
static bool sync_folder(const char *folder, struct problem *problem)
{
    int opened = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (opened < 0) {
        return set_system_problem(folder, problem);
    }
#ifdef __linux__
    bool synced = syncfs(opened) == 0 || set_system_problem(folder, problem);
#else
    sync();
    bool synced = true;
#endif
    close(opened);
    return synced;
}

static bool move_file(const struct publication *publication, const char *path,
                      struct problem *problem)
{
    char *from = join_path(publication->staging, path);
    char *to = join_path(publication->folder, path);
    bool moved = rename(from, to) == 0;
    if (!moved && errno == ENOENT) {
        moved = make_folders(to, false, problem) && rename(from, to) == 0;
    }
    moved = moved || set_system_problem(to, problem);
    free(from);
    free(to);
    return moved;
}

bool publication_finish(struct publication *publication, struct problem *problem)
{
    if (!sync_folder(publication->staging, problem)) {
        return false;
    }
    for (size_t i = 0; i < publication->count; i++) {
        if (!move_file(publication, publication->files[i].path, problem)) {
            return false;
        }
    }
    return remove_staging(publication->staging, problem) &&
           sync_folder(publication->folder, problem);
}

void published_files_free(struct published_file *files, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(files[i].path);
    }
    free(files);
}

void publication_fini(struct publication *publication)
{
    published_files_free(publication->files, publication->count);
    free(publication->folder);
    free(publication->staging);
    *publication = (struct publication){ 0 };
}
