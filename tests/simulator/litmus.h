/*
 * Litmus programs: small fixed programs on the source of one protocol. The program `orders` runs
 * each under many random schedules, in which loads may get old values (weak.h). A program checks
 * what the protocol promises by sim_fail(); plain data that the protocol guards is checked by the
 * simulator.
 */
#ifndef TESTS_SIMULATOR_LITMUS_H
#define TESTS_SIMULATOR_LITMUS_H

#include "simulator/simulator.h"

struct litmus {
    const char *name;
    void (*body)(void *unused);
    struct litmus *next;
};

/* Adds a program to the list, which is sorted by name. Call it before main() begins. */
void litmus_register(struct litmus *litmus);
const struct litmus *litmus_first(void);

/* Runs a function on two or more threads of their own, until all have returned. The argument is
 * the thread's index. */
void litmus_threads(uint32_t count, void (*main)(uint32_t index));

#define LITMUS(title)                                                                 \
    static void litmus_##title(void *unused);                                         \
    static struct litmus title##_litmus = { .name = #title, .body = litmus_##title }; \
    __attribute__((constructor)) static void title##_enrol(void)                      \
    {                                                                                 \
        litmus_register(&title##_litmus);                                             \
    }                                                                                 \
    static void litmus_##title(void *unused)

#endif
