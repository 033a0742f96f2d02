/* Each way of ending a pool combined with each situation: one small scenario for each pair. */
#ifndef TESTS_SIMULATED_MATRIX_H
#define TESTS_SIMULATED_MATRIX_H

#include "simulated/scenarios.h"

/* Fills in the scenarios, named `matrix_<row>_<column>`. Returns their number. */
size_t matrix_scenarios(struct scenario *list, size_t most);

#endif
