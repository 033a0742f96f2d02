/* Owns the reading of scenarios, statement by statement. */
#include "scenario.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "scenario_file.h"
#include "units.h"

#define WORKERS_MAX 1024
#define STEPS_MAX   1000000
#define KEYS_MAX    10000
#define WORDS_MAX   64

struct reader {
    struct scenario *scenario;
    const char *file;
    unsigned long line;
    char *words[WORDS_MAX]; /* of the line */
    size_t word_count;
    bool has_workers, has_layout;
    struct problem *problem;
};

static bool wrong(struct reader *reader, const char *what, const char *which)
{
    return problem_set_place(reader->problem, "%s:%lu: %s%s", reader->file, reader->line, what,
                             which);
}

static bool read_number(const char *text, unsigned maximum, unsigned *number)
{
    size_t digits = strspn(text, "0123456789");
    unsigned long read = digits > 0 && digits < 10 ? strtoul(text, NULL, 10) : 0;
    *number = (unsigned)read;
    return text[digits] == 0 && read > 0 && read <= maximum;
}

/* --- what there is --- */

static bool read_workers(struct reader *reader)
{
    if (reader->has_workers) {
        return wrong(reader, "workers is given twice", "");
    }
    reader->has_workers = true;
    return (reader->word_count == 2 &&
            read_number(reader->words[1], WORKERS_MAX, &reader->scenario->worker_count)) ||
           wrong(reader, "expected: workers NUMBER, from 1 to 1024", "");
}

static bool read_layout(struct reader *reader)
{
    const char *layout = reader->word_count == 2 ? reader->words[1] : "";
    if (reader->has_layout) {
        return wrong(reader, "layout is given twice", "");
    }
    reader->has_layout = true;
    reader->scenario->layout =
        strcmp(layout, "worker") == 0 ? LANEPOOL_PER_WORKER : LANEPOOL_PER_KEY;
    return strcmp(layout, "worker") == 0 || strcmp(layout, "key") == 0 ||
           wrong(reader, "expected: layout key|worker", "");
}

static size_t find_key(const struct scenario *scenario, const char *name)
{
    size_t key = 0;
    while (key < scenario->key_count && strcmp(scenario->keys[key], name) != 0) {
        key++;
    }
    return key;
}

/* Words that mean something else in a list of claims are no names. */
static bool add_key(struct reader *reader, const char *name)
{
    struct scenario *scenario = reader->scenario;
    if (strcmp(name, "each") == 0 || strcmp(name, "for") == 0 || strpbrk(name, ",:*")) {
        return wrong(reader, "not a name for a client: ", name);
    }
    if (find_key(scenario, name) < scenario->key_count) {
        return wrong(reader, "there is a client of this name already: ", name);
    }
    if (scenario->key_count == KEYS_MAX) {
        return wrong(reader, "more than 10000 clients", "");
    }
    scenario->keys = memory_grow(scenario->keys, &scenario->key_capacity, scenario->key_count + 1,
                                 sizeof *scenario->keys);
    scenario->keys[scenario->key_count++] = memory_copy_text(name);
    return true;
}

/* C1..C20: as many clients. */
static bool add_range(struct reader *reader, char *word, char *dots)
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
    if (strncmp(end, word, stem) != 0 || !read_number(word + stem, KEYS_MAX, &first) ||
        !read_number(end + stem, KEYS_MAX, &last) || last < first) {
        return wrong(reader, "expected a range such as C1..C20", "");
    }
    for (unsigned i = first; i <= last && added; i++) {
        name.size = 0;
        text_add(&name, "%.*s%u", (int)stem, word, i);
        added = add_key(reader, name.data);
    }
    text_fini(&name);
    return added;
}

static bool read_clients(struct reader *reader)
{
    bool added = reader->word_count > 1 || wrong(reader, "expected: client NAME...", "");
    for (size_t i = 1; i < reader->word_count && added; i++) {
        char *dots = strstr(reader->words[i], "..");
        added =
            dots ? add_range(reader, reader->words[i], dots) : add_key(reader, reader->words[i]);
    }
    return added;
}

/* --- what is done --- */

/* A statement that submits. */
struct submission {
    struct scenario_step step;
    bool for_each; /* one task for each client */
    bool has_duration;
    uint64_t every_ns; /* the pause behind each */
    unsigned times;
};

static bool add_step(struct reader *reader, const struct scenario_step *step)
{
    struct scenario *scenario = reader->scenario;
    if (scenario->step_count == STEPS_MAX) {
        return wrong(reader, "more than 1000000 steps", "");
    }
    scenario->steps = memory_grow(scenario->steps, &scenario->step_capacity,
                                  scenario->step_count + 1, sizeof *scenario->steps);
    scenario->steps[scenario->step_count++] = *step;
    return true;
}

static bool add_claim(struct reader *reader, struct submission *submission, size_t key,
                      bool is_shared)
{
    struct scenario *scenario = reader->scenario;
    for (size_t i = submission->step.first_claim; i < scenario->claim_count; i++) {
        if (scenario->claims[i].key == key) {
            return wrong(reader, "claimed twice: ", scenario->keys[key]);
        }
    }
    scenario->claims = memory_grow(scenario->claims, &scenario->claim_capacity,
                                   scenario->claim_count + 1, sizeof *scenario->claims);
    scenario->claims[scenario->claim_count++] = (struct scenario_claim){ key, is_shared };
    submission->step.claim_count++;
    return true;
}

/* NAME, NAME:shared, * or *:shared. */
static bool read_claim(struct reader *reader, struct submission *submission, char *word)
{
    struct scenario *scenario = reader->scenario;
    char *colon = strchr(word, ':');
    bool done = true;
    if (colon && strcmp(colon, ":shared") != 0) {
        return wrong(reader, "after a client only :shared may follow, not ", colon);
    }
    if (colon) {
        *colon = 0;
    }
    if (strcmp(word, "*") == 0) {
        for (size_t key = 0; key < scenario->key_count && done; key++) {
            done = add_claim(reader, submission, key, colon != NULL);
        }
        return done;
    }
    size_t key = find_key(scenario, word);
    if (key == scenario->key_count) {
        return wrong(reader, "there is no client of this name: ", word);
    }
    return add_claim(reader, submission, key, colon != NULL);
}

static bool read_claims(struct reader *reader, struct submission *submission, char *list)
{
    if (strcmp(list, "each") == 0) {
        submission->for_each = true;
        return reader->scenario->key_count > 0 || wrong(reader, "there are no clients yet", "");
    }
    for (char *word = list; word;) {
        char *comma = strchr(word, ',');
        if (comma) {
            *comma = 0;
        }
        if (!read_claim(reader, submission, word)) {
            return false;
        }
        word = comma ? comma + 1 : NULL;
    }
    return true;
}

static bool read_label(struct reader *reader, struct submission *submission, const char *label)
{
    struct scenario *scenario = reader->scenario;
    unsigned tag = 1;
    while (tag <= scenario->tag_count && strcmp(scenario->tags[tag], label) != 0) {
        tag++;
    }
    if (tag == SCENARIO_TAGS) {
        return wrong(reader, "more than 255 labels", "");
    }
    if (tag > scenario->tag_count) {
        scenario->tags[tag] = memory_copy_text(label);
        scenario->tag_count = tag;
    }
    submission->step.tag = tag;
    return true;
}

/* for TIME, every TIME, label NAME: pairs of words, in any order. */
static bool read_pair(struct reader *reader, struct submission *submission, const char *word,
                      const char *value)
{
    if (strcmp(word, "for") == 0) {
        submission->has_duration = true;
        return units_parse(value, &submission->step.duration_ns) ||
               wrong(reader, "not a time such as 20ms: ", value);
    }
    if (strcmp(word, "every") == 0) {
        return units_parse(value, &submission->every_ns) ||
               wrong(reader, "not a time such as 20ms: ", value);
    }
    if (strcmp(word, "label") == 0) {
        return read_label(reader, submission, value);
    }
    return wrong(reader, "expected for, label or every, not ", word);
}

/* Once for each client and each repetition. */
static bool submit(struct reader *reader, struct submission *submission)
{
    size_t tasks = submission->for_each ? reader->scenario->key_count : 1;
    const struct scenario_step pause = { .is_pause = true, .duration_ns = submission->every_ns };
    struct scenario_step step = submission->step;
    size_t first = reader->scenario->claim_count;
    for (size_t key = 0; submission->for_each && key < tasks; key++) {
        submission->step.first_claim = reader->scenario->claim_count;
        add_claim(reader, submission, key, false);
    }
    for (unsigned i = 0; i < submission->times; i++) {
        for (size_t key = 0; key < tasks; key++) {
            if (submission->for_each) {
                step.first_claim = first + key;
                step.claim_count = 1;
            }
            if (!add_step(reader, &step)) {
                return false;
            }
        }
        if (submission->every_ns > 0 && !add_step(reader, &pause)) {
            return false;
        }
    }
    return true;
}

/* task|rollup [CLAIMS] for TIME [label NAME] [every TIME], from the word `at` on. */
static bool read_submission(struct reader *reader, size_t at, unsigned times)
{
    bool is_rollup = strcmp(reader->words[at], "rollup") == 0;
    struct submission submission = { .times = times };
    submission.step.first_claim = reader->scenario->claim_count;
    at++;
    if (at < reader->word_count && strcmp(reader->words[at], "for") != 0 &&
        !read_claims(reader, &submission, reader->words[at++])) {
        return false;
    }
    for (; at < reader->word_count; at += 2) {
        if (at + 1 == reader->word_count) {
            return wrong(reader, "a word is missing after ", reader->words[at]);
        }
        if (!read_pair(reader, &submission, reader->words[at], reader->words[at + 1])) {
            return false;
        }
    }
    if (!submission.has_duration) {
        return wrong(reader, "it must be said for how long: for TIME", "");
    }
    if (is_rollup && submission.step.claim_count < 2) {
        return wrong(reader, "a rollup needs more than one client", "");
    }
    if (!is_rollup && submission.step.claim_count > 1) {
        return wrong(reader, "a task over several clients is a rollup", "");
    }
    return submit(reader, &submission);
}

static bool is_submission(const struct reader *reader, size_t at)
{
    return at < reader->word_count &&
           (strcmp(reader->words[at], "task") == 0 || strcmp(reader->words[at], "rollup") == 0);
}

static bool read_repeat(struct reader *reader)
{
    unsigned times;
    if (!is_submission(reader, 2) || !read_number(reader->words[1], STEPS_MAX, &times)) {
        return wrong(reader, "expected: repeat NUMBER task|rollup ...", "");
    }
    return read_submission(reader, 2, times);
}

static bool read_after(struct reader *reader)
{
    struct scenario_step pause = { .is_pause = true };
    if (reader->word_count != 2 || !units_parse(reader->words[1], &pause.duration_ns)) {
        return wrong(reader, "expected: after TIME, such as after 5ms", "");
    }
    return add_step(reader, &pause);
}

/* --- lines --- */

static bool read_statement(struct reader *reader)
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
        return read_submission(reader, 0, 1);
    }
    if (strcmp(word, "repeat") == 0) {
        return read_repeat(reader);
    }
    if (strcmp(word, "after") == 0) {
        return read_after(reader);
    }
    return wrong(reader, "unknown statement ", word);
}

static bool read_line(struct reader *reader, char *line)
{
    char *hash = strchr(line, '#');
    if (hash) {
        *hash = 0;
    }
    reader->word_count = 0;
    for (char *at = line + strspn(line, " \t\r"); *at; at += strspn(at, " \t\r")) {
        if (reader->word_count == WORDS_MAX) {
            return wrong(reader, "more than 64 words", "");
        }
        reader->words[reader->word_count++] = at;
        at += strcspn(at, " \t\r");
        if (*at) {
            *at++ = 0;
        }
    }
    return reader->word_count == 0 || read_statement(reader);
}

static bool read_lines(struct reader *reader, char *at, char *end)
{
    while (at < end) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *line_end = newline ? newline : end;
        reader->line++;
        if (memchr(at, 0, (size_t)(line_end - at))) {
            return wrong(reader, "a zero byte: not a text", "");
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
        struct reader reader = { .scenario = scenario, .file = file.data, .problem = problem };
        done = read_lines(&reader, text.data, text.data + text.size);
    }
    text_fini(&file);
    text_fini(&text);
    return done;
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
