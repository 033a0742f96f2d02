/* Owns what all statements need: numbers, words, clients and steps. */
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "session/scenario_internal.h"

bool scenario_fail_at_line(struct scenario_reader *reader, const char *what, const char *which)
{
    return problem_set_place(reader->problem, "%s:%lu: %s%s", reader->file, reader->line, what,
                             which);
}

bool scenario_read_number(const char *text, unsigned maximum, unsigned *number)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long read = digits > 0 && digits < 10 ? strtoul(text, NULL, 10) : 0;
    *number = (unsigned)read;
    return text[digits] == 0 && read > 0 && read <= maximum;
}

const char *const scenario_at_poison[3] = { [LANEPOOL_AT_POISON_WAIT] = "wait",
                                            [LANEPOOL_AT_POISON_FAIL] = "fail",
                                            [LANEPOOL_AT_POISON_RUN_WITHOUT] = "go-without" };
const char *const scenario_resolutions[3] = { [LANEPOOL_RESOLVE_RETRY] = "retry",
                                              [LANEPOOL_RESOLVE_SKIP] = "skip",
                                              [LANEPOOL_RESOLVE_DROP] = "drop" };

bool scenario_read_word(const char *text, const char *const words[3], unsigned *number)
{
    for (*number = 0; *number < 3 && strcmp(text, words[*number]) != 0;) {
        ++*number;
    }
    return *number < 3;
}

size_t scenario_find_key(const struct scenario *scenario, const char *name)
{
    size_t key = 0;
    while (key < scenario->key_count && strcmp(scenario->keys[key], name) != 0) {
        key++;
    }
    return key;
}

bool scenario_read_key(struct scenario_reader *reader, const char *name, size_t *key)
{
    *key = scenario_find_key(reader->scenario, name);
    return *key < reader->scenario->key_count ||
           scenario_fail_at_line(reader, "there is no client of this name: ", name);
}

bool scenario_add_step(struct scenario_reader *reader, const struct scenario_step *step)
{
    struct scenario *scenario = reader->scenario;
    if (scenario->step_count == SCENARIO_STEPS_MAX) {
        return scenario_fail_at_line(reader, "more than 1000000 steps", "");
    }
    scenario->steps = memory_grow(scenario->steps, &scenario->step_capacity,
                                  scenario->step_count + 1, sizeof *scenario->steps);
    scenario->steps[scenario->step_count++] = *step;
    return true;
}
