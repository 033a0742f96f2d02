/*
 * Whether the processor's counter may stand for the clock. The system has to
 * find out the same for its own clock, from more than a process can see: how
 * the counters of all processors started, whether one of them once lagged, what
 * a hypervisor does to them. So the counter is used where the system's clock
 * goes by it just now: then it is as much in order as the clock is. That it
 * goes on evenly, whatever the processor does to save power, the processor itself has to say.
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

/* Reads no more than the name and the end of the line. */
static bool the_clock_goes_by_it(void)
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

/* On ARM the architecture itself promises an even counter, and how it is read in order. */
static bool is_even(void)
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
    return is_even() && the_clock_goes_by_it();
}

#else

bool lanepool_i_counter_is_usable(void)
{
    return false;
}

#endif
