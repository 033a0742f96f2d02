/*
 * Owns the file of rejected transactions. It is written beside its place, made durable, and linked
 * to its place, so that it is whole at any time and replaces nothing.
 */
#include "run/rejects_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "memory.h"

#define NEW_SUFFIX ".ledgerbatch-new"

/* --- the content --- */

/* Returns true if a spreadsheet would run a cell of a record: one that is no plain number. */
static bool has_formula(struct slice record)
{
    bool begins = true;
    for (size_t i = 0; i < record.size; i++) {
        unsigned char c = (unsigned char)record.data[i];
        bool is_number = c == '-' && i + 1 < record.size && record.data[i + 1] >= '0' &&
                         record.data[i + 1] <= '9';
        bool is_end = c == '\r' || c == '\n';
        if (begins && !is_number && !is_end && (memchr("=+-@", c, 4) || c < 0x20)) {
            return true;
        }
        begins = c == ',' || is_end || (begins && c == '"');
    }
    return false;
}

/* Adds a record of one field, which begins with #. */
static void add_csv_comment(struct buffer *text, struct slice words)
{
    struct buffer comment = { 0 };
    buffer_add_text(&comment, "# ");
    buffer_add(&comment, words);
    buffer_add_field(text, buffer_slice(&comment));
    buffer_add_byte(text, '\n');
    buffer_fini(&comment);
}

static void add_entry(struct buffer *text, struct slice entry)
{
    buffer_add(text, entry);
    if (entry.size > 0 && entry.data[entry.size - 1] != '\n') {
        buffer_add_byte(text, '\n');
    }
}

static void add_csv(struct buffer *text, const struct rejects *rejects)
{
    buffer_add_text(text, "seq,date,from,to,amount,commodity\n");
    for (size_t i = 0; i < rejects->count; i++) {
        const struct reject *reject = &rejects->items[i];
        add_csv_comment(text, slice_of(reject->reason));
        if (has_formula(reject->text)) {
            add_csv_comment(text, reject->text);
        } else {
            add_entry(text, reject->text);
        }
    }
}

static void add_journal(struct buffer *text, const struct rejects *rejects)
{
    buffer_add_text(text, "; Rejected by ledgerbatch: correct these, and post them on a later "
                          "day.\n");
    for (size_t i = 0; i < rejects->count; i++) {
        buffer_add_text(text, "\n; ");
        buffer_add_text(text, rejects->items[i].reason);
        buffer_add_byte(text, '\n');
        add_entry(text, rejects->items[i].text);
    }
}

/* --- the file --- */

static bool set_system_problem(const char *path, struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_IO, "%s: %s", path, strerror(errno));
}

/* Reads a file. Sets *is_same to whether it has the content. Returns false if it cannot be read. */
static bool compare(int file, struct slice content, bool *is_same)
{
    struct stat status;
    char piece[4096];
    *is_same = false;
    if (fstat(file, &status) != 0) {
        return false;
    }
    if (!S_ISREG(status.st_mode) || (size_t)status.st_size != content.size) {
        return true;
    }
    while (content.size > 0) {
        ssize_t got = read(file, piece, sizeof piece);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return false;
        }
        if (got == 0 || (size_t)got > content.size || memcmp(piece, content.data, (size_t)got)) {
            return true;
        }
        content.data += got;
        content.size -= (size_t)got;
    }
    *is_same = true;
    return true;
}

/* Makes the folder of a file durable. */
static bool sync_folder(const char *path, struct problem *problem)
{
    char *folder = memory_copy_text(path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = 0;
    }
    int opened = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = opened >= 0 && fsync(opened) == 0;
    synced = synced || set_system_problem(path, problem);
    if (opened >= 0) {
        close(opened);
    }
    free(folder);
    return synced;
}

/* Checks a file that is at the place already. Sets *is_there to whether there is one. */
static bool check_existing(const char *path, struct slice content, bool *is_there,
                           struct problem *problem)
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    *is_there = file >= 0 || errno != ENOENT;
    if (file < 0) {
        return !*is_there || set_system_problem(path, problem);
    }
    bool is_same;
    bool good = compare(file, content, &is_same) || set_system_problem(path, problem);
    if (good && !is_same) {
        good = problem_set(problem, EXIT_CODE_INPUT,
                           "%s: is there already, and is not what --rejects would write; name "
                           "another file",
                           path);
    }
    good = good && (fsync(file) == 0 || set_system_problem(path, problem));
    close(file);
    return good && sync_folder(path, problem);
}

static bool write_all(int file, struct slice content)
{
    while (content.size > 0) {
        ssize_t written = write(file, content.data, content.size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        if (written > 0) {
            content.data += written;
            content.size -= (size_t)written;
        }
    }
    return true;
}

/* Writes a durable file. */
static bool write_new(const char *path, struct slice content, struct problem *problem)
{
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0) {
        return set_system_problem(path, problem);
    }
    bool written =
        (write_all(file, content) && fsync(file) == 0) || set_system_problem(path, problem);
    return (close(file) == 0 || !written || set_system_problem(path, problem)) && written;
}

/* Puts a file with the content at its place, from `beside`, unless one is there. */
static bool put_file(const char *path, const char *beside, struct slice content,
                     struct problem *problem)
{
    bool is_there;
    if (!check_existing(path, content, &is_there, problem)) {
        return false;
    }
    return is_there || (write_new(beside, content, problem) &&
                        (link(beside, path) == 0 || set_system_problem(path, problem)) &&
                        sync_folder(path, problem));
}

bool rejects_file_write(const char *path, const struct plan *plan, struct problem *problem)
{
    const struct rejects *rejects = &plan->book.rejects;
    struct buffer text = { 0 };
    struct buffer beside = { 0 };
    if (rejects->count == 0) {
        return true;
    }
    (plan->rules.csv ? add_csv : add_journal)(&text, rejects);
    buffer_add_text(&beside, path);
    buffer_add(&beside, (struct slice){ NEW_SUFFIX, sizeof NEW_SUFFIX });
    bool written = put_file(path, beside.data, buffer_slice(&text), problem);
    /* An earlier command may have been killed before it did so. */
    if (unlink(beside.data) != 0 && errno != ENOENT && written) {
        written = set_system_problem(beside.data, problem);
    }
    buffer_fini(&beside);
    buffer_fini(&text);
    return written;
}
