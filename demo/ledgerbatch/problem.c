/* Owns nothing: formats a problem's text. */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

bool problem_set(struct problem *problem, enum exit_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    problem->code = code;
    problem->has_place = false;
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    return false;
}

bool problem_set_place(struct problem *problem, const char *file, unsigned long line,
                       const char *message)
{
    problem_set(problem, EXIT_CODE_INPUT, "%s:%lu: %s", file, line, message);
    problem->has_place = true;
    return false;
}
