#define _GNU_SOURCE /* sched_getaffinity, gettid */
#include "support/process.h"

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Only a guard against waiting for ever. */
enum { GUARD_SECONDS = 30, LOOKS_IN_A_ROW = 20 };

/* Returns the number of names in a directory; 0 if it cannot be read. */
static size_t count_names(const char *path)
{
    DIR *directory = opendir(path);
    size_t count = 0;

    while (directory) {
        const struct dirent *entry = readdir(directory);

        if (!entry) {
            closedir(directory);
            break;
        }
        count += entry->d_name[0] != '.';
    }
    return count;
}

size_t process_thread_count(void)
{
    return count_names("/proc/self/task");
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

/* Returns the letter by which the system shows the state of a thread. */
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

    /* Checks several times, so that a short wait for a lock is not taken for the final sleep. */
    for (int looks = 0; looks < LOOKS_IN_A_ROW;) {
        if (time(NULL) > deadline) {
            return false;
        }
        looks = thread_state(thread) == 'S' ? looks + 1 : 0;
        sched_yield();
    }
    return true;
}

bool process_other_threads_sleep(void)
{
    DIR *tasks = opendir("/proc/self/task");
    bool all_sleep = tasks != NULL;

    while (all_sleep) {
        const struct dirent *entry = readdir(tasks);
        long thread = entry ? strtol(entry->d_name, NULL, 10) : 0;

        if (!entry) {
            break;
        }
        all_sleep = thread == 0 || thread == gettid() || process_thread_sleeps(thread);
    }
    if (tasks) {
        closedir(tasks);
    }
    return all_sleep;
}

size_t process_cpu_count(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? (size_t)CPU_COUNT(&set) : 0;
}

size_t process_descriptor_count(void)
{
    return count_names("/proc/self/fd");
}

unsigned long long process_resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file) {
        if (fscanf(file, "%*u %llu", &pages) != 1) {
            pages = 0;
        }
        fclose(file);
    }
    return pages * (unsigned long long)sysconf(_SC_PAGESIZE);
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(EXIT_FAILURE);
    }
}

#if defined(__SANITIZE_ADDRESS__)
/* A child that was forked while other threads ran would hang at its exit: the search for leaks
 * waits for locks that those threads held. The leak checker calls this function by its name. */
static bool is_apart;
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return is_apart;
}
#endif

/* Restores default signal handlers and disables core dumps, so that a signal kills the child as it
 * kills any program. */
static void be_an_ordinary_process(void)
{
#if defined(__SANITIZE_ADDRESS__)
    is_apart = true;
#endif
    static const int deadly[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV };
    const struct rlimit no_dump = { 0, 0 };

    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++) {
        signal(deadly[i], SIG_DFL);
    }
    setrlimit(RLIMIT_CORE, &no_dump);
}

/* Returns true if the child ends in time. It holds the writing end of the pipe until then. */
static bool comes_to_an_end(int reading_end)
{
    struct pollfd end = { .fd = reading_end, .events = POLLIN };
    time_t deadline = time(NULL) + GUARD_SECONDS;

    while (poll(&end, 1, 1000) <= 0) {
        if (time(NULL) > deadline) {
            return false;
        }
    }
    return true;
}

int process_run_apart(void (*body)(void *context), void *context)
{
    int ends[2];
    int status;
    bool ended;
    pid_t child;

    must(pipe(ends) == 0, "pipe");
    fflush(NULL); /* otherwise the child prints the buffered text, too */
    child = fork();
    must(child >= 0, "fork");
    if (child == 0) {
        close(ends[0]);
        be_an_ordinary_process();
        body(context);
        _exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    ended = comes_to_an_end(ends[0]);
    close(ends[0]);
    if (!ended) {
        kill(child, SIGKILL);
    }
    must(waitpid(child, &status, 0) == child, "waitpid");
    return ended ? status : -1;
}

void *process_shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    must(memory != MAP_FAILED, "mmap");
    return memory;
}

void process_shared_memory_free(void *memory, size_t size)
{
    must(munmap(memory, size) == 0, "munmap");
}
