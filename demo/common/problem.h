/*
 * A problem: a message for the user, and an exit code for scripts.
 */
#ifndef DEMO_PROBLEM_H
#define DEMO_PROBLEM_H

#include <stdbool.h>

enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_IO = 1,       /* reading, writing or a database failed */
    EXIT_CODE_INPUT = 2,    /* a file or the command line is wrong */
    EXIT_CODE_HELD = 3,     /* of ledgerbatch: a lane is quarantined, some tasks are held */
    EXIT_CODE_OTHER = 4,    /* of ledgerbatch: the database belongs to other input or rules */
    EXIT_CODE_REFUSED = 5,  /* of ledgerbatch: more is refused than --max-refused allows */
    EXIT_CODE_DEFERRED = 6, /* of ledgerbatch: all is written, but some transactions are deferred */
    EXIT_CODE_STOPPED = 7   /* of ledgerbatch: a signal has stopped the batch */
};

struct problem {
    enum exit_code code;
    bool has_place; /* the text begins with "FILE:" */
    char text[1536];
};

/* Sets a problem. Always returns false, so that callers can return the result. */
bool problem_set(struct problem *problem, enum exit_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Sets a problem in the contents of a file. The format begins with "%s:" for the file. */
bool problem_set_place(struct problem *problem, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
