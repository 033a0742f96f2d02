/* Owns the rules of a run, and the digest of rules and input. */
#include "plan/rules.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

/* To be raised when a new version gets another result from the same input and rules. */
#define RULES_VERSION "ledgerbatch 2"

void rules_init(struct rules *rules)
{
    *rules = (struct rules){ .client_depth = 1 };
}

void rules_fini(struct rules *rules)
{
    patterns_fini(&rules->commutative);
    patterns_fini(&rules->no_overdraft);
    month_end_steps_fini(&rules->steps);
    for (size_t i = 0; i < rules->text_count; i++) {
        free(rules->texts[i]);
    }
    free(rules->texts);
    rules_init(rules);
}

const char *rules_keep_text(struct rules *rules, struct slice text)
{
    char *copy = memory_zeroed(text.size + 1, 1);
    memcpy(copy, text.data, text.size);
    rules->texts = memory_grow(rules->texts, &rules->text_capacity, rules->text_count + 1,
                               sizeof *rules->texts);
    rules->texts[rules->text_count++] = copy;
    return copy;
}

bool rules_read_client_by(struct rules *rules, const char *text)
{
    static const char *const words[] = {
        [CLIENT_BY_DEPTH] = "depth", [CLIENT_BY_FILE] = "file", [CLIENT_BY_PAYEE] = "payee"
    };
    static const char tag[] = "tag:";
    const size_t size = sizeof tag - 1;
    rules->clients = (struct journal_clients){ .by = CLIENT_BY_DEPTH };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(text, words[i]) == 0) {
            rules->clients.by = (enum client_by)i;
            return true;
        }
    }
    if (strncmp(text, tag, size) != 0 || text[size] == 0 || strpbrk(text + size, " \t:,;")) {
        return false;
    }
    rules->clients = (struct journal_clients){ .by = CLIENT_BY_TAG, .tag = text + size };
    return true;
}

bool rules_accrue(const struct rules *rules)
{
    bool found = false;
    for (size_t i = 0; !found && i < rules->steps.count; i++) {
        found = rules->steps.items[i].kind == MONTH_END_ACCRUAL;
    }
    return found;
}

void rules_complete(struct rules *rules)
{
    for (size_t i = 0; i < rules->steps.count; i++) {
        struct month_end_step *step = &rules->steps.items[i];
        if (step->kind == MONTH_END_ACCRUAL && step->accounts.count == 0) {
            patterns_add(&step->accounts, rules->accrual_accounts ? rules->accrual_accounts
                                                                  : RULES_ACCRUAL_ACCOUNTS);
        }
    }
}

static void hash_rules(struct sha256 *hash, const struct rules *rules)
{
    sha256_add_text(hash, RULES_VERSION);
    sha256_add_number(hash, rules->csv);
    sha256_add_number(hash, rules->client_depth);
    patterns_hash(&rules->commutative, hash);
    patterns_hash(&rules->no_overdraft, hash);
    month_end_steps_hash(&rules->steps, hash);
    if (rules->unique_codes) {
        sha256_add_text(hash, "unique codes");
    }
    sha256_add_number(hash, rules->ends_month);
    if (rules->clients.by != CLIENT_BY_DEPTH) {
        sha256_add_text(hash, "client-by");
        sha256_add_number(hash, rules->clients.by);
        sha256_add_text(hash, rules->clients.tag ? rules->clients.tag : "");
    }
    if (rules->until != 0) {
        sha256_add_text(hash, "until");
        sha256_add_number(hash, rules->until);
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
        sha256_add_number(&hash, book->sources.items[i]->size);
        sha256_update(&hash, book->sources.items[i]->digest, SHA256_SIZE);
    }
    /* The names of files count only if they are those of clients. */
    for (size_t i = 0; i < book->file_clients.count; i++) {
        struct slice name = book->file_clients.items[i];
        sha256_add_number(&hash, name.size);
        sha256_update(&hash, name.data, name.size);
    }
    if (day != 0) {
        sha256_add_number(&hash, day);
    }
    if (book->rejects.count > 0) {
        sha256_add_text(&hash, "rejects");
        sha256_add_number(&hash, book->rejects.count);
    }
    for (size_t i = 0; i < book->rejects.count; i++) {
        sha256_add_number(&hash, book->rejects.items[i].source);
        sha256_add_number(&hash, book->rejects.items[i].line);
    }
    sha256_finish_text(&hash, digest);
}
