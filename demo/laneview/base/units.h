/*
 * Times as people write them: 12.5 ms.
 */
#ifndef LANEVIEW_UNITS_H
#define LANEVIEW_UNITS_H

#include <stdbool.h>
#include <stdint.h>

#define UNITS_TEXT_SIZE 32

/* Writes a time in a suitable unit, with about three digits; returns `text`. */
const char *units_format(char text[UNITS_TEXT_SIZE], uint64_t ns);

/* Writes the label of a tick on an axis. The label is exact for multiples of a step from
 * units_step(). */
const char *units_format_tick(char text[UNITS_TEXT_SIZE], uint64_t ns, uint64_t step_ns);

/* Reads a number with a unit: 12.5ms, 3s, 200us, 0. Returns false if it is not a time up to 100
 * days. */
bool units_parse(const char *text, uint64_t *ns);

/* Returns a round step that divides `span_ns` into about `count` parts. */
uint64_t units_step(uint64_t span_ns, unsigned count);

#endif
