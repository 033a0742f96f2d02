/*
 * Reads a rules file: the rules as YAML, see docs/ledgerbatch-rules.md.
 */
#ifndef LEDGERBATCH_PLAN_RULES_FILE_H
#define LEDGERBATCH_PLAN_RULES_FILE_H

#include "book/faults.h"
#include "plan/rules.h"

/*
 * Adds the rules of a text to those that options have given. A rule that both give is a fault. The
 * name of the file has to live as long as the rules.
 */
void rules_file_read_text(struct rules *rules, const char *name, struct slice text,
                          struct faults *faults);

/* Reads a file. Its faults are added to `faults`; the problem is the first of them, or another. */
bool rules_file_read(struct rules *rules, const char *name, struct faults *faults,
                     struct problem *problem);

#endif
