/*
 * One way to write a test, two ways to run it.
 *
 *     Test(suite, what_does_what_when) { expect_eq(1 + 1, 2); }
 *
 * Criterion runs each test in a process of its own. Its sandbox cannot run under ThreadSanitizer.
 * Therefore the same file also builds as a plain program that runs its tests one after the other.
 *
 * The first expectation that fails ends the test. Expectations belong on the thread that runs the
 * test: record the work of other threads, join them, and check afterwards.
 */
#ifndef TESTS_SUPPORT_TEST_H
#define TESTS_SUPPORT_TEST_H

#include <stdbool.h>
#include <stdint.h>

#include "lanepool/status.h"

#ifdef LANEPOOL_CRITERION_TESTS
#include <criterion/criterion.h>
#else

struct test_case {
    const char *suite;
    const char *name;
    void (*body)(void);
    struct test_case *next;
};

void test_register(struct test_case *test);

#define Test(suite_name, test_name)                                                            \
    static void suite_name##_##test_name(void);                                                \
    static struct test_case suite_name##_##test_name##_case = { #suite_name, #test_name,       \
                                                                suite_name##_##test_name, 0 }; \
    __attribute__((constructor)) static void suite_name##_##test_name##_enrol(void)            \
    {                                                                                          \
        test_register(&suite_name##_##test_name##_case);                                       \
    }                                                                                          \
    static void suite_name##_##test_name(void)
#endif

/* Ends the running test as failed; does not return. */
__attribute__((noreturn, format(printf, 3, 4))) void test_fail(const char *file, int line,
                                                               const char *format, ...);

/* Compare the two sides of expect_eq and expect_status; a failure prints both values. */
void test_equal(const char *file, int line, const char *text, intmax_t actual, intmax_t wanted);
void test_status(const char *file, int line, const char *text, lanepool_status actual,
                 lanepool_status wanted);

#define expect(condition)                                    \
    do {                                                     \
        if (!(condition)) {                                  \
            test_fail(__FILE__, __LINE__, "%s", #condition); \
        }                                                    \
    } while (0)

/* For integers of any type. */
#define expect_eq(actual, wanted) \
    test_equal(__FILE__, __LINE__, #actual " == " #wanted, (intmax_t)(actual), (intmax_t)(wanted))

/* For a status, which is printed by name. */
#define expect_status(call, wanted) test_status(__FILE__, __LINE__, #call, (call), (wanted))

/* For a call that must succeed. */
#define expect_ok(call) expect_status(call, LANEPOOL_OK)

#endif
