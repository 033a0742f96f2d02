/* Owns what account names mean under the rules: patterns, components, clients. */
#include "plan/accounts.h"

static bool has_component(struct slice name, const char *component)
{
    size_t size = strlen(component);
    const char *at = name.data;
    const char *end = name.data + name.size;
    while (at <= end) {
        const char *colon = memchr(at, ':', (size_t)(end - at));
        const char *stop = colon ? colon : end;
        if ((size_t)(stop - at) == size && memcmp(at, component, size) == 0) {
            return true;
        }
        at = stop + 1;
    }
    return false;
}

bool account_classify(const struct rules *rules, struct slice name, uint8_t *flags,
                      struct problem *problem)
{
    bool house = patterns_match(&rules->commutative, name);
    bool guarded = patterns_match(&rules->no_overdraft, name);
    *flags = 0;
    if (house && guarded) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the account '%.*s' matches both --commutative and --no-overdraft",
                           SLICE_ARGUMENTS(name));
    }
    if (house) {
        *flags = ACCOUNT_HOUSE;
        return true;
    }
    const struct patterns earning = { .items = (const char *[]){ rules->accrual_accounts },
                                      .count = rules->accrual ? 1 : 0 };
    bool closes = has_component(name, "Income") || has_component(name, "Expenses");
    *flags = (uint8_t)((guarded ? ACCOUNT_GUARDED : 0) | (closes ? ACCOUNT_CLOSES : 0) |
                       (patterns_match(&earning, name) ? ACCOUNT_EARNS : 0));
    return true;
}

bool account_client(struct slice name, unsigned depth, struct slice *client)
{
    const char *at = name.data;
    const char *end = name.data + name.size;
    for (unsigned component = 0; component < depth; component++) {
        if (at > end) {
            return false;
        }
        const char *colon = memchr(at, ':', (size_t)(end - at));
        at = (colon ? colon : end) + 1;
    }
    *client = slice_between(name.data, at - 1);
    return true;
}
