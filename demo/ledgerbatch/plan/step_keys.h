/*
 * Reads the month-end steps of a rules file. Only the reader of rules files uses this.
 */
#ifndef LEDGERBATCH_PLAN_STEP_KEYS_H
#define LEDGERBATCH_PLAN_STEP_KEYS_H

#include "plan/rules.h"
#include "plan/yaml_reader.h"

/* Reads a pattern or a list of them. */
void step_keys_read_patterns(struct yaml_reader *reader, const yaml_node_t *value,
                             struct rules *rules, struct patterns *patterns);

/* Reads the list of steps. */
void step_keys_read_steps(struct yaml_reader *reader, const yaml_node_t *value,
                          struct rules *rules);

#endif
