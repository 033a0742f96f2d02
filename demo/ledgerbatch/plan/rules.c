/* Owns the rules of a run, and the digest of rules and input. */
#include "plan/rules.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/syntax.h"
#include "memory.h"

/* To be raised when a new version gets another result from the same input and rules. */
#define RULES_VERSION "ledgerbatch 1"

void rules_init(struct rules *rules)
{
    *rules = (struct rules){ .client_depth = 1, .accrual_accounts = RULES_ACCRUAL_ACCOUNTS };
}

void rules_fini(struct rules *rules)
{
    free(rules->commutative.items);
    free(rules->no_overdraft.items);
    rules_init(rules);
}

void patterns_add(struct patterns *patterns, const char *pattern)
{
    patterns->items = memory_grow(patterns->items, &patterns->capacity, patterns->count + 1,
                                  sizeof *patterns->items);
    patterns->items[patterns->count++] = pattern;
}

bool patterns_match(const struct patterns *patterns, struct slice name)
{
    if (patterns->count == 0) {
        return false;
    }
    char *text = memory_zeroed(name.size + 1, 1);
    memcpy(text, name.data, name.size);
    bool matches = false;
    for (size_t i = 0; i < patterns->count && !matches; i++) {
        matches = fnmatch(patterns->items[i], text, 0) == 0;
    }
    free(text);
    return matches;
}

static const char *read_rate(struct rules *rules, struct slice text)
{
    const char *at = text.data;
    const char *end = text.data + text.size;
    if (number_read(&at, end, &rules->rate_units, &rules->rate_scale) != NUMBER_OK || at != end) {
        return "accrual takes a rate a year as a decimal, as in accrual=0.015";
    }
    return NULL;
}

const char *rules_read_monthly(struct rules *rules, const char *text)
{
    static const char accrual[] = "accrual=";
    for (;;) {
        struct slice word = { text, strcspn(text, ",") };
        bool *chosen = NULL;
        if (slice_equal(word, slice_of("statement"))) {
            chosen = &rules->statement;
        } else if (slice_equal(word, slice_of("close"))) {
            chosen = &rules->close;
        } else if (slice_equal(word, slice_of("trial-balance"))) {
            chosen = &rules->trial_balance;
        } else if (word.size > sizeof accrual - 1 &&
                   memcmp(text, accrual, sizeof accrual - 1) == 0) {
            chosen = &rules->accrual;
            size_t skip = sizeof accrual - 1;
            const char *wrong = read_rate(rules, (struct slice){ text + skip, word.size - skip });
            if (wrong) {
                return wrong;
            }
        } else {
            return "--monthly takes statement, accrual=RATE, close and trial-balance, with commas "
                   "between";
        }
        if (*chosen) {
            return "--monthly names a step twice";
        }
        *chosen = true;
        if (text[word.size] == 0) {
            return NULL;
        }
        text += word.size + 1;
    }
}

static void hash_number(struct sha256 *hash, uint64_t number)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(number >> (8 * i));
    }
    sha256_update(hash, bytes, sizeof bytes);
}

/* Hashes the length first, so that different lists of texts are different input of the hash. */
static void hash_text(struct sha256 *hash, const char *text)
{
    hash_number(hash, strlen(text));
    sha256_update(hash, text, strlen(text));
}

static void hash_patterns(struct sha256 *hash, const struct patterns *patterns)
{
    hash_number(hash, patterns->count);
    for (size_t i = 0; i < patterns->count; i++) {
        hash_text(hash, patterns->items[i]);
    }
}

static void hash_rules(struct sha256 *hash, const struct rules *rules)
{
    hash_text(hash, RULES_VERSION);
    hash_number(hash, rules->csv);
    hash_number(hash, rules->client_depth);
    hash_patterns(hash, &rules->commutative);
    hash_patterns(hash, &rules->no_overdraft);
    hash_number(hash, (uint64_t)rules->statement | (uint64_t)rules->accrual << 1 |
                          (uint64_t)rules->close << 2 | (uint64_t)rules->trial_balance << 3);
    if (rules->until != 0) {
        hash_text(hash, "until");
        hash_number(hash, rules->until);
    }
    if (rules->accrual) {
        struct decimal rate = { rules->rate_units, rules->rate_scale };
        decimal_trim(&rate);
        hash_text(hash, rules->accrual_accounts);
        hash_number(hash, (uint64_t)rate.units);
        hash_number(hash, rate.scale);
    }
}

void rules_digest(const struct rules *rules, struct book *book, uint32_t day,
                  char digest[SHA256_TEXT_SIZE])
{
    struct sha256 hash;
    sources_finish_digests(&book->sources);
    sha256_init(&hash);
    hash_rules(&hash, rules);
    for (size_t i = 0; i < book->sources.count; i++) {
        hash_number(&hash, book->sources.items[i]->size);
        sha256_update(&hash, book->sources.items[i]->digest, SHA256_SIZE);
    }
    if (day != 0) {
        hash_number(&hash, day);
    }
    sha256_finish_text(&hash, digest);
}
