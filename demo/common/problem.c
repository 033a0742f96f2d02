/* Formats the messages of problems. */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

/* Replaces control characters. The message can quote a file, which must not control a terminal. */
static void hide_controls(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) {
            *text = '?';
        }
    }
}

static void format_text(struct problem *problem, enum exit_code code, const char *format,
                        va_list arguments)
{
    problem->code = code;
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    hide_controls(problem->text);
}

bool problem_set(struct problem *problem, enum exit_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_text(problem, code, format, arguments);
    va_end(arguments);
    problem->has_place = false;
    return false;
}

bool problem_set_place(struct problem *problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    format_text(problem, EXIT_CODE_INPUT, format, arguments);
    va_end(arguments);
    problem->has_place = true;
    return false;
}
