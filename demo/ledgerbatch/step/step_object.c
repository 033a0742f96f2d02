/* Owns the loading of steps; see step/step_object.h. */
#include "step/step_object.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "step/step_crash.h"

#define OBJECT_SIZE_MAX ((off_t)64 << 20)
#define SYMBOL          "ledgerbatch_step"

static bool report_errno(const char *path, struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_INPUT, "the step %s: %s", path, strerror(errno));
}

/* --- who can change it --- */

/* Checks the owner and the permissions of the object or of its folder. */
static bool check_access(const char *path, const char *what, const struct stat *status,
                         struct problem *problem)
{
    if (status->st_uid != 0 && status->st_uid != geteuid()) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the step %s: %s belongs to the user %lu, not to you or to root", path,
                           what, (unsigned long)status->st_uid);
    }
    if (status->st_mode & (S_IWGRP | S_IWOTH)) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the step %s: %s can be written by %s; take that away with chmod %s",
                           path, what, status->st_mode & S_IWOTH ? "everybody" : "its group",
                           "go-w");
    }
    return true;
}

/* Checks the folder that has the file, whatever links lead to it. */
static bool check_folder(const char *path, struct problem *problem)
{
    struct stat status;
    char *real = realpath(path, NULL);
    if (!real) {
        return report_errno(path, problem);
    }
    char *slash = strrchr(real, '/');
    slash[slash == real] = 0;
    bool checked = stat(real, &status) == 0 || report_errno(path, problem);
    checked = checked && check_access(path, "its folder", &status, problem);
    free(real);
    return checked;
}

static bool check_file(const char *path, int file, off_t *size, struct problem *problem)
{
    struct stat status;
    if (fstat(file, &status) != 0) {
        return report_errno(path, problem);
    }
    if (!S_ISREG(status.st_mode)) {
        return problem_set(problem, EXIT_CODE_INPUT, "the step %s: is no regular file", path);
    }
    if (status.st_size == 0 || status.st_size > OBJECT_SIZE_MAX) {
        return problem_set(problem, EXIT_CODE_INPUT, "the step %s: is empty or larger than 64 MiB",
                           path);
    }
    *size = status.st_size;
    return check_access(path, "it", &status, problem);
}

/* --- the copy --- */

#ifdef MFD_ALLOW_SEALING
#define ALL_SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static bool write_all(int file, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(file, bytes, size);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        bytes += written;
        size -= (size_t)written;
    }
    return true;
}

/* Copies and hashes what the file has, up to the largest size. */
static bool copy_and_hash(int file, int copy, struct sha256 *hash)
{
    static char bytes[65536];
    off_t left = OBJECT_SIZE_MAX;
    ssize_t got;
    while ((got = read(file, bytes, sizeof bytes)) != 0) {
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 || (left -= got) < 0 || !write_all(copy, bytes, (size_t)got)) {
            return false;
        }
        sha256_update(hash, bytes, (size_t)got);
    }
    return true;
}

/* Makes a sealed copy in memory. Returns its descriptor, or -1. */
static int make_copy(int file, char digest[SHA256_TEXT_SIZE])
{
    struct sha256 hash;
    int copy = memfd_create("ledgerbatch-step", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (copy < 0) {
        return -1;
    }
    sha256_init(&hash);
    if (!copy_and_hash(file, copy, &hash) || fcntl(copy, F_ADD_SEALS, ALL_SEALS) != 0) {
        close(copy);
        return -1;
    }
    sha256_finish_text(&hash, digest);
    return copy;
}
#else
/* This system has no sealed files in memory, so it loads no steps. */
static int make_copy(int file, char digest[SHA256_TEXT_SIZE])
{
    (void)file;
    (void)digest;
    errno = ENOSYS;
    return -1;
}
#endif

/* --- the object --- */

/*
 * All symbols are resolved now: an object that needs a missing one must not end the program in the
 * middle of a batch. No other object sees its symbols.
 */
static bool load(struct step_object *object, const char *path, int copy, struct problem *problem)
{
    char name[40];
    snprintf(name, sizeof name, "/proc/self/fd/%d", copy);
    object->handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!object->handle) {
        return problem_set(problem, EXIT_CODE_INPUT, "the step %s: cannot be loaded: %s", path,
                           dlerror());
    }
    object->step = dlsym(object->handle, SYMBOL);
    if (!object->step) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the step %s: has no symbol %s; see ledgerbatch_step.h", path, SYMBOL);
    }
    return true;
}

static bool check_step(const struct ledgerbatch_step *step, const char *path,
                       struct problem *problem)
{
    if (step->abi != LEDGERBATCH_STEP_ABI) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the step %s: was built for the interface %u, and this ledgerbatch has "
                           "%u; build it again with this ledgerbatch_step.h",
                           path, step->abi, LEDGERBATCH_STEP_ABI);
    }
    if (!step->visit || step->mode > LEDGERBATCH_STEP_BLOCKING) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the step %s: has no visit, or an unknown mode", path);
    }
    return true;
}

bool step_object_open(struct step_object *object, const char *path, struct problem *problem)
{
    off_t size;
    *object = (struct step_object){ .handle = NULL };
    step_crash_install();
    /* Without O_NONBLOCK the open of a pipe would wait for its writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return report_errno(path, problem);
    }
    bool checked = check_file(path, file, &size, problem) && check_folder(path, problem);
    int copy = checked ? make_copy(file, object->digest) : -1;
    if (checked && copy < 0) {
        report_errno(path, problem);
    }
    close(file);
    bool opened =
        copy >= 0 && load(object, path, copy, problem) && check_step(object->step, path, problem);
    if (copy >= 0) {
        close(copy);
    }
    if (!opened) {
        step_object_close(object);
    }
    return opened;
}

void step_object_close(struct step_object *object)
{
    if (object->handle) {
        dlclose(object->handle);
    }
    *object = (struct step_object){ .handle = NULL };
}
