/* Owns what account names mean under the rules: patterns, components, clients. */
#include "plan/accounts.h"

bool account_classify(const struct rules *rules, struct slice name,
                      struct account_properties *properties, struct problem *problem)
{
    bool house = patterns_match(&rules->commutative, name);
    bool guarded = patterns_match(&rules->no_overdraft, name);
    if (house && guarded) {
        return problem_set(problem, EXIT_CODE_INPUT,
                           "the account '%.*s' matches both --commutative and --no-overdraft",
                           SLICE_ARGUMENTS(name));
    }
    *properties = (struct account_properties){ .flags = house ? ACCOUNT_HOUSE : 0 };
    if (house) {
        return true;
    }
    properties->flags = guarded ? ACCOUNT_GUARDED : 0;
    for (size_t i = 0; i < rules->steps.count; i++) {
        bool is_about = month_end_step_has_account(&rules->steps.items[i], name);
        properties->steps |= (uint64_t)is_about << i;
    }
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
