/* The sites: all atomic operations in the sources of the library. The order of one of them can be
 * weakened. */
#ifndef TESTS_SIMULATOR_WEAK_SITES_H
#define TESTS_SIMULATOR_WEAK_SITES_H

#include <stdbool.h>
#include <stddef.h>

/* What an order consists of. */
enum sim_part { SIM_TOTAL, SIM_ACQUIRE, SIM_RELEASE, SIM_PARTS };

struct sim_site_text {
    const char *file; /* from src/ on */
    const char *function;
    char operation[32]; /* as the source calls it: load_acquire */
    char object[96];
    unsigned occurrence; /* from 1: of equal operations in the function */
};

/* Sites have numbers from 1. */
unsigned sim_site_count(void);
struct sim_site_text sim_site_text(unsigned number);
bool sim_site_has(unsigned number, enum sim_part part);
/* Takes a part of the order away: TOTAL leaves acquire and release. Number 0: from no site. */
void sim_site_weaken(unsigned number, enum sim_part part);
/* Returns how often the weakened site was executed. */
unsigned long sim_site_executions(void);

#endif
