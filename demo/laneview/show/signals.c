/* Owns the signals that a running program obeys. */
#include "show/signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/select.h>

#define SECOND_NS 1000000000u

static const int end_signals[] = { SIGINT, SIGTERM, SIGHUP };
static volatile sig_atomic_t end_signal, was_resized, must_stop;
static sigset_t saved_mask; /* the signals blocked before signals_hold() */

static void note_signal(int signal)
{
    if (signal == SIGWINCH) {
        was_resized = 1;
    } else if (signal == SIGTSTP) {
        must_stop = 1;
    } else {
        end_signal = signal;
    }
}

static void hold_signal(sigset_t *signals, int signal)
{
    struct sigaction action = { .sa_handler = note_signal }, old;
    sigemptyset(&action.sa_mask);
    if (sigaction(signal, NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
        sigaddset(signals, signal);
        sigaction(signal, &action, NULL);
    }
}

void signals_hold(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    for (unsigned i = 0; i < sizeof end_signals / sizeof *end_signals; i++) {
        hold_signal(&signals, end_signals[i]);
    }
    hold_signal(&signals, SIGTSTP);
    hold_signal(&signals, SIGWINCH);
    sigprocmask(SIG_BLOCK, &signals, &saved_mask);
}

bool signals_wait(int file, uint64_t ns)
{
    struct timespec limit = { (time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS) };
    fd_set files;
    FD_ZERO(&files);
    if (file >= 0) {
        FD_SET(file, &files);
    }
    return pselect(file + 1, &files, NULL, NULL, &limit, &saved_mask) > 0;
}

int signals_end(void)
{
    return end_signal;
}

static bool take_flag(volatile sig_atomic_t *flag)
{
    bool was_set = *flag != 0;
    *flag = 0;
    return was_set;
}

bool signals_take_resize(void)
{
    return take_flag(&was_resized);
}

bool signals_take_stop(void)
{
    return take_flag(&must_stop);
}

void signals_die(int signal_number)
{
    signal(signal_number, SIG_DFL);
    raise(signal_number);
    sigprocmask(SIG_SETMASK, &saved_mask, NULL);
}
