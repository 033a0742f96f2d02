/*
 * A step for tests: each client puts a hundredth of each balance aside, and the report has all
 * balances. With -DBLOCKING, `group` moves one unit from each client that has put something aside
 * to the first one.
 */
#include "ledgerbatch_step.h"

#include <stdio.h>
#include <string.h>

#define NAME_SIZE 256
#define ASIDE     "Equity:Aside"

static const char *aside_account(char name[NAME_SIZE], const char *client)
{
    snprintf(name, NAME_SIZE, "%s:" ASIDE, client);
    return name;
}

static int prepare(struct ledgerbatch_call *call, const struct ledgerbatch_client *client)
{
    char name[NAME_SIZE];
    int code = 0;
    for (size_t i = 0; code == 0 && i < client->account_count; i++) {
        code = ledgerbatch_add_account(call, aside_account(name, client->name),
                                       client->accounts[i].commodity);
    }
    return code;
}

static int visit(struct ledgerbatch_call *call, const struct ledgerbatch_client *client)
{
    char name[NAME_SIZE];
    int64_t sum = 0;
    int code = 0;
    aside_account(name, client->name);
    for (size_t i = 0; code == 0 && i < client->account_count; i++) {
        const struct ledgerbatch_account *account = &client->accounts[i];
        if (strcmp(account->name, name) == 0) {
            continue;
        }
        int64_t part = account->balance / 100;
        sum += part;
        code = ledgerbatch_post(call, account->name, account->commodity, -part) ||
               ledgerbatch_post(call, name, account->commodity, part);
    }
    return code || ledgerbatch_contribute(call, &sum, sizeof sum);
}

static int64_t amount_of(const struct ledgerbatch_contribution *contribution)
{
    int64_t amount;
    memcpy(&amount, contribution->bytes, sizeof amount);
    return amount;
}

#ifdef BLOCKING
#define MODE LEDGERBATCH_STEP_BLOCKING

static int level(struct ledgerbatch_call *call,
                 const struct ledgerbatch_contribution *contributions, size_t count)
{
    char name[NAME_SIZE];
    char first[NAME_SIZE];
    int code = 0;
    aside_account(first, contributions[0].client);
    for (size_t i = 1; code == 0 && i < count; i++) {
        if (amount_of(&contributions[i]) != 0) {
            code = ledgerbatch_post(call, aside_account(name, contributions[i].client), 0, -1) ||
                   ledgerbatch_post(call, first, 0, 1);
        }
    }
    return code;
}
#else
#define MODE LEDGERBATCH_STEP_CUT

static int level(struct ledgerbatch_call *call,
                 const struct ledgerbatch_contribution *contributions, size_t count)
{
    (void)call;
    (void)contributions;
    (void)count;
    return 0;
}
#endif

static int group(struct ledgerbatch_call *call,
                 const struct ledgerbatch_contribution *contributions, size_t count)
{
    int64_t total = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        int64_t amount = amount_of(&contributions[i]);
        total += amount;
        code = ledgerbatch_report_text(call, contributions[i].client) ||
               ledgerbatch_report_amount(call, 0, amount) || ledgerbatch_report_end(call);
    }
    return code || ledgerbatch_report_text(call, "all") ||
           ledgerbatch_report_amount(call, 0, total) || ledgerbatch_report_end(call) ||
           level(call, contributions, count);
}

const struct ledgerbatch_step ledgerbatch_step = {
    .abi = LEDGERBATCH_STEP_ABI, .mode = MODE, .prepare = prepare, .visit = visit, .group = group
};
