#define _GNU_SOURCE /* sched_getaffinity, gettid */
#include "support/process.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

/* Only a guard against waiting for ever. */
enum { GUARD_SECONDS = 30, LOOKS_IN_A_ROW = 20 };

size_t process_thread_count(void)
{
    DIR *tasks = opendir("/proc/self/task");
    size_t count = 0;

    while (tasks) {
        const struct dirent *entry = readdir(tasks);

        if (!entry) {
            closedir(tasks);
            break;
        }
        count += entry->d_name[0] != '.';
    }
    return count;
}

bool process_has_threads(size_t count)
{
    time_t deadline = time(NULL) + GUARD_SECONDS;

    while (process_thread_count() != count) {
        if (time(NULL) > deadline) {
            return false;
        }
        sched_yield();
    }
    return true;
}

long process_thread_self(void)
{
    return gettid();
}

/* The state letter that the system shows for a thread. */
static char thread_state(long thread)
{
    char path[64];
    char state = '?';
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", thread);
    file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) {
            state = '?';
        }
        fclose(file);
    }
    return state;
}

bool process_thread_sleeps(long thread)
{
    time_t deadline = time(NULL) + GUARD_SECONDS;

    /* Several looks, so that a short wait for a lock on the way is not taken for the end of it. */
    for (int looks = 0; looks < LOOKS_IN_A_ROW;) {
        if (time(NULL) > deadline) {
            return false;
        }
        looks = thread_state(thread) == 'S' ? looks + 1 : 0;
        sched_yield();
    }
    return true;
}

size_t process_cpu_count(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 0;
}
