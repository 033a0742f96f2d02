/* Owns the lock of the program that posts, and what it says about its progress. */
#include "store/run_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "memory.h"

/* All numbers have a fixed width, so that a later text covers an earlier one. */
#define TEXT_FORMAT                                                                          \
    "process %10ld\nbegin-ms %15" PRId64 "\ncommit-ms %15" PRId64 "\ndone-before %10" PRIu32 \
    "\nfailed %10" PRIu32 "\nheld %10" PRIu32 "\n"
#define TEXT_SCAN                                                                 \
    "process %ld begin-ms %" SCNd64 " commit-ms %" SCNd64 " done-before %" SCNu32 \
    " failed %" SCNu32 " held %" SCNu32
#define TEXT_SIZE   256
#define VALUE_COUNT 6

void run_file_init(struct run_file *file, const char *database)
{
    static const char suffix[] = "-run";
    size_t size = strlen(database);
    *file = (struct run_file){ .descriptor = -1 };
    file->path = memory_zeroed(size + sizeof suffix, 1);
    memcpy(file->path, database, size);
    memcpy(file->path + size, suffix, sizeof suffix);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Returns true if the descriptor is of the file that the path names: its owner may have removed it
 * since it was opened. */
static bool is_current(const struct run_file *file, int descriptor)
{
    struct stat opened;
    struct stat named;
    return fstat(descriptor, &opened) == 0 && stat(file->path, &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

/* --- another program --- */

/* Finds the process that has the lock. Returns false if none has it. */
static bool find_owner(int descriptor, long *process)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    bool is_locked = fcntl(descriptor, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    *process = is_locked ? (long)lock.l_pid : 0;
    return is_locked;
}

static void read_text(int descriptor, struct store_activity *activity)
{
    char text[TEXT_SIZE + 1];
    ssize_t size = pread(descriptor, text, TEXT_SIZE, 0);
    struct store_activity found = { .is_running = false };
    text[size > 0 ? size : 0] = 0;
    activity->is_known =
        sscanf(text, TEXT_SCAN, &found.process, &found.begin_ms, &found.commit_ms,
               &found.done_before, &found.failed_count, &found.held_count) == VALUE_COUNT;
    if (activity->is_known) {
        found.is_known = true;
        found.is_running = activity->is_running;
        *activity = found;
    }
}

struct store_activity run_file_read(const struct run_file *file)
{
    struct store_activity activity = { .is_running = false };
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        return activity;
    }
    activity.is_running = find_owner(descriptor, &activity.process);
    read_text(descriptor, &activity);
    /* An owner that ends by itself removes the file before it drops the lock. */
    activity.was_killed = !activity.is_running && is_current(file, descriptor);
    close(descriptor);
    return activity;
}

/* --- this program --- */

static bool report_owner(int descriptor, const char *database, struct problem *problem)
{
    long process;
    if (find_owner(descriptor, &process) && process > 0) {
        return problem_set(problem, EXIT_CODE_IO,
                           "%s: process %ld is posting into this database; wait until it ends",
                           database, process);
    }
    return problem_set(problem, EXIT_CODE_IO,
                       "%s: another program is posting into this database; wait until it ends",
                       database);
}

/* Opens the file with the lock. If its last owner removes it at this moment, opens a new one. */
static bool open_locked(struct run_file *file, const char *database, struct problem *problem)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    while (file->descriptor < 0) {
        int descriptor = open(file->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (descriptor < 0) {
            return problem_set(problem, EXIT_CODE_IO, "%s: %s", file->path, strerror(errno));
        }
        bool is_locked = fcntl(descriptor, F_SETLK, &lock) == 0;
        if (!is_locked) {
            int error = errno;
            bool is_owned = error == EAGAIN || error == EACCES;
            if (is_owned) {
                report_owner(descriptor, database, problem);
            } else {
                problem_set(problem, EXIT_CODE_IO, "%s: %s", file->path, strerror(error));
            }
        }
        if (is_locked && is_current(file, descriptor)) {
            file->descriptor = descriptor;
            return true;
        }
        close(descriptor);
        if (!is_locked) {
            return false;
        }
    }
    return true;
}

/* Writes the text. If that fails, others do not know how far this program is; no more is lost. */
static void write_text(const struct run_file *file)
{
    char text[TEXT_SIZE];
    const struct store_activity *activity = &file->activity;
    int size = snprintf(text, sizeof text, TEXT_FORMAT, activity->process, activity->begin_ms,
                        activity->commit_ms, activity->done_before, activity->failed_count,
                        activity->held_count);
    (void)!pwrite(file->descriptor, text, (size_t)size, 0);
}

bool run_file_take(struct run_file *file, const char *database, struct problem *problem)
{
    return open_locked(file, database, problem);
}

bool run_file_begin(struct run_file *file, uint32_t done_before)
{
    int64_t now = now_ms();
    file->activity = (struct store_activity){
        .process = (long)getpid(), .begin_ms = now, .commit_ms = now, .done_before = done_before
    };
    write_text(file);
    return true;
}

void run_file_note_commit(struct run_file *file)
{
    if (file->descriptor >= 0) {
        file->activity.commit_ms = now_ms();
        write_text(file);
    }
}

void run_file_fini(struct run_file *file)
{
    if (file->descriptor >= 0) {
        (void)unlink(file->path);
        close(file->descriptor);
    }
    free(file->path);
    *file = (struct run_file){ .descriptor = -1 };
}
