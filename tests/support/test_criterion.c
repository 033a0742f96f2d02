/* Implements test failures under Criterion, which has its own main(). */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/test.h"

void test_fail(const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    cr_assert_fail("%s:%d: %s", file, line, text);
    abort(); /* not reached: a failed assertion ends the test */
}
