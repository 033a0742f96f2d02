/*
 * Writes docs/features.md, or compares it with what the library answers.
 *
 *     features PAGE           exit status 1 if the page differs
 *     features --write PAGE
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "features.h"

enum { PAGE_MAX = 1 << 16 };

static char page[PAGE_MAX];
static size_t page_size;
static bool all_good = true;

static __attribute__((format(printf, 1, 2))) void put(const char *format, ...)
{
    va_list arguments;
    int size;

    va_start(arguments, format);
    size = vsnprintf(page + page_size, PAGE_MAX - page_size, format, arguments);
    va_end(arguments);
    if (size > 0 && (size_t)size < PAGE_MAX - page_size) {
        page_size += (size_t)size;
    }
}

static void put_answer(lanepool_status status, const char *what, const char *where)
{
    if (status != LANEPOOL_OK && status != LANEPOOL_UNSUPPORTED) {
        fprintf(stderr, "%s, %s: %s\n", what, where, lanepool_status_name(status));
        all_good = false;
    }
    put(" %s |", status == LANEPOOL_OK ? "yes" : "-");
}

static bool always_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    (void)a;
    (void)b;
    (void)user;
    return true;
}

static const struct sort sorts[SORTS] = {
    { "keys", LANEPOOL_PER_KEY, NULL },
    { "rule", LANEPOOL_PER_KEY, always_compatible },
    { "workers, keys", LANEPOOL_PER_WORKER, NULL },
    { "workers, rule", LANEPOOL_PER_WORKER, always_compatible },
};

static void put_features(void)
{
    for (size_t i = 0; i < feature_count; i++) {
        const struct feature *feature = &features[i];

        if (feature->try == NULL) {
            put("\n### %s\n\n| feature | in the interface |", feature->name);
            for (size_t j = 0; j < SORTS; j++) {
                put(" %s |", sorts[j].title);
            }
            put("\n|---|---|---|---|---|---|\n");
            continue;
        }
        put("| %s | %s |", feature->name, feature->how);
        for (size_t j = 0; j < SORTS; j++) {
            put_answer(feature->try(&sorts[j]), feature->name, sorts[j].title);
        }
        put("\n");
    }
}

/* In a pool that offers every field. */
static void put_ways(void)
{
    lanepool_options options = options_of(&sorts[0]);

    options.priorities = true;
    put("\n| way |");
    for (size_t i = 0; i < field_count; i++) {
        put(" %s |", fields[i].name);
    }
    put("\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < way_count; i++) {
        put("| %s |", ways[i].name);
        for (size_t j = 0; j < field_count; j++) {
            put_answer(try_way(&options, &ways[i], &fields[j]), ways[i].name, fields[j].name);
        }
        put("\n");
    }
}

static void put_page(void)
{
    put("# What each pool offers\n\n"
        "A pool has a layout, and tasks conflict by claims or by the program's rule. These two\n"
        "choices decide what else the pool offers. A call or an option that is not offered "
        "answers\n"
        "`LANEPOOL_UNSUPPORTED`. A wrong value answers `LANEPOOL_INVALID`, also where the feature "
        "is\n"
        "not offered.\n\n"
        "A program wrote the tables: it tried each feature in each pool. The test `features.page`\n"
        "compares them with the library.\n\n"
        "* **keys**: `LANEPOOL_PER_KEY`; tasks conflict by their claims. This is the default.\n"
        "* **rule**: `LANEPOOL_PER_KEY`; `is_compatible` decides which tasks conflict.\n"
        "* **workers, keys**: `LANEPOOL_PER_WORKER`; tasks conflict by their claims.\n"
        "* **workers, rule**: `LANEPOOL_PER_WORKER`; `is_compatible` decides.\n\n"
        "## Features\n");
    put_features();
    put("\n## Ways to submit\n\n"
        "Each way to submit a task, and the fields of its description that the way accepts. The\n"
        "receiver of a hand-off gets its claims from the task that hands over.\n");
    put_ways();
}

static FILE *open_page(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);

    if (!file) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        exit(EXIT_FAILURE);
    }
    return file;
}

static bool is_written(const char *path)
{
    static char written[PAGE_MAX];
    FILE *file = open_page(path, "r");
    size_t size = fread(written, 1, PAGE_MAX, file);

    fclose(file);
    return size == page_size && memcmp(written, page, size) == 0;
}

int main(int argc, char **argv)
{
    bool writes = argc == 3 && strcmp(argv[1], "--write") == 0;

    if (argc != 2 && !writes) {
        fprintf(stderr, "usage: features [--write] PAGE\n");
        return EXIT_FAILURE;
    }
    put_page();
    if (!all_good) {
        return EXIT_FAILURE;
    }
    if (writes) {
        FILE *file = open_page(argv[2], "w");

        fwrite(page, 1, page_size, file);
        return fclose(file) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    if (!is_written(argv[1])) {
        fprintf(stderr,
                "%s differs from what the library offers; write it anew:\n    %s --write %s\n",
                argv[1], argv[0], argv[1]);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
