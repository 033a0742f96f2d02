/*
 * A step of ledgerbatch: the books of a group as those of one company.
 *
 * parameter:
 *   reciprocal: pairs of accounts that two members have about each other, such as
 *               "Assets:Due-from=Liabilities:Due-to, Assets:Shares=Equity:Capital". The names are
 *               without the client's name in front, and without the other's behind them: the pair
 *               P:Assets:Due-from:S and S:Liabilities:Due-to:P is eliminated.
 *
 * The step posts nothing: the books of the members stay as they are. The report has a line for each
 * account: its name without that of the member, the sum of the members, the eliminated amount, and
 * the balance of the group. If the two sides of a pair do not add up to zero, the difference has a
 * line of its own, so that the columns add up to zero like the books.
 *
 * Accounts about companies outside the group are not eliminated.
 */
#include <stdio.h>
#include <stdlib.h>

#include "ledgerbatch_step.h"
#include "steps/account_names.h"

#define NAME_SIZE 4200 /* the longest line of a journal, and more */

/* An account of a contribution; its name follows, with a zero byte. */
struct balance {
    int64_t units;
    uint32_t commodity, name_size;
};

struct line {
    char *name;
    uint32_t commodity;
    int64_t sum, eliminated;
};

struct sheet {
    struct ledgerbatch_call *call;
    const struct ledgerbatch_contribution *members;
    size_t member_count;
    struct line *lines;
    size_t count, capacity;
};

static int visit(struct ledgerbatch_call *call, const struct ledgerbatch_client *client)
{
    int code = 0;
    for (size_t i = 0; code == 0 && i < client->account_count; i++) {
        const struct ledgerbatch_account *account = &client->accounts[i];
        const char *rest = account_rest(account->name, client->name);
        struct balance balance = { account->balance, account->commodity,
                                   (uint32_t)strlen(rest) + 1 };
        code = ledgerbatch_contribute(call, &balance, sizeof balance) ||
               ledgerbatch_contribute(call, rest, balance.name_size);
    }
    return code;
}

/* --- lines --- */

static int add_amounts(struct sheet *sheet, const char *name, uint32_t commodity, int64_t sum,
                       int64_t eliminated)
{
    size_t i = 0;
    while (i < sheet->count &&
           (sheet->lines[i].commodity != commodity || strcmp(sheet->lines[i].name, name) != 0)) {
        i++;
    }
    if (i == sheet->capacity) {
        size_t capacity = 2 * sheet->capacity + 16;
        struct line *lines = realloc(sheet->lines, capacity * sizeof *lines);
        if (!lines) {
            return ledgerbatch_fail(sheet->call, "out of memory");
        }
        sheet->lines = lines;
        sheet->capacity = capacity;
    }
    if (i == sheet->count) {
        sheet->lines[sheet->count++] = (struct line){ strdup(name), commodity, 0, 0 };
    }
    struct line *line = &sheet->lines[i];
    if (!line->name) {
        return ledgerbatch_fail(sheet->call, "out of memory");
    }
    if (__builtin_add_overflow(line->sum, sum, &line->sum) ||
        __builtin_add_overflow(line->eliminated, eliminated, &line->eliminated)) {
        return ledgerbatch_fail(sheet->call, "a sum has too many digits");
    }
    return 0;
}

static bool is_member(const struct sheet *sheet, const char *name)
{
    bool found = false;
    for (size_t i = 0; i < sheet->member_count && !found; i++) {
        found = strcmp(sheet->members[i].client, name) == 0;
    }
    return found;
}

/*
 * Eliminates a balance of an account that is the left or the right side of a pair, and adds it to
 * the difference of the pair. The name of that line is the same from both sides.
 */
static int eliminate(struct sheet *sheet, const char *client, const char *other, const char *pair,
                     size_t left_size, size_t pair_size, bool is_left,
                     const struct balance *balance)
{
    char account[NAME_SIZE];
    char difference[2 * NAME_SIZE];
    const char *right = pair + left_size + 1;
    int right_size = (int)(pair_size - left_size - 1);
    const char *owner = is_left ? client : other;
    const char *debtor = is_left ? other : client;
    snprintf(account, sizeof account, "%.*s", is_left ? (int)left_size : right_size,
             is_left ? pair : right);
    snprintf(difference, sizeof difference, "difference of %s:%.*s:%s and %s:%.*s:%s", owner,
             (int)left_size, pair, debtor, debtor, right_size, right, owner);
    return add_amounts(sheet, account, balance->commodity, balance->units, -balance->units) ||
           add_amounts(sheet, difference, balance->commodity, 0, balance->units);
}

/* Adds a balance to its line. Sets *is_done if it was eliminated as a side of a pair. */
static int try_pairs(struct sheet *sheet, const char *client, const char *name,
                     const struct balance *balance, bool *is_done)
{
    const char *list = ledgerbatch_parameter(sheet->call, "reciprocal");
    const char *pair;
    size_t size;
    int code = 0;
    *is_done = false;
    while (code == 0 && !*is_done && list_next(&list, &pair, &size)) {
        const char *equals = memchr(pair, '=', size);
        if (!equals) {
            return ledgerbatch_fail(sheet->call, "the parameter 'reciprocal' has pairs A=B");
        }
        size_t left_size = (size_t)(equals - pair);
        const char *left = account_behind(name, pair, left_size);
        const char *right = account_behind(name, equals + 1, size - left_size - 1);
        const char *other = left ? left : right;
        /* A pair of equal names has the member whose name is less on its left side. */
        bool is_left = left && (!right || strcmp(client, left) < 0);
        if (other && is_member(sheet, other)) {
            *is_done = true;
            code = eliminate(sheet, client, other, pair, left_size, size, is_left, balance);
        }
    }
    return code;
}

static int add_member(struct sheet *sheet, const struct ledgerbatch_contribution *member)
{
    const char *at = member->bytes;
    const char *end = at + member->size;
    int code = 0;
    while (code == 0 && at < end) {
        struct balance balance;
        bool is_done;
        memcpy(&balance, at, sizeof balance);
        const char *name = at + sizeof balance;
        at = name + balance.name_size;
        code = try_pairs(sheet, member->client, name, &balance, &is_done);
        if (code == 0 && !is_done) {
            code = add_amounts(sheet, name, balance.commodity, balance.units, 0);
        }
    }
    return code;
}

/* --- the report --- */

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left;
    const struct line *b = right;
    bool a_is_difference = strncmp(a->name, "difference of ", 14) == 0;
    bool b_is_difference = strncmp(b->name, "difference of ", 14) == 0;
    if (a_is_difference != b_is_difference) {
        return a_is_difference - b_is_difference;
    }
    int order = strcmp(a->name, b->name);
    return order ? order : (a->commodity > b->commodity) - (a->commodity < b->commodity);
}

static int report_line(struct ledgerbatch_call *call, const struct line *line)
{
    int64_t balance;
    if (line->sum == 0 && line->eliminated == 0) {
        return 0;
    }
    if (__builtin_add_overflow(line->sum, line->eliminated, &balance)) {
        return ledgerbatch_fail(call, "a sum has too many digits");
    }
    return ledgerbatch_report_text(call, line->name) ||
           ledgerbatch_report_text(call, call->commodities[line->commodity].symbol) ||
           ledgerbatch_report_amount(call, line->commodity, line->sum) ||
           ledgerbatch_report_amount(call, line->commodity, line->eliminated) ||
           ledgerbatch_report_amount(call, line->commodity, balance) ||
           ledgerbatch_report_end(call);
}

static int report(struct sheet *sheet)
{
    static const char *const columns[] = { "account", "commodity", "members", "eliminated",
                                           "group" };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof columns / sizeof *columns; i++) {
        code = ledgerbatch_report_text(sheet->call, columns[i]);
    }
    code = code || ledgerbatch_report_end(sheet->call);
    if (sheet->count > 0) {
        qsort(sheet->lines, sheet->count, sizeof *sheet->lines, compare_lines);
    }
    for (size_t i = 0; code == 0 && i < sheet->count; i++) {
        code = report_line(sheet->call, &sheet->lines[i]);
    }
    return code;
}

static int group(struct ledgerbatch_call *call,
                 const struct ledgerbatch_contribution *contributions, size_t count)
{
    struct sheet sheet = { .call = call, .members = contributions, .member_count = count };
    int code = ledgerbatch_parameter(call, "reciprocal")
                   ? 0
                   : ledgerbatch_fail(call, "the parameter 'reciprocal' is missing");
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = add_member(&sheet, &contributions[i]);
    }
    code = code || report(&sheet);
    for (size_t i = 0; i < sheet.count; i++) {
        free(sheet.lines[i].name);
    }
    free(sheet.lines);
    return code;
}

const struct ledgerbatch_step ledgerbatch_step = {
    .abi = LEDGERBATCH_STEP_ABI, .mode = LEDGERBATCH_STEP_CUT, .visit = visit, .group = group
};
