/* Owns the reading of statements that submit tasks. */
#include <string.h>

#include "base/units.h"
#include "memory.h"
#include "session/scenario_internal.h"

#define TIMES_MAX 1000
#define PAIRS     "expected for, visit, label, every, fails, retries, delay, then or at-poison, not "

/* A statement that submits, as it is being read. */
struct submission {
    struct scenario_step step;
    bool for_each; /* one task for each client */
    bool has_duration, has_visit, has_delay, has_end;
    uint64_t every_ns; /* the pause after each repetition */
    unsigned times;
};

static bool add_claim(struct scenario_reader *reader, struct submission *submission, size_t key,
                      lanepool_mode mode)
{
    struct scenario *scenario = reader->scenario;
    for (size_t i = submission->step.first_claim; i < scenario->claim_count; i++) {
        if (scenario->claims[i].key == key) {
            return scenario_fail_at_line(reader, "claimed twice: ", scenario->keys[key]);
        }
    }
    scenario->claims = memory_grow(scenario->claims, &scenario->claim_capacity,
                                   scenario->claim_count + 1, sizeof *scenario->claims);
    scenario->claims[scenario->claim_count++] = (struct scenario_claim){ key, mode };
    submission->step.claim_count++;
    return true;
}

/* Reads what follows a client's name, from the colon on: `suffix`, or NULL for nothing. */
static bool read_mode(struct scenario_reader *reader, const char *suffix, lanepool_mode *mode)
{
    *mode = LANEPOOL_EXCLUSIVE;
    if (!suffix) {
        return true;
    }
    *mode = strcmp(suffix, ":shared") == 0 ? LANEPOOL_SHARED : LANEPOOL_COMMUTING;
    return *mode == LANEPOOL_SHARED || strcmp(suffix, ":commuting") == 0 ||
           scenario_fail_at_line(
               reader, "after a client only :shared or :commuting may follow, not ", suffix);
}

/* Reads NAME or *, each alone or with :shared or :commuting. */
static bool read_claim(struct scenario_reader *reader, struct submission *submission, char *word)
{
    struct scenario *scenario = reader->scenario;
    char *colon = strchr(word, ':');
    lanepool_mode mode;
    bool done = read_mode(reader, colon, &mode);
    if (!done) {
        return false;
    }
    if (colon) {
        *colon = 0;
    }
    if (strcmp(word, "*") == 0) {
        for (size_t key = 0; key < scenario->key_count && done; key++) {
            done = add_claim(reader, submission, key, mode);
        }
        return done;
    }
    size_t key;
    return scenario_read_key(reader, word, &key) && add_claim(reader, submission, key, mode);
}

static bool read_claims(struct scenario_reader *reader, struct submission *submission, char *list)
{
    if (strcmp(list, "each") == 0) {
        submission->for_each = true;
        return reader->scenario->key_count > 0 ||
               scenario_fail_at_line(reader, "there are no clients yet", "");
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

static bool read_label(struct scenario_reader *reader, struct submission *submission,
                       const char *label)
{
    struct scenario *scenario = reader->scenario;
    unsigned tag = 1;
    while (tag <= scenario->tag_count && strcmp(scenario->tags[tag], label) != 0) {
        tag++;
    }
    if (tag == SCENARIO_TAGS) {
        return scenario_fail_at_line(reader, "more than 255 labels", "");
    }
    if (tag > scenario->tag_count) {
        scenario->tags[tag] = memory_copy_text(label);
        scenario->tag_count = tag;
    }
    submission->step.tag = tag;
    return true;
}

static bool read_time(struct scenario_reader *reader, const char *value, uint64_t *ns)
{
    return units_parse(value, ns) ||
           scenario_fail_at_line(reader, "not a time such as 20ms: ", value);
}

static bool read_times(struct scenario_reader *reader, const char *value, unsigned *times)
{
    return scenario_read_number(value, TIMES_MAX, times) ||
           scenario_fail_at_line(reader, "not a number from 1 to 1000: ", value);
}

static bool read_end(struct scenario_reader *reader, struct submission *submission,
                     const char *value)
{
    submission->has_end = true;
    submission->step.failure.is_parked = strcmp(value, "poison") == 0;
    return submission->step.failure.is_parked || strcmp(value, "go-on") == 0 ||
           scenario_fail_at_line(reader, "expected: then go-on|poison", "");
}

static bool read_at_poison(struct scenario_reader *reader, struct submission *submission,
                           const char *value)
{
    unsigned at_poison;
    bool is_good = scenario_read_word(value, scenario_at_poison, &at_poison);
    submission->step.at_poison = is_good ? (lanepool_at_poison)at_poison : LANEPOOL_AT_POISON_WAIT;
    return is_good || scenario_fail_at_line(reader, "expected: at-poison wait|fail|go-without", "");
}

/* Reads a pair of words about failure. */
static bool read_failure_pair(struct scenario_reader *reader, struct submission *submission,
                              const char *word, const char *value)
{
    struct scenario_failure *failure = &submission->step.failure;
    if (strcmp(word, "fails") == 0) {
        return read_times(reader, value, &failure->fails);
    }
    if (strcmp(word, "retries") == 0) {
        return read_times(reader, value, &failure->retries);
    }
    if (strcmp(word, "delay") == 0) {
        submission->has_delay = true;
        return read_time(reader, value, &failure->delay_ns);
    }
    if (strcmp(word, "then") == 0) {
        return read_end(reader, submission, value);
    }
    if (strcmp(word, "at-poison") == 0) {
        return read_at_poison(reader, submission, value);
    }
    return scenario_fail_at_line(reader, PAIRS, word);
}

/* Reads a pair of words, such as for TIME or label NAME. Pairs may be in any order. */
static bool read_pair(struct scenario_reader *reader, struct submission *submission,
                      const char *word, const char *value)
{
    if (strcmp(word, "for") == 0) {
        submission->has_duration = true;
        return read_time(reader, value, &submission->step.duration_ns);
    }
    if (strcmp(word, "visit") == 0) {
        submission->has_visit = true;
        return read_time(reader, value, &submission->step.visit_ns);
    }
    if (strcmp(word, "every") == 0) {
        return read_time(reader, value, &submission->every_ns);
    }
    if (strcmp(word, "label") == 0) {
        return read_label(reader, submission, value);
    }
    return read_failure_pair(reader, submission, word, value);
}

/* Adds a step for each repetition and each client. */
static bool add_submissions(struct scenario_reader *reader, struct submission *submission)
{
    size_t tasks = submission->for_each ? reader->scenario->key_count : 1;
    const struct scenario_step pause = { .kind = SCENARIO_PAUSE,
                                         .duration_ns = submission->every_ns };
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
            if (!scenario_add_step(reader, &step)) {
                return false;
            }
        }
        if (submission->every_ns > 0 && !scenario_add_step(reader, &pause)) {
            return false;
        }
    }
    return true;
}

/* Refuses what a pool refuses of a cut. */
static bool check_cut(struct scenario_reader *reader, const struct submission *submission)
{
    const struct scenario_step *step = &submission->step;
    if (!submission->has_visit) {
        return scenario_fail_at_line(reader, "it must be said how long a visit takes: visit TIME",
                                     "");
    }
    if (step->claim_count == 0) {
        return scenario_fail_at_line(reader, "a cut needs clients: cut CLIENTS visit TIME", "");
    }
    for (size_t i = 0; i < step->claim_count; i++) {
        const struct scenario_claim *claim = &reader->scenario->claims[step->first_claim + i];
        if (claim->mode == LANEPOOL_COMMUTING) {
            return scenario_fail_at_line(reader, "a cut cannot claim a client :commuting: ",
                                         reader->scenario->keys[claim->key]);
        }
    }
    return step->at_poison == LANEPOOL_AT_POISON_WAIT ||
           scenario_fail_at_line(reader, "a cut waits in poisoned lanes: at-poison wait", "");
}

/* Refuses claims that do not fit the statement. */
static bool check_claims(struct scenario_reader *reader, const struct submission *submission,
                         bool is_rollup)
{
    if (submission->step.is_cut) {
        return check_cut(reader, submission);
    }
    if (submission->has_visit) {
        return scenario_fail_at_line(reader, "visit is for cuts", "");
    }
    if (is_rollup && submission->step.claim_count < 2) {
        return scenario_fail_at_line(reader, "a rollup needs more than one client", "");
    }
    return is_rollup || submission->step.claim_count <= 1 ||
           scenario_fail_at_line(reader, "a task over several clients is a rollup or a cut", "");
}

/* Refuses combinations that mean nothing. */
static bool check_submission(struct scenario_reader *reader, const struct submission *submission,
                             bool is_rollup)
{
    const struct scenario_failure *failure = &submission->step.failure;
    if (!submission->has_duration) {
        return scenario_fail_at_line(reader, "it must be said for how long: for TIME", "");
    }
    if (!check_claims(reader, submission, is_rollup)) {
        return false;
    }
    if (failure->fails == 0 && (failure->retries > 0 || submission->has_end)) {
        return scenario_fail_at_line(reader,
                                     "retries and then are for tasks that fail: fails NUMBER", "");
    }
    if (failure->retries == 0 && submission->has_delay) {
        return scenario_fail_at_line(reader,
                                     "delay is for tasks that are tried again: retries NUMBER", "");
    }
    return true;
}

bool scenario_read_submission(struct scenario_reader *reader, size_t at, unsigned times)
{
    bool is_rollup = strcmp(reader->words[at], "rollup") == 0;
    struct submission submission = { .times = times };
    submission.step.first_claim = reader->scenario->claim_count;
    submission.step.is_cut = strcmp(reader->words[at], "cut") == 0;
    at++;
    if (at < reader->word_count && strcmp(reader->words[at], "for") != 0 &&
        !read_claims(reader, &submission, reader->words[at++])) {
        return false;
    }
    for (; at < reader->word_count; at += 2) {
        if (at + 1 == reader->word_count) {
            return scenario_fail_at_line(reader, "a word is missing after ", reader->words[at]);
        }
        if (!read_pair(reader, &submission, reader->words[at], reader->words[at + 1])) {
            return false;
        }
    }
    return check_submission(reader, &submission, is_rollup) && add_submissions(reader, &submission);
}
