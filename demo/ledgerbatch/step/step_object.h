/*
 * The shared object of a step: checked, hashed and loaded.
 *
 * The file is read once. Its bytes are hashed, and written to a sealed file in memory, which no
 * program can change. This copy is loaded. So the code that runs is the code whose digest is
 * stored, even if the file is replaced while ledgerbatch reads it.
 */
#ifndef LEDGERBATCH_STEP_STEP_OBJECT_H
#define LEDGERBATCH_STEP_STEP_OBJECT_H

#include <stdbool.h>

#include "base/sha256.h"
#include "problem.h"
#include "step/ledgerbatch_step.h"

struct step_object {
    void *handle;
    const struct ledgerbatch_step *step;
    char digest[SHA256_TEXT_SIZE];
};

/*
 * Loads the object at `path`. Refused is a file that is not regular, empty, or larger than 64 MiB.
 * So is an object without the symbol, or with another number of the interface. The file and its
 * folder must belong to root or the caller, and be writable by no other user.
 */
bool step_object_open(struct step_object *object, const char *path, struct problem *problem);
void step_object_close(struct step_object *object);

#endif
