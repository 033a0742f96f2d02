/* Owns the reading of the options of the command plan. */
#include "cli/cli_plan.h"

#include <stdlib.h>
#include <string.h>

#define WORKERS_MAX 1024

/* Reads a list such as 1,2,4. */
static bool read_counts(struct forecast_options *options, const char *text)
{
    options->count = 0;
    do {
        size_t digits = strspn(text, "0123456789");
        unsigned long number = digits > 0 && digits < 6 ? strtoul(text, NULL, 10) : 0;
        if (number < 1 || number > WORKERS_MAX || options->count == PLAN_REPORT_WORKERS) {
            return false;
        }
        options->worker_counts[options->count++] = (unsigned)number;
        text += digits;
    } while (*text++ == ',');
    return text[-1] == 0;
}

bool cli_take_plan_option(struct arguments *arguments, struct forecast_options *options,
                          const char *argument, bool *known)
{
    const char *value = NULL;
    *known = true;
    if (arguments_is_option(argument, "--durations")) {
        return arguments_take_value(arguments, "--durations", &options->trace);
    }
    if (arguments_is_option(argument, "--workers")) {
        return arguments_take_value(arguments, "--workers", &value) &&
               (read_counts(options, value) ||
                arguments_fail(arguments,
                               "--workers takes up to 16 numbers from 1 to 1024, as in 1,2,4, not ",
                               value));
    }
    *known = false;
    return true;
}
