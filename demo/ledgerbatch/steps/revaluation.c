/*
 * A step of ledgerbatch that revalues foreign currency at the prices of the month's end.
 *
 * These are its parameters.
 *
 * currency:  the base currency, such as USD.
 *
 * monetary:  the accounts of money and of debts, as a list of beginnings without the client's name,
 *            such as "Assets:Bank, Liabilities:Loans".
 *
 * position:  the account that has the other side of each exchange; default Equity:Conversion.
 *
 * allowance: the account that gets the difference; default Assets:Revaluation.
 *
 * gain:      the account of gains and losses; default Income:Revaluation.
 *
 * An exchange of 110 USD for 100 EUR is booked over the position account: it has -100 EUR and
 * 110 USD then. So its balance in the base currency is what the open positions have cost. The books
 * have a value of that and of the allowance. The step brings it to the value at the prices:
 *
 *     difference = value at the prices - cost - allowance so far
 *
 * The allowance so far has all earlier differences, so no gain is booked twice. The cost includes
 * the gain or loss of each exchange back, so the difference includes it, too.
 *
 * The step fails for a client whose position account does not have the opposite of the monetary
 * accounts, since then the cost is not known. Shares, stocks and other things that are not monetary
 * keep their cost: their accounts are not in the list.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ledgerbatch_step.h"
#include "steps/account_names.h"

#define NAME_SIZE 4200 /* the longest line of a journal, and more */

struct line {
    int64_t value, cost, allowance, difference;
};

static const char *parameter_or(const struct ledgerbatch_call *call, const char *name,
                                const char *value)
{
    const char *given = ledgerbatch_parameter(call, name);
    return given ? given : value;
}

static uint32_t base_currency(const struct ledgerbatch_call *call)
{
    return ledgerbatch_find_commodity(call, parameter_or(call, "currency", ""));
}

static bool is_monetary(const struct ledgerbatch_call *call, const char *rest)
{
    const char *list = parameter_or(call, "monetary", "");
    const char *item;
    size_t size;
    bool found = false;
    while (!found && list_next(&list, &item, &size)) {
        found = account_behind(rest, item, size) != NULL;
    }
    return found;
}

static bool is_foreign_money(const struct ledgerbatch_call *call,
                             const struct ledgerbatch_client *client, size_t i)
{
    const struct ledgerbatch_account *account = &client->accounts[i];
    return account->commodity != base_currency(call) &&
           is_monetary(call, account_rest(account->name, client->name));
}

/* Returns the balance of an account of the client in a commodity. */
static int64_t balance_of(const struct ledgerbatch_client *client, const char *rest,
                          uint32_t commodity)
{
    int64_t balance = 0;
    for (size_t i = 0; i < client->account_count; i++) {
        const struct ledgerbatch_account *account = &client->accounts[i];
        if (account->commodity == commodity &&
            strcmp(account_rest(account->name, client->name), rest) == 0) {
            balance = account->balance;
        }
    }
    return balance;
}

static int add_account(struct ledgerbatch_call *call, const struct ledgerbatch_client *client,
                       const char *rest)
{
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s:%s", client->name, rest);
    return ledgerbatch_add_account(call, name, base_currency(call));
}

static int prepare(struct ledgerbatch_call *call, const struct ledgerbatch_client *client)
{
    if (base_currency(call) == UINT32_MAX) {
        return ledgerbatch_fail(call, "the parameter 'currency' names no commodity of the books");
    }
    if (!ledgerbatch_parameter(call, "monetary")) {
        return ledgerbatch_fail(call, "the parameter 'monetary' is missing");
    }
    size_t i = 0;
    while (i < client->account_count && !is_foreign_money(call, client, i)) {
        i++;
    }
    if (i == client->account_count) {
        return 0;
    }
    return add_account(call, client, parameter_or(call, "allowance", "Assets:Revaluation")) ||
           add_account(call, client, parameter_or(call, "gain", "Income:Revaluation"));
}

static int add(struct ledgerbatch_call *call, int64_t *sum, int64_t amount)
{
    return __builtin_add_overflow(*sum, amount, sum)
               ? ledgerbatch_fail(call, "a sum has too many digits")
               : 0;
}

/* Adds the value of all money in the commodity of an account, unless an earlier account has it. */
static int add_value(struct ledgerbatch_call *call, const struct ledgerbatch_client *client,
                     size_t first, int64_t *value)
{
    uint32_t commodity = client->accounts[first].commodity;
    int64_t units = 0;
    int64_t worth = 0;
    for (size_t i = 0; i < client->account_count; i++) {
        if (client->accounts[i].commodity != commodity || !is_foreign_money(call, client, i)) {
            continue;
        }
        if (i < first) {
            return 0;
        }
        if (add(call, &units, client->accounts[i].balance)) {
            return 1;
        }
    }
    return ledgerbatch_value(call, commodity, units, base_currency(call), &worth) ||
           add(call, value, worth);
}

/* Checks that the position account has the opposite of the monetary accounts in a commodity. */
static int check_position(struct ledgerbatch_call *call, const struct ledgerbatch_client *client,
                          uint32_t commodity, const char *position)
{
    char reason[256];
    int64_t open = balance_of(client, position, commodity);
    for (size_t i = 0; i < client->account_count; i++) {
        if (client->accounts[i].commodity == commodity && is_foreign_money(call, client, i) &&
            add(call, &open, client->accounts[i].balance)) {
            return 1;
        }
    }
    if (open == 0) {
        return 0;
    }
    snprintf(reason, sizeof reason,
             "%.80s does not have the opposite of the monetary accounts in %.40s: so their cost is "
             "not known",
             position, call->commodities[commodity].symbol);
    return ledgerbatch_fail(call, reason);
}

static int post_difference(struct ledgerbatch_call *call, const struct ledgerbatch_client *client,
                           int64_t difference)
{
    char allowance[NAME_SIZE];
    char gain[NAME_SIZE];
    uint32_t currency = base_currency(call);
    snprintf(allowance, sizeof allowance, "%s:%s", client->name,
             parameter_or(call, "allowance", "Assets:Revaluation"));
    snprintf(gain, sizeof gain, "%s:%s", client->name,
             parameter_or(call, "gain", "Income:Revaluation"));
    return ledgerbatch_post(call, allowance, currency, difference) ||
           ledgerbatch_post(call, gain, currency, -difference);
}

static int visit(struct ledgerbatch_call *call, const struct ledgerbatch_client *client)
{
    const char *position = parameter_or(call, "position", "Equity:Conversion");
    uint32_t currency = base_currency(call);
    struct line line = { .cost = balance_of(client, position, currency) };
    line.allowance =
        balance_of(client, parameter_or(call, "allowance", "Assets:Revaluation"), currency);
    for (size_t i = 0; i < client->account_count; i++) {
        const struct ledgerbatch_account *account = &client->accounts[i];
        bool is_money = is_foreign_money(call, client, i);
        bool is_position = account->commodity != currency &&
                           strcmp(account_rest(account->name, client->name), position) == 0;
        if ((is_money && add_value(call, client, i, &line.value)) ||
            ((is_money || is_position) &&
             check_position(call, client, account->commodity, position))) {
            return 1;
        }
    }
    line.difference = line.value;
    if (add(call, &line.difference, -line.cost) || add(call, &line.difference, -line.allowance)) {
        return 1;
    }
    return (line.difference != 0 && post_difference(call, client, line.difference)) ||
           ledgerbatch_contribute(call, &line, sizeof line);
}

static int report_line(struct ledgerbatch_call *call,
                       const struct ledgerbatch_contribution *contribution)
{
    struct line line;
    uint32_t currency = base_currency(call);
    memcpy(&line, contribution->bytes, sizeof line);
    return ledgerbatch_report_text(call, contribution->client) ||
           ledgerbatch_report_amount(call, currency, line.value) ||
           ledgerbatch_report_amount(call, currency, line.cost) ||
           ledgerbatch_report_amount(call, currency, line.allowance) ||
           ledgerbatch_report_amount(call, currency, line.difference) ||
           ledgerbatch_report_end(call);
}

static int group(struct ledgerbatch_call *call,
                 const struct ledgerbatch_contribution *contributions, size_t count)
{
    static const char *const columns[] = { "client", "value", "cost", "allowance before",
                                           "difference" };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof columns / sizeof *columns; i++) {
        code = ledgerbatch_report_text(call, columns[i]);
    }
    code = code || ledgerbatch_report_end(call);
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = report_line(call, &contributions[i]);
    }
    return code;
}

const struct ledgerbatch_step ledgerbatch_step = { .abi = LEDGERBATCH_STEP_ABI,
                                                   .mode = LEDGERBATCH_STEP_CUT,
                                                   .prepare = prepare,
                                                   .visit = visit,
                                                   .group = group };
