/* Owns the rules of user's steps; see plan/user_step.h. */
#include "plan/user_step.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

#define NAME_SIZE_MAX 40

static char *copy_slice(struct slice text)
{
    char *copy = memory_zeroed(text.size + 1, 1);
    memcpy(copy, text.data, text.size);
    return copy;
}

static char *name_of_path(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *name = memory_copy_text(slash ? slash + 1 : path);
    name[strcspn(name, ".")] = 0;
    return name;
}

struct user_step *user_step_create(void)
{
    return memory_zeroed(1, sizeof(struct user_step));
}

void user_step_set_path(struct user_step *user, struct slice path)
{
    free(user->path);
    user->path = copy_slice(path);
    if (!user->name) {
        user->name = name_of_path(user->path);
    }
}

void user_step_free(struct user_step *user)
{
    if (!user) {
        return;
    }
    step_object_close(&user->object);
    for (size_t i = 0; i < user->parameter_count; i++) {
        free((char *)user->parameters[i].name);
        free((char *)user->parameters[i].value);
    }
    free(user->parameters);
    free(user->house_cells);
    patterns_fini(&user->house);
    free(user->path);
    free(user->name);
    free(user);
}

void user_step_set_name(struct user_step *user, struct slice name)
{
    user->name = copy_slice(name);
}

bool user_step_add_parameter(struct user_step *user, struct slice name, struct slice value)
{
    size_t place = 0;
    int order = 1;
    while (place < user->parameter_count &&
           (order = slice_compare(slice_of(user->parameters[place].name), name)) < 0) {
        place++;
    }
    if (place < user->parameter_count && order == 0) {
        return false;
    }
    user->parameters = memory_grow(user->parameters, &user->parameter_capacity,
                                   user->parameter_count + 1, sizeof *user->parameters);
    memmove(&user->parameters[place + 1], &user->parameters[place],
            (user->parameter_count - place) * sizeof *user->parameters);
    user->parameters[place] = (struct ledgerbatch_parameter){ copy_slice(name), copy_slice(value) };
    user->parameter_count++;
    return true;
}

bool user_step_is_name(const char *name)
{
    size_t size = strlen(name);
    bool is_name = size > 0 && size <= NAME_SIZE_MAX;
    for (size_t i = 0; is_name && i < size; i++) {
        is_name = isalnum((unsigned char)name[i]) || name[i] == '-' || name[i] == '_';
    }
    return is_name;
}

void user_step_hash(const struct user_step *user, struct sha256 *hash)
{
    sha256_add_text(hash, user->name);
    sha256_add_text(hash, user->object.digest);
    patterns_hash(&user->house, hash);
    sha256_add_number(hash, user->parameter_count);
    for (size_t i = 0; i < user->parameter_count; i++) {
        sha256_add_text(hash, user->parameters[i].name);
        sha256_add_text(hash, user->parameters[i].value);
    }
}
