/*
 * Times as people write them: 12.5 ms.
 */
#ifndef LANEVIEW_UNITS_H
#define LANEVIEW_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define UNITS_TEXT_SIZE 32

/* A time in the unit that suits it, with three digits or so; returns `text`. */
const char *units_format(char text[UNITS_TEXT_SIZE], uint64_t ns);

/* A mark on an axis: exact for multiples of a step that units_step() gave. */
const char *units_format_tick(char text[UNITS_TEXT_SIZE], uint64_t ns, uint64_t step_ns);

/* Reads a number with a unit: 12.5ms, 3s, 200us, 0. False if it is not a time up to 100 days. */
bool units_parse(const char *text, uint64_t *ns);

/* A round step such that `span_ns` has about `count` of them. */
uint64_t units_step(uint64_t span_ns, unsigned count);

#endif
