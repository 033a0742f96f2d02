/* Owns the reading of values of options. */
#include "cli/cli_value.h"

#include <stdlib.h>
#include <string.h>

#include "base/syntax.h"

bool cli_take_number(struct arguments *arguments, const char *name, unsigned long minimum,
                     unsigned long maximum, unsigned long *number)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, name, &value)) {
        return false;
    }
    unsigned long read = 0;
    size_t digits = strspn(value, "0123456789");
    bool good = digits > 0 && digits <= 18 && value[digits] == 0;
    if (good) {
        read = strtoul(value, NULL, 10);
        good = read >= minimum && read <= maximum;
    }
    *number = read;
    return good || arguments_fail(arguments, "not a number in range after ", name);
}

bool cli_take_pattern(struct arguments *arguments, const char *name, struct patterns *patterns)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, name, &value)) {
        return false;
    }
    patterns_add(patterns, value);
    return true;
}

bool cli_take_day(struct arguments *arguments, const char *option, const char *wrong, uint32_t *day)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, option, &value)) {
        return false;
    }
    const char *at = value;
    const char *end = value + strlen(value);
    return (!syntax_date(&at, end, day) && at == end) || arguments_fail(arguments, wrong, value);
}
