/*
 * Plants each error that this build can find, and searches for a workload that finds it.
 *
 *     planted [--count N] [--cuts] NUMBER...
 *
 * For each number (src/base/planted.h) a separate process plants the error. It runs workloads until
 * one fails or a sanitizer ends the process. One of the first N workloads must find each error,
 * 100,000 by default. With --cuts only workloads with cuts are run and counted. An error may also
 * keep a workload from ending: a process ends after ten minutes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/planted.h"
#include "simulator/simulated_property.h"
#include "stress/arguments.h"
#include "support/tally.h"

enum { NOT_FOUND = 7, SECONDS_MAX = 600 };

static const char *const names[] = { "",
                                     "relaxed latch",
                                     "lost wake-up",
                                     "latch counted twice",
                                     "two routers",
                                     "idle beside work",
                                     "late touch",
                                     "weak sleep flag",
                                     "leak",
                                     "no barrier",
                                     "unretained",
                                     "tombstone keeps a lane",
                                     "cancel running",
                                     "unlocked",
                                     "passes no priority",
                                     "lane overfilled",
                                     "parked too soon",
                                     "expires started",
                                     "scope as chain",
                                     "runs cancelled",
                                     "modes mixed",
                                     "numbered late",
                                     "part settles",
                                     "completes unwritten",
                                     "one user",
                                     "passed before the visit",
                                     "cut before the last visit",
                                     "visitor sleeps",
                                     "share left",
                                     "commuting entry numbered" };

_Static_assert(sizeof names / sizeof names[0] == LANEPOOL_I_PLANTED_COUNT + 1, "one name each");

static void give_up(int number)
{
    (void)number;
    _exit(NOT_FOUND);
}

/* Does not return. */
__attribute__((noreturn)) static void look_for(int error, uint64_t count, bool cuts)
{
    uint64_t tried = 0;

    lanepool_i_planted = error;
    signal(SIGALRM, give_up);
    alarm(SECONDS_MAX);
    for (uint64_t seed = 1; tried < count; seed++) {
        struct choices choices = choices_from_seed(seed);
        struct sim_options schedule = sim_options_draw(random_mix(seed));
        struct workload workload;
        struct sim_report report;
        workload_draw(&workload, &workload_small, seed, &choices);
        bool is_tried = !cuts || workload_has_cuts(&workload);
        tried += is_tried;
        if (is_tried && !property_holds(&workload, &schedule, &report)) {
            printf("%s: workload %llu, after %llu: %s\n", names[error], (unsigned long long)seed,
                   (unsigned long long)tried - 1, report.why);
            exit(EXIT_FAILURE);
        }
        workload_fini(&workload);
    }
    _exit(NOT_FOUND);
}

/* Runs the search in a child process. The child's stderr is discarded, because sanitizer reports
 * are expected. */
static bool is_found(int error, uint64_t count, bool cuts)
{
    int status = 0;

    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr))
            _exit(NOT_FOUND);
        look_for(error, count, cuts);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) > EXIT_FAILURE &&
                                WEXITSTATUS(status) != NOT_FOUND))
        printf("%s: found by a sanitizer or a crash\n", names[error]);
    return !WIFEXITED(status) ||
           (WEXITSTATUS(status) != NOT_FOUND && WEXITSTATUS(status) != EXIT_SUCCESS);
}

int main(int argc, char **argv)
{
    uint64_t count = argument_number(argc, argv, "--count", 100000);
    bool cuts = argument_flag(argc, argv, "--cuts");
    unsigned found = 0;
    unsigned wanted = 0;

    for (int i = 1; i < argc; i++) {
        int error = atoi(argv[i]);
        if (strcmp(argv[i], "--count") == 0)
            i++;
        if (error < 1 || error > LANEPOOL_I_PLANTED_COUNT)
            continue;
        wanted++;
        if (is_found(error, count, cuts))
            found++;
        else
            printf("%s: NOT FOUND within %llu workloads\n", names[error],
                   (unsigned long long)count);
    }
    printf("%u planted errors, %u found\n", wanted, found);
    tally(found, "planted bugs found");
    return found == wanted ? EXIT_SUCCESS : EXIT_FAILURE;
}
