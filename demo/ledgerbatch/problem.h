/*
 * What went wrong, in words for the user, and the exit code that tells scripts.
 */
#ifndef LEDGERBATCH_PROBLEM_H
#define LEDGERBATCH_PROBLEM_H

#include <stdbool.h>

enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_IO = 1,    /* reading, writing or the database failed */
    EXIT_CODE_INPUT = 2, /* the input or the command line is wrong */
    EXIT_CODE_HELD = 3,  /* a lane is quarantined: some tasks are held */
    EXIT_CODE_OTHER = 4  /* the database belongs to other input or rules */
};

struct problem {
    enum exit_code code;
    bool has_place; /* the text begins with FILE:LINE: */
    char text[1536];
};

/* Fills the problem in; always returns false, so that callers can return it. */
bool problem_set(struct problem *problem, enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for an input problem at a place: "FILE:LINE: message". */
bool problem_set_place(struct problem *problem, const char *file, unsigned long line,
                       const char *message);

#endif
