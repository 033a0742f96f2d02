/*
 * Decides whether the processor's counter can replace the clock.
 *
 * The system decides the same for its own clock, and from more than a process can see: how the
 * counters of all processors started, whether one of them ever lagged, what a hypervisor does to
 * them. So the counter is used where the system's clock is based on it at this moment: then it is
 * as reliable as the clock. Only the processor can tell whether the counter runs at a constant
 * rate, whatever the processor does to save power.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#define SYSTEM_NAME "tsc\n"
#elif defined(__aarch64__) && defined(__linux__)
#define SYSTEM_NAME "arch_sys_counter\n"
#endif

#if defined(SYSTEM_NAME)

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Returns true if the system's clock is based on the counter. Reads at most the name and the end of
 * the line. */
static bool is_source_of_clock(void)
{
    char name[sizeof SYSTEM_NAME] = "";
    int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return false;
    ssize_t size = read(file, name, sizeof name - 1);
    close(file);
    return size > 0 && strcmp(name, SYSTEM_NAME) == 0;
}

/* Returns true if the counter runs at a constant rate and can be read in order. On ARM the
 * architecture guarantees both. */
static bool has_constant_rate(void)
{
#if defined(__x86_64__)
    enum { HAS_RDTSCP = 1 << 27, IS_INVARIANT = 1 << 8 };
    unsigned a, b, c, d;
    return __get_cpuid(0x80000001, &a, &b, &c, &d) && (d & HAS_RDTSCP) != 0 &&
           __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & IS_INVARIANT) != 0;
#else
    return true;
#endif
}

bool lanepool_i_counter_is_usable(void)
{
    return has_constant_rate() && is_source_of_clock();
}

#else

bool lanepool_i_counter_is_usable(void)
{
    return false;
}

#endif
