/*
 * The arguments of a command line, read one after the other.
 */
#ifndef DEMO_ARGUMENTS_H
#define DEMO_ARGUMENTS_H

#include <stdbool.h>

#include "problem.h"

struct arguments {
    const char *program; /* its name, for messages */
    char **items;
    int count, next; /* how many there are; the index of the next one to read */
    struct problem *problem;
};

/* Sets the problem: the two texts, and a hint at --help. Always returns false. */
bool arguments_fail(struct arguments *arguments, const char *what, const char *which);

/* Returns true if the argument is --name or --name=VALUE. */
bool arguments_is_option(const char *argument, const char *name);

/* Reads the value of the option that was read last: --name VALUE or --name=VALUE. */
bool arguments_take_value(struct arguments *arguments, const char *name, const char **value);

#endif
