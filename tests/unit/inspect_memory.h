/* The memory of src/inspect/ in this program, which journal_check_memory.c has in place of the
 * system's. */
#ifndef TESTS_UNIT_INSPECT_MEMORY_H
#define TESTS_UNIT_INSPECT_MEMORY_H

#include <stddef.h>

/* Refuses the request with this number, counted from now, from 1; 0: none. */
void refuse_request(size_t number);
size_t pieces_in_use(void);

#endif
