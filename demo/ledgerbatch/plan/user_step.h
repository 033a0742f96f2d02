/*
 * A month-end step of the user's, as the rules have it: its object, and what the rule says about
 * it.
 */
#ifndef LEDGERBATCH_PLAN_USER_STEP_H
#define LEDGERBATCH_PLAN_USER_STEP_H

#include "base/sha256.h"
#include "plan/patterns.h"
#include "step/step_object.h"

struct user_step {
    char *path, *name;     /* both not NULL when the rules are complete */
    struct patterns house; /* the whole names of house accounts that it may post to */
    struct ledgerbatch_parameter *parameters; /* sorted by name when the rules are complete */
    size_t parameter_count, parameter_capacity;
    struct step_object object;
    uint32_t *house_cells; /* of these house accounts, in ascending order; see plan/step_tables.h */
    size_t house_cell_count;
};

/* Makes a step that has nothing yet. */
struct user_step *user_step_create(void);
void user_step_free(struct user_step *user); /* may be NULL */

/*
 * Sets the path of the object; the text is copied. A step without a name gets that of the file,
 * without what follows the first point.
 */
void user_step_set_path(struct user_step *user, struct slice path);

/* Gives a step without a path its name; the text is copied. */
void user_step_set_name(struct user_step *user, struct slice name);

/* Adds a parameter; the texts are copied. Returns false if it is there already. */
bool user_step_add_parameter(struct user_step *user, struct slice name, struct slice value);

/* Returns true if a text can be a step's name: letters, digits, '-' and '_', at most 40. */
bool user_step_is_name(const char *name);

static inline bool user_step_is_blocking(const struct user_step *user)
{
    return user->object.step->mode == LEDGERBATCH_STEP_BLOCKING;
}

static inline bool user_step_has_group(const struct user_step *user)
{
    return user->object.step->group != NULL;
}

/* Adds what decides about its results to a hash of rules: not its path. */
void user_step_hash(const struct user_step *user, struct sha256 *hash);

#endif
