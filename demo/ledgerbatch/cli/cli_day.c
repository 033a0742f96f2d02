/* Owns the reading of the options of days, and of those about rejected input. */
#include "cli/cli_day.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/syntax.h"
#include "cli/cli_value.h"
#include "memory.h"

#define REASON_SIZE_MAX 200
#define REJECTS_LIMIT   100000

/* A reason becomes a part of a line in journals. */
static bool is_reason(const char *text)
{
    bool is_good = text[0] != 0 && text[0] != ' ' && strlen(text) <= REASON_SIZE_MAX;
    for (const char *at = text; is_good && *at; at++) {
        is_good = *at != ';' && (unsigned char)*at >= ' ' && *at != 0x7f;
    }
    return is_good;
}

/* Reads SEQ=REASON. */
static bool take_request(struct arguments *arguments, const char *option,
                         struct opening_request **requests, size_t *count)
{
    const char *value = NULL;
    if (!arguments_take_value(arguments, option, &value)) {
        return false;
    }
    size_t digits = strspn(value, "0123456789");
    unsigned long seq = digits > 0 && digits < 10 ? strtoul(value, NULL, 10) : 0;
    if (seq == 0 || value[digits] != '=' || !is_reason(value + digits + 1)) {
        return arguments_fail(arguments,
                              "--skip and --reverse take a seq and a reason of one line without "
                              "';', as in 12='sent twice', not ",
                              value);
    }
    if (!*requests) {
        *requests = memory_zeroed((size_t)arguments->count, sizeof **requests);
    }
    (*requests)[(*count)++] = (struct opening_request){ (uint32_t)seq, value + digits + 1 };
    return true;
}

/* Reads YYYY-MM=REASON. */
static bool take_month(struct arguments *arguments, struct opening_requests *requests)
{
    const char *value = NULL;
    char date[DATE_SIZE + 1];
    uint32_t day;
    if (!arguments_take_value(arguments, "--backdated", &value)) {
        return false;
    }
    size_t size = strcspn(value, "=");
    snprintf(date, sizeof date, "%.*s-01", (int)(size < DATE_SIZE ? size : DATE_SIZE), value);
    const char *at = date;
    if (size != MONTH_SIZE || syntax_date(&at, date + DATE_SIZE, &day) || value[size] != '=' ||
        !is_reason(value + size + 1)) {
        return arguments_fail(arguments,
                              "--backdated takes a month and a reason of one line without ';', as "
                              "in 2024-01='invoice came late', not ",
                              value);
    }
    if (!requests->months) {
        requests->months = memory_zeroed((size_t)arguments->count, sizeof *requests->months);
    }
    requests->months[requests->month_count++] =
        (struct opening_month){ date_month(day), value + size + 1 };
    return true;
}

bool cli_take_day_option(struct arguments *arguments, struct run_options *run, bool is_day,
                         const char *argument, bool *known)
{
    bool takes = is_day || run->resumed.is_retry;
    *known = true;
    if (is_day && arguments_is_option(argument, "--date")) {
        return cli_take_day(arguments, "--date", "--date takes a day such as 2024-03-05, not ",
                            &run->day);
    }
    if (takes && strcmp(argument, "--post-deferred") == 0) {
        run->requests.posts_deferred = true;
        return true;
    }
    if (takes && arguments_is_option(argument, "--skip")) {
        return take_request(arguments, "--skip", &run->requests.skips, &run->requests.skip_count);
    }
    if (takes && arguments_is_option(argument, "--reverse")) {
        return take_request(arguments, "--reverse", &run->requests.reversals,
                            &run->requests.reversal_count);
    }
    if (takes && arguments_is_option(argument, "--backdated")) {
        return take_month(arguments, &run->requests);
    }
    *known = false;
    return true;
}

bool cli_take_input_option(struct arguments *arguments, struct run_options *run,
                           const char *argument, bool *known)
{
    unsigned long number = 0;
    *known = true;
    if (arguments_is_option(argument, "--rejects")) {
        return arguments_take_value(arguments, "--rejects", &run->rejects) &&
               ((run->rejects[0] && strcmp(run->rejects, "-") != 0) ||
                arguments_fail(arguments, "--rejects takes the name of a file, not ",
                               run->rejects));
    }
    if (arguments_is_option(argument, "--max-rejects")) {
        bool read = cli_take_number(arguments, "--max-rejects", 0, REJECTS_LIMIT, &number);
        run->has_max_rejects = true;
        run->max_rejects = number;
        return read;
    }
    if (arguments_is_option(argument, "--include-root")) {
        return arguments_take_value(arguments, "--include-root", &run->include_root);
    }
    if (strcmp(argument, "--unique-codes") == 0) {
        run->rules.unique_codes = true;
        return true;
    }
    *known = false;
    return true;
}

bool cli_check_day(const struct run_options *run, bool is_day, struct arguments *arguments)
{
    if (is_day && run->day == 0 && !run->is_check) {
        return arguments_fail(arguments, "day needs --date with the day, such as 2024-03-05", "");
    }
    const struct opening_requests *requests = &run->requests;
    bool is_about_days =
        requests->posts_deferred ||
        requests->skip_count + requests->reversal_count + requests->month_count > 0;
    if (is_about_days && run->day == 0 && !run->resumed.is_retry) {
        return arguments_fail(arguments,
                              "--post-deferred, --skip, --reverse and --backdated need --date", "");
    }
    if (run->day != 0 && run->rules.ends_month) {
        return arguments_fail(arguments,
                              "--end-month is not for days: a month ends in the first day on or "
                              "after its last one",
                              "");
    }
    if (run->day != 0 && run->rules.until != 0) {
        return arguments_fail(arguments,
                              "--until is not for days: what a day leaves out could not be posted "
                              "later",
                              "");
    }
    return !run->has_max_rejects || run->rejects ||
           arguments_fail(arguments, "--max-rejects is about --rejects, which is not given", "");
}
