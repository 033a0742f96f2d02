/* Owns the reading and writing of whole files. Expects that SIGPIPE is ignored. */
#include "base/file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PIECE_SIZE ((size_t)1 << 16)

static bool is_standard_stream(const char *file)
{
    return !file || strcmp(file, "-") == 0;
}

bool file_read(const char *file, struct text *text, struct problem *problem)
{
    static char piece[PIECE_SIZE];
    FILE *source = is_standard_stream(file) ? stdin : fopen(file, "rb");
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

bool file_print(const char *bytes, size_t size, bool *is_gone, struct problem *problem)
{
    *is_gone = false;
    if (fwrite(bytes, 1, size, stdout) == size && fflush(stdout) == 0) {
        return true;
    }
    *is_gone = errno == EPIPE;
    return *is_gone || problem_set(problem, EXIT_CODE_IO, "standard output cannot be written: %s",
                                   strerror(errno));
}

bool file_write(const char *file, const char *bytes, size_t size, struct problem *problem)
{
    if (is_standard_stream(file)) {
        bool is_gone;
        return file_print(bytes, size, &is_gone, problem);
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

void file_add_title(struct text *title, const char *file)
{
    const char *slash = strrchr(file, '/');
    const char *name = slash ? slash + 1 : file;
    const char *dot = strrchr(name, '.');
    text_add_clean(title, name, dot && dot > name ? (size_t)(dot - name) : strlen(name));
}
