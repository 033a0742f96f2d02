/* Owns the reading of scenarios, statement by statement. */
#include "session/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "memory.h"
#include "session/scenario_file.h"
#include "session/scenario_internal.h"

#define WORKERS_MAX 1024
#define KEYS_MAX    10000

/* --- statements that declare --- */

static bool read_workers(struct scenario_reader *reader)
{
    if (reader->has_workers) {
        return scenario_fail_at_line(reader, "workers is given twice", "");
    }
    reader->has_workers = true;
    return (reader->word_count == 2 &&
            scenario_read_number(reader->words[1], WORKERS_MAX, &reader->scenario->worker_count)) ||
           scenario_fail_at_line(reader, "expected: workers NUMBER, from 1 to 1024", "");
}

static bool read_layout(struct scenario_reader *reader)
{
    const char *layout = reader->word_count == 2 ? reader->words[1] : "";
    if (reader->has_layout) {
        return scenario_fail_at_line(reader, "layout is given twice", "");
    }
    reader->has_layout = true;
    reader->scenario->layout =
        strcmp(layout, "worker") == 0 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    return strcmp(layout, "worker") == 0 || strcmp(layout, "key") == 0 ||
           scenario_fail_at_line(reader, "expected: layout key|worker", "");
}

/* Adds a client. Words with another meaning in a list of claims are refused. */
static bool add_key(struct scenario_reader *reader, const char *name)
{
    struct scenario *scenario = reader->scenario;
    if (strcmp(name, "each") == 0 || strcmp(name, "for") == 0 || strpbrk(name, ",:*")) {
        return scenario_fail_at_line(reader, "not a name for a client: ", name);
    }
    if (scenario_find_key(scenario, name) < scenario->key_count) {
        return scenario_fail_at_line(reader, "there is a client of this name already: ", name);
    }
    if (scenario->key_count == KEYS_MAX) {
        return scenario_fail_at_line(reader, "more than 10000 clients", "");
    }
    scenario->keys = memory_grow(scenario->keys, &scenario->key_capacity, scenario->key_count + 1,
                                 sizeof *scenario->keys);
    scenario->keys[scenario->key_count++] = memory_copy_text(name);
    return true;
}

/* Adds the clients of a range: C1..C20. */
static bool add_key_range(struct scenario_reader *reader, char *word, char *dots)
{
    size_t stem = dots > word ? (size_t)(dots - word) : 0;
    unsigned first, last;
    char *end = dots + 2;
    struct text name = { 0 };
    bool added = true;
    *dots = 0;
    while (stem > 0 && word[stem - 1] >= '0' && word[stem - 1] <= '9') {
        stem--;
    }
    if (strncmp(end, word, stem) != 0 || !scenario_read_number(word + stem, KEYS_MAX, &first) ||
        !scenario_read_number(end + stem, KEYS_MAX, &last) || last < first) {
        return scenario_fail_at_line(reader, "expected a range such as C1..C20", "");
    }
    for (unsigned i = first; i <= last && added; i++) {
        name.size = 0;
        text_add(&name, "%.*s%u", (int)stem, word, i);
        added = add_key(reader, name.data);
    }
    text_fini(&name);
    return added;
}

static bool read_clients(struct scenario_reader *reader)
{
    bool added =
        reader->word_count > 1 || scenario_fail_at_line(reader, "expected: client NAME...", "");
    for (size_t i = 1; i < reader->word_count && added; i++) {
        char *dots = strstr(reader->words[i], "..");
        added = dots ? add_key_range(reader, reader->words[i], dots)
                     : add_key(reader, reader->words[i]);
    }
    return added;
}

/* --- statements that act --- */

static bool is_submission(const struct scenario_reader *reader, size_t at)
{
    const char *word = at < reader->word_count ? reader->words[at] : "";
    return strcmp(word, "task") == 0 || strcmp(word, "rollup") == 0 || strcmp(word, "cut") == 0;
}

static bool read_repeat(struct scenario_reader *reader)
{
    unsigned times;
    if (!is_submission(reader, 2) ||
        !scenario_read_number(reader->words[1], SCENARIO_STEPS_MAX, &times)) {
        return scenario_fail_at_line(reader, "expected: repeat NUMBER task|rollup|cut ...", "");
    }
    return scenario_read_submission(reader, 2, times);
}

static bool read_after(struct scenario_reader *reader)
{
    struct scenario_step pause = { .kind = SCENARIO_PAUSE };
    if (reader->word_count != 2 || !units_parse(reader->words[1], &pause.duration_ns)) {
        return scenario_fail_at_line(reader, "expected: after TIME, such as after 5ms", "");
    }
    return scenario_add_step(reader, &pause);
}

/* Returns true if a task of the client that may be parked comes before. Otherwise there is
 * nothing to resolve. */
static bool may_have_parked(const struct scenario *scenario, size_t key)
{
    bool found = false;
    for (size_t i = 0; i < scenario->step_count && !found; i++) {
        const struct scenario_step *step = &scenario->steps[i];
        found = step->failure.is_parked && scenario_claims(scenario, step, key);
    }
    return found;
}

static bool read_resolve(struct scenario_reader *reader)
{
    struct scenario_step step = { .kind = SCENARIO_RESOLVE };
    unsigned resolution;
    if (reader->word_count != 3 ||
        !scenario_read_word(reader->words[2], scenario_resolutions, &resolution)) {
        return scenario_fail_at_line(reader, "expected: resolve CLIENT retry|skip|drop", "");
    }
    step.resolution = (lanepool_resolution)resolution;
    if (!scenario_read_key(reader, reader->words[1], &step.key)) {
        return false;
    }
    if (!may_have_parked(reader->scenario, step.key)) {
        return scenario_fail_at_line(
            reader, "no task of this client before is parked (then poison): ", reader->words[1]);
    }
    return scenario_add_step(reader, &step);
}

/* --- lines --- */

static bool read_statement(struct scenario_reader *reader)
{
    const char *word = reader->words[0];
    if (strcmp(word, "workers") == 0) {
        return read_workers(reader);
    }
    if (strcmp(word, "layout") == 0) {
        return read_layout(reader);
    }
    if (strcmp(word, "client") == 0) {
        return read_clients(reader);
    }
    if (is_submission(reader, 0)) {
        return scenario_read_submission(reader, 0, 1);
    }
    if (strcmp(word, "repeat") == 0) {
        return read_repeat(reader);
    }
    if (strcmp(word, "after") == 0) {
        return read_after(reader);
    }
    if (strcmp(word, "resolve") == 0) {
        return read_resolve(reader);
    }
    return scenario_fail_at_line(reader, "unknown statement ", word);
}

static bool read_line(struct scenario_reader *reader, char *line)
{
    char *hash = strchr(line, '#');
    if (hash) {
        *hash = 0;
    }
    reader->word_count = 0;
    for (char *at = line + strspn(line, " \t\r"); *at; at += strspn(at, " \t\r")) {
        if (reader->word_count == SCENARIO_WORDS_MAX) {
            return scenario_fail_at_line(reader, "more than 64 words", "");
        }
        reader->words[reader->word_count++] = at;
        at += strcspn(at, " \t\r");
        if (*at) {
            *at++ = 0;
        }
    }
    return reader->word_count == 0 || read_statement(reader);
}

static bool read_lines(struct scenario_reader *reader, char *at, char *end)
{
    while (at < end) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *line_end = newline ? newline : end;
        reader->line++;
        if (memchr(at, 0, (size_t)(line_end - at))) {
            return scenario_fail_at_line(reader, "a zero byte: not a text", "");
        }
        *line_end = 0;
        if (!read_line(reader, at)) {
            return false;
        }
        at = line_end + 1;
    }
    return true;
}

bool scenario_read(struct scenario *scenario, const char *name, struct problem *problem)
{
    struct text file = { 0 }, text = { 0 };
    *scenario = (struct scenario){ .worker_count = 2, .layout = LANEPOOL_PER_KEY };
    scenario_find(&file, name);
    bool done = scenario_load(&text, name, file.data, problem);
    if (done) {
        struct scenario_reader reader = { .scenario = scenario,
                                          .file = file.data,
                                          .problem = problem };
        done = read_lines(&reader, text.data, text.data + text.size);
    }
    text_fini(&file);
    text_fini(&text);
    return done;
}

bool scenario_claims(const struct scenario *scenario, const struct scenario_step *step, size_t key)
{
    bool found = false;
    for (size_t i = 0; i < step->claim_count && !found; i++) {
        found = scenario->claims[step->first_claim + i].key == key;
    }
    return found;
}

bool scenario_needs_lanes_per_key(const struct scenario *scenario)
{
    bool found = false;
    for (size_t i = 0; i < scenario->step_count && !found; i++) {
        const struct scenario_step *step = &scenario->steps[i];
        found = step->is_cut || step->failure.retries > 0 || step->failure.is_parked ||
                step->at_poison != LANEPOOL_AT_POISON_WAIT;
    }
    return found;
}

void scenario_fini(struct scenario *scenario)
{
    for (size_t i = 0; i < scenario->key_count; i++) {
        free(scenario->keys[i]);
    }
    for (unsigned tag = 1; tag <= scenario->tag_count; tag++) {
        free(scenario->tags[tag]);
    }
    free(scenario->keys);
    free(scenario->claims);
    free(scenario->steps);
    *scenario = (struct scenario){ 0 };
}
