/* Owns the reading of options and their values. */
#include "arguments.h"

#include <string.h>

bool arguments_fail(struct arguments *arguments, const char *what, const char *which)
{
    return problem_set(arguments->problem, EXIT_CODE_INPUT, "%s%s; see %s --help", what, which,
                       arguments->program);
}

bool arguments_is_option(const char *argument, const char *name)
{
    size_t size = strlen(name);
    return strncmp(argument, name, size) == 0 && (argument[size] == 0 || argument[size] == '=');
}

bool arguments_take_value(struct arguments *arguments, const char *name, const char **value)
{
    const char *argument = arguments->items[arguments->next - 1];
    size_t size = strlen(name);
    if (argument[size] == '=') {
        *value = argument + size + 1;
        return true;
    }
    if (arguments->next == arguments->count) {
        return arguments_fail(arguments, "a value is missing after ", name);
    }
    *value = arguments->items[arguments->next++];
    return true;
}
