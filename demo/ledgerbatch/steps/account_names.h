/*
 * Names of accounts, for the steps in this folder: parts of a name, and lists of a parameter.
 */
#ifndef LEDGERBATCH_STEPS_ACCOUNT_NAMES_H
#define LEDGERBATCH_STEPS_ACCOUNT_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Returns the part of an account's name behind that of its client; "" if there is none. */
static inline const char *account_rest(const char *account, const char *client)
{
    size_t size = strlen(client);
    return account[size] == ':' ? account + size + 1 : account + size;
}

/*
 * Returns the part of a name behind a prefix of whole components: "" if the name is the prefix,
 * NULL if it has another one.
 */
static inline const char *account_behind(const char *name, const char *prefix, size_t prefix_size)
{
    if (strncmp(name, prefix, prefix_size) != 0) {
        return NULL;
    }
    if (name[prefix_size] == ':') {
        return name + prefix_size + 1;
    }
    return name[prefix_size] == 0 ? name + prefix_size : NULL;
}

/* Takes the next item of a list with commas or blanks between. Returns false at its end. */
static inline bool list_next(const char **list, const char **item, size_t *size)
{
    *item = *list + strspn(*list, ", ");
    *size = strcspn(*item, ", ");
    *list = *item + *size;
    return *size > 0;
}

#endif
