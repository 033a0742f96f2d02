/* Owns the signal handlers for crashes of steps; see step/step_crash.h. */
#include "step/step_crash.h"

#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Room for the handler when the stack of the thread is used up, as after endless recursion. */
#define HANDLER_STACK_SIZE 16384

static const int crash_signals[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };

/* Only its own thread accesses these, in a handler, too: hence volatile. */
static _Thread_local const char *volatile current_line;
static _Thread_local bool has_stack;
static _Thread_local char handler_stack[HANDLER_STACK_SIZE];

/* Calls only what a signal handler may call. SA_RESETHAND has restored the default action. */
static void report_crash(int number)
{
    const char *line = current_line;
    if (line) {
        (void)!write(STDERR_FILENO, line, strlen(line));
    }
    raise(number);
}

void step_crash_install(void)
{
    for (size_t i = 0; i < sizeof crash_signals / sizeof *crash_signals; i++) {
        struct sigaction before;
        struct sigaction action = { .sa_handler = report_crash,
                                    .sa_flags = SA_ONSTACK | (int)SA_RESETHAND };
        sigemptyset(&action.sa_mask);
        /* A handler that is there already, such as a sanitizer's, says more than this one. */
        if (sigaction(crash_signals[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL) {
            sigaction(crash_signals[i], &action, NULL);
        }
    }
}

/* Gives the thread a stack for the handler, unless it has one. */
static void provide_stack(void)
{
    stack_t stack;
    if (has_stack) {
        return;
    }
    has_stack = true;
    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_DISABLE) {
        stack = (stack_t){ .ss_sp = handler_stack, .ss_size = sizeof handler_stack };
        sigaltstack(&stack, NULL);
    }
}

void step_crash_enter(char line[STEP_CRASH_LINE_SIZE], const char *format, ...)
{
    static const char begin[] = "ledgerbatch: ";
    static const char end[] = "; the same command goes on from the last commit\n";
    size_t room = STEP_CRASH_LINE_SIZE - sizeof begin - sizeof end;
    va_list arguments;
    va_start(arguments, format);
    memcpy(line, begin, sizeof begin);
    int size = vsnprintf(line + sizeof begin - 1, room, format, arguments);
    va_end(arguments);
    if (size < 0) {
        line[sizeof begin - 1] = 0;
    }
    memcpy(line + strlen(line), end, sizeof end);
    provide_stack();
    current_line = line;
}

void step_crash_leave(void)
{
    current_line = NULL;
}
