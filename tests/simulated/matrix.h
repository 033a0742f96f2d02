/* Every way of ending a pool against everything that it can meet: one small scenario a cell. */
#ifndef TESTS_SIMULATED_MATRIX_H
#define TESTS_SIMULATED_MATRIX_H

#include "simulated/scenarios.h"

/* Fills in the cells, named `matrix_<row>_<column>`; how many. */
size_t matrix_scenarios(struct scenario *list, size_t most);

#endif
