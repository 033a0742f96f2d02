/* Owns nothing: formats a problem's text. */
#include "problem.h"

#include <stdarg.h>
#include <stdio.h>

/* Names from the input are in the text: nothing in them may steer the user's terminal. */
static void hide_controls(char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c == 0x7f) {
            *text = '?';
        }
    }
}

bool problem_set(struct problem *problem, enum exit_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    problem->code = code;
    problem->has_place = false;
    vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    hide_controls(problem->text);
    return false;
}

bool problem_set_place(struct problem *problem, const char *file, unsigned long line,
                       const char *message)
{
    problem_set(problem, EXIT_CODE_INPUT, "%s:%lu: %s", file, line, message);
    problem->has_place = true;
    return false;
}
