/*
 * Runs tests without Criterion: all of them, or those whose "suite/name" begins with an argument.
 * Arguments after "--except" name tests that are left out.
 *
 * The first failure ends the program, because the threads of the failed test may still use its
 * stack. The alarm ends a test that hangs.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/test.h"

enum { SECONDS_PER_TEST = 300 };

static struct test_case *all_tests;

void test_register(struct test_case *test)
{
    struct test_case **end = &all_tests;

    while (*end) {
        end = &(*end)->next;
    }
    *end = test;
}

void test_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;

    printf("FAILED: %s:%d: ", file, line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
    _Exit(EXIT_FAILURE);
}

static bool is_wanted(const struct test_case *test, int argc, char **argv)
{
    char name[256];
    bool wanted = argc == 1 || strcmp(argv[1], "--except") == 0;
    bool selects = true;

    snprintf(name, sizeof name, "%s/%s", test->suite, test->name);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--except") == 0) {
            selects = false;
        } else if (strncmp(name, argv[i], strlen(argv[i])) == 0) {
            wanted = selects;
        }
    }
    return wanted;
}

int main(int argc, char **argv)
{
    size_t run_count = 0;

    for (struct test_case *test = all_tests; test; test = test->next) {
        if (is_wanted(test, argc, argv)) {
            printf("%s/%s\n", test->suite, test->name);
            fflush(stdout);
            alarm(SECONDS_PER_TEST);
            test->body();
            run_count++;
        }
    }
    printf("%zu tests passed\n", run_count);
    return run_count > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
