/*
 * Shared by the files that read scenarios.
 */
#ifndef LANEVIEW_SCENARIO_INTERNAL_H
#define LANEVIEW_SCENARIO_INTERNAL_H

#include "session/scenario.h"

#define SCENARIO_STEPS_MAX 1000000
#define SCENARIO_WORDS_MAX 64

struct scenario_reader {
    struct scenario *scenario;
    const char *file;
    unsigned long line;
    char *words[SCENARIO_WORDS_MAX]; /* of the current line */
    size_t word_count;
    bool has_workers, has_layout;
    struct problem *problem;
};

/* Reports what is wrong with the line; always returns false. */
bool scenario_fail_at_line(struct scenario_reader *reader, const char *what, const char *which);

bool scenario_read_number(const char *text, unsigned maximum, unsigned *number);

/* Finds a text among three words, and sets its index. Returns false if it is none of them. */
bool scenario_read_word(const char *text, const char *const words[3], unsigned *number);

/* Returns the client with a name; scenario->key_count if there is none. */
size_t scenario_find_key(const struct scenario *scenario, const char *name);

/* Finds the client with a name. Reports a problem and returns false if there is none. */
bool scenario_read_key(struct scenario_reader *reader, const char *name, size_t *key);

bool scenario_add_step(struct scenario_reader *reader, const struct scenario_step *step);

/* Reads task|rollup|cut ... from the word `at` on. Its tasks are submitted `times` times. */
bool scenario_read_submission(struct scenario_reader *reader, size_t at, unsigned times);

#endif
