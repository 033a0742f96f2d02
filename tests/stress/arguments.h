/* Reads "--name value" from a stress program's command line. */
#ifndef TESTS_STRESS_ARGUMENTS_H
#define TESTS_STRESS_ARGUMENTS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns the number after `name`, or `fallback` if there is no such option. Ends the program if
 * the number is bad. */
static inline uint64_t argument_number(int argc, char **argv, const char *name, uint64_t fallback)
{
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        unsigned long long number;

        if (strcmp(argv[i], name) != 0) {
            continue;
        }
        errno = 0;
        number = i + 1 < argc ? strtoull(argv[i + 1], &end, 0) : 0;
        if (!end || end == argv[i + 1] || *end || errno) {
            fprintf(stderr, "%s: a number is missing after %s\n", argv[0], name);
            exit(EXIT_FAILURE);
        }
        return number;
    }
    return fallback;
}

/* Returns the word after `name`, or NULL. */
static inline const char *argument_text(int argc, char **argv, const char *name)
{
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return argv[i + 1];
        }
    }
    return NULL;
}

/* Ends the program if there is an option that is not one of the names. The list ends with NULL. */
static inline void arguments_only(int argc, char **argv, const char *const *names)
{
    for (int i = 1; i < argc; i++) {
        const char *const *name = names;

        while (*name && strcmp(argv[i], *name) != 0) {
            name++;
        }
        if (*name || strncmp(argv[i], "--", 2) != 0) {
            continue;
        }
        fprintf(stderr, "%s: there is no option %s; there are", argv[0], argv[i]);
        for (name = names; *name; name++) {
            fprintf(stderr, " %s", *name);
        }
        fprintf(stderr, "\n");
        exit(EXIT_FAILURE);
    }
}

/* Returns true if `name` is an argument. */
static inline bool argument_flag(int argc, char **argv, const char *name)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return false;
}

#endif
