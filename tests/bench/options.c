#include "options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "usage: bench_%s WORKLOAD [--tasks N] [--workers N] [--batch N] [--body-rounds N]%s\n"
            "       bench_%s --measure-machine\n",
            bench_engine.name, bench_engine.option != NULL ? " [engine's options]" : "",
            bench_engine.name);
    exit(2);
}

static size_t number(const char *text, size_t least, size_t most)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text || value < least || value > most)
        usage();
    return (size_t)value;
}

static void read_option(struct bench_options *options, const char *name, const char *value)
{
    if (strcmp(name, "tasks") == 0)
        options->tasks = number(value, 1, UINT32_MAX);
    else if (strcmp(name, "workers") == 0)
        options->workers = (unsigned)number(value, 1, 64);
    else if (strcmp(name, "batch") == 0 && bench_engine.submit_batch != NULL)
        options->batch = number(value, 1, BENCH_BATCH_MAX);
    else if (strcmp(name, "body-rounds") == 0)
        options->body_rounds = number(value, 1, UINT32_MAX);
    else if (bench_engine.option == NULL || !bench_engine.option(name, value))
        usage();
}

struct bench_options bench_options_read(int argc, char **argv)
{
    struct bench_options options = { .tasks = 1000000 };
    if (argc < 2 || argc % 2 != 0)
        usage();
    options.workload = argv[1];
    for (int i = 2; i < argc; i += 2) {
        if (strncmp(argv[i], "--", 2) != 0)
            usage();
        read_option(&options, argv[i] + 2, argv[i + 1]);
    }
    return options;
}
