/*
 * Reads the keys of a user's step in a rules file. Only the reader of steps uses this.
 */
#ifndef LEDGERBATCH_PLAN_USER_STEP_KEYS_H
#define LEDGERBATCH_PLAN_USER_STEP_KEYS_H

#include "plan/rules.h"
#include "plan/yaml_reader.h"

/* Reads all keys of a step but `groups`. */
void user_step_keys_read(struct yaml_reader *reader, const yaml_node_t *node, struct rules *rules,
                         struct user_step *user);

#endif
