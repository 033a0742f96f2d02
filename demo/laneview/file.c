/* Owns the reading and writing of whole files. SIGPIPE is expected to be ignored. */
#include "file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PIECE_SIZE ((size_t)1 << 16)

static bool is_standard(const char *file)
{
    return !file || strcmp(file, "-") == 0;
}

bool file_read(const char *file, struct text *text, struct problem *problem)
{
    static char piece[PIECE_SIZE];
    FILE *source = is_standard(file) ? stdin : fopen(file, "rb");
    if (!source) {
        return problem_set(problem, EXIT_CODE_IO, "%s cannot be opened: %s", file, strerror(errno));
    }
    size_t size;
    text_add_bytes(text, "", 0);
    while ((size = fread(piece, 1, sizeof piece, source)) > 0) {
        text_add_bytes(text, piece, size);
    }
    int error = ferror(source) ? errno : 0;
    if (source != stdin) {
        fclose(source);
    }
    return error == 0 ||
           problem_set(problem, EXIT_CODE_IO, "%s cannot be read: %s", file, strerror(error));
}

static bool write_standard(const char *bytes, size_t size, struct problem *problem)
{
    if (fwrite(bytes, 1, size, stdout) == size && fflush(stdout) == 0) {
        return true;
    }
    return errno == EPIPE || problem_set(problem, EXIT_CODE_IO,
                                         "standard output cannot be written: %s", strerror(errno));
}

bool file_write(const char *file, const char *bytes, size_t size, struct problem *problem)
{
    if (is_standard(file)) {
        return write_standard(bytes, size, problem);
    }
    FILE *target = fopen(file, "wb");
    if (!target) {
        return problem_set(problem, EXIT_CODE_IO, "%s cannot be written: %s", file,
                           strerror(errno));
    }
    bool written = fwrite(bytes, 1, size, target) == size;
    int error = errno;
    if (fclose(target) != 0 && written) {
        written = false;
        error = errno;
    }
    return written ||
           problem_set(problem, EXIT_CODE_IO, "%s cannot be written: %s", file, strerror(error));
}
