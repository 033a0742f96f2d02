/*
 * The crash of a step: the operator sees which step, client and group was running.
 *
 * A thread that calls a step notes a line before. If the thread gets a signal of a crash, the line
 * is written to standard error, and the program ends by that signal as it would without this.
 */
#ifndef LEDGERBATCH_STEP_STEP_CRASH_H
#define LEDGERBATCH_STEP_STEP_CRASH_H

#define STEP_CRASH_LINE_SIZE 512

/* Installs the handlers of SIGSEGV, SIGBUS, SIGILL, SIGFPE and SIGABRT. */
void step_crash_install(void);

/* Notes a line for this thread, which is valid until step_crash_leave(). Longer texts are cut. */
void step_crash_enter(char line[STEP_CRASH_LINE_SIZE], const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void step_crash_leave(void);

#endif
