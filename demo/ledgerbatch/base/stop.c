/* Owns the handler of SIGTERM. */
#include "base/stop.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t is_asked;
static struct sigaction before;

static void note_signal(int number)
{
    (void)number;
    is_asked = 1;
}

void stop_begin(void)
{
    struct sigaction action = { .sa_handler = note_signal, .sa_flags = SA_RESTART };
    is_asked = 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, &before);
}

void stop_end(void)
{
    sigaction(SIGTERM, &before, NULL);
}

bool stop_is_asked(void)
{
    return is_asked != 0;
}
