/*
 * Runs a fuzz target's inputs again, without a fuzzer: each file that is named, and each file in
 * each folder that is named. Built with every build, so that sanitizers and other compilers see
 * the same inputs; other fuzzers can drive it, too, as in "afl-fuzz ... fuzz_journal_replay @@".
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static size_t input_count;

static void fail(const char *path)
{
    fprintf(stderr, "%s: %s\n", path, strerror(errno));
    exit(1);
}

/* The input lies in a block of exactly its size, so that reading past its end is noticed. */
static void replay_file(const char *path, size_t size)
{
    uint8_t *data = malloc(size);
    FILE *file = fopen(path, "rb");
    if (!file || (!data && size > 0) || fread(data, 1, size, file) != size) {
        fail(path);
    }
    fclose(file);
    /* Known before it runs: it may not come back. */
    printf("%s\n", path);
    fflush(stdout);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    input_count++;
}

static void replay(const char *path);

static void replay_folder(const char *path)
{
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    if (count < 0) {
        fail(path);
    }
    for (int i = 0; i < count; i++) {
        char inside[4096];
        snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.') {
            replay(inside);
        }
        free(entries[i]);
    }
    free(entries);
}

static void replay(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0) {
        fail(path);
    }
    if (S_ISDIR(status.st_mode)) {
        replay_folder(path);
    } else {
        replay_file(path, (size_t)status.st_size);
    }
}

int main(int argument_count, char **arguments)
{
    for (int i = 1; i < argument_count; i++) {
        replay(arguments[i]);
    }
    printf("%zu inputs\n", input_count);
    return input_count == 0;
}
