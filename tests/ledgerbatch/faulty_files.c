/*
 * Lets operations on files go wrong: a library for LD_PRELOAD. It counts the operations on files
 * below one folder, and does what it is told to the n-th of them. The environment says:
 *
 *     FAULTY_UNDER   the folder
 *     FAULTY_AT      n, from 1; without it operations are only counted
 *     FAULTY_KIND    once: it fails; on: it and all after it fail; kill: the process is killed
 *                    before it; torn: it is killed when half of a write is done
 *     FAULTY_ERROR   the errno of a failure; with "short", a write of half the bytes comes first
 *     FAULTY_REPORT  a file that gets a line "NUMBER OPERATION PATH" for each operation
 *
 * It stands where the program meets the C library, so that SQLite and the program's own outputs
 * both see it, and neither knows.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 1024

static struct {
    char under[PATH_MAX];
    long at;
    bool lasts, kills, tears, is_short;
    int error;
    int report;
} told;

/* Guarded by the mutex. A descriptor's path is NULL if it is not below the folder. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *paths[DESCRIPTORS_MAX];
static long operation_count;

enum fate { GOES_WELL, FAILS, FAILS_HALF_WAY, KILLED_HALF_WAY };

static const char *text_of(const char *variable)
{
    const char *text = getenv(variable);
    return text ? text : "";
}

__attribute__((constructor)) static void read_environment(void)
{
    const char *kind = text_of("FAULTY_KIND");
    const char *error = text_of("FAULTY_ERROR");
    const char *report = text_of("FAULTY_REPORT");
    snprintf(told.under, sizeof told.under, "%s/", text_of("FAULTY_UNDER"));
    told.at = atol(text_of("FAULTY_AT"));
    told.lasts = strcmp(kind, "on") == 0;
    told.tears = strcmp(kind, "torn") == 0;
    told.kills = told.tears || strcmp(kind, "kill") == 0;
    told.is_short = strncmp(error, "short", 5) == 0;
    told.error = strcmp(error, "EIO") == 0 ? EIO : ENOSPC;
    told.report = *report ? open(report, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
}

static bool is_below(const char *path)
{
    return told.under[1] != 0 && strncmp(path, told.under, strlen(told.under)) == 0;
}

static void report_operation(const char *operation, const char *path)
{
    char line[PATH_MAX + 64];
    int size = snprintf(line, sizeof line, "%ld %s %s\n", operation_count, operation,
                        path + strlen(told.under));
    if (told.report >= 0 && size > 0) {
        static ssize_t (*next)(int, const void *, size_t);
        next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
        (void)!next(told.report, line, (size_t)size);
    }
}

/* What becomes of the next operation; errno is set if it fails. */
static enum fate next_fate(const char *operation, const char *path, bool is_write)
{
    pthread_mutex_lock(&mutex);
    long number = ++operation_count;
    report_operation(operation, path);
    pthread_mutex_unlock(&mutex);
    bool struck = told.at > 0 && (number == told.at || (told.lasts && number > told.at));
    if (!struck) {
        return GOES_WELL;
    }
    if (told.kills) {
        if (told.tears && is_write) {
            return KILLED_HALF_WAY;
        }
        kill(getpid(), SIGKILL);
    }
    errno = told.error;
    return told.is_short && is_write && number == told.at ? FAILS_HALF_WAY : FAILS;
}

static enum fate path_fate(const char *operation, const char *path)
{
    return is_below(path) ? next_fate(operation, path, false) : GOES_WELL;
}

static enum fate descriptor_fate(const char *operation, int descriptor, bool is_write)
{
    pthread_mutex_lock(&mutex);
    const char *path = descriptor >= 0 && descriptor < DESCRIPTORS_MAX ? paths[descriptor] : NULL;
    pthread_mutex_unlock(&mutex);
    return path ? next_fate(operation, path, is_write) : GOES_WELL;
}

static int note_open(int descriptor, const char *path)
{
    if (descriptor >= 0 && descriptor < DESCRIPTORS_MAX) {
        pthread_mutex_lock(&mutex);
        free(paths[descriptor]);
        paths[descriptor] = is_below(path) ? strdup(path) : NULL;
        pthread_mutex_unlock(&mutex);
    }
    return descriptor;
}

/* The C library's own function of a name. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

#define OPEN_FUNCTION(name)                                    \
    int name(const char *path, int flags, ...)                 \
    {                                                          \
        va_list arguments;                                     \
        va_start(arguments, flags);                            \
        mode_t mode = mode_of(flags, arguments);               \
        va_end(arguments);                                     \
        if (path_fate("open", path) != GOES_WELL) {            \
            return -1;                                         \
        }                                                      \
        return note_open(NEXT(name)(path, flags, mode), path); \
    }

OPEN_FUNCTION(open)
OPEN_FUNCTION(open64)

int close(int descriptor)
{
    enum fate fate = descriptor_fate("close", descriptor, false);
    int error = errno;
    note_open(descriptor, "");
    int closed = NEXT(close)(descriptor); /* also a close that fails ends the descriptor */
    if (fate != GOES_WELL) {
        errno = error;
        return -1;
    }
    return closed;
}

#define WRITE_FUNCTION(name, parameters, all, half)           \
    ssize_t name parameters                                   \
    {                                                         \
        switch (descriptor_fate("write", descriptor, true)) { \
        case GOES_WELL:                                       \
            return NEXT(name) all;                            \
        case FAILS_HALF_WAY:                                  \
            return NEXT(name) half;                           \
        case KILLED_HALF_WAY:                                 \
            (void)!NEXT(name) half;                           \
            kill(getpid(), SIGKILL);                          \
            break;                                            \
        case FAILS:                                           \
            break;                                            \
        }                                                     \
        return -1;                                            \
    }

WRITE_FUNCTION(write, (int descriptor, const void *bytes, size_t size), (descriptor, bytes, size),
               (descriptor, bytes, size / 2))
WRITE_FUNCTION(pwrite, (int descriptor, const void *bytes, size_t size, off_t offset),
               (descriptor, bytes, size, offset), (descriptor, bytes, size / 2, offset))
WRITE_FUNCTION(pwrite64, (int descriptor, const void *bytes, size_t size, off64_t offset),
               (descriptor, bytes, size, offset), (descriptor, bytes, size / 2, offset))

#define DESCRIPTOR_FUNCTION(result, operation, name, parameters, arguments)                      \
    result name parameters                                                                       \
    {                                                                                            \
        return descriptor_fate(operation, descriptor, false) == GOES_WELL ? NEXT(name) arguments \
                                                                          : -1;                  \
    }

DESCRIPTOR_FUNCTION(ssize_t, "read", read, (int descriptor, void *bytes, size_t size),
                    (descriptor, bytes, size))
DESCRIPTOR_FUNCTION(ssize_t, "read", pread,
                    (int descriptor, void *bytes, size_t size, off_t offset),
                    (descriptor, bytes, size, offset))
DESCRIPTOR_FUNCTION(ssize_t, "read", pread64,
                    (int descriptor, void *bytes, size_t size, off64_t offset),
                    (descriptor, bytes, size, offset))
/* A sync that does not fail does nothing: a killed process loses nothing that it has written, and
 * a real sync takes most of a test's time on some file systems. */
#define SYNC_FUNCTION(name)                                                      \
    int name(int descriptor)                                                     \
    {                                                                            \
        return descriptor_fate("sync", descriptor, false) == GOES_WELL ? 0 : -1; \
    }

SYNC_FUNCTION(fsync)
SYNC_FUNCTION(fdatasync)
SYNC_FUNCTION(syncfs)
DESCRIPTOR_FUNCTION(int, "truncate", ftruncate, (int descriptor, off_t size), (descriptor, size))
DESCRIPTOR_FUNCTION(int, "truncate", ftruncate64, (int descriptor, off64_t size),
                    (descriptor, size))

#define PATH_FUNCTION(operation, name, parameters, arguments)                       \
    int name parameters                                                             \
    {                                                                               \
        return path_fate(operation, path) == GOES_WELL ? NEXT(name) arguments : -1; \
    }

PATH_FUNCTION("remove", unlink, (const char *path), (path))
PATH_FUNCTION("remove", remove, (const char *path), (path))
PATH_FUNCTION("make folder", mkdir, (const char *path, mode_t mode), (path, mode))
PATH_FUNCTION("rename", rename, (const char *path, const char *to), (path, to))
