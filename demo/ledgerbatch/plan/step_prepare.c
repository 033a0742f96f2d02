/* Owns the `prepare` calls; see plan/step_prepare.h. */
#include "plan/step_prepare.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "plan/accounts.h"
#include "plan/step_tables.h"
#include "step/step_crash.h"

struct client_account {
    struct slice client, account, symbol;
    uint32_t commodity;
};

struct preparation {
    struct ledgerbatch_call call; /* must be first */
    struct book *book;
    const struct rules *rules;
    const struct user_step *user;
    struct slice client;
    struct problem *problem;
    bool failed;
};

static int fail(struct ledgerbatch_call *call, const char *reason)
{
    struct preparation *preparation = (struct preparation *)call;
    if (!preparation->failed) {
        problem_set(preparation->problem, EXIT_CODE_INPUT,
                    "the step %s fails to prepare the client '%.*s': %.200s",
                    preparation->user->name, SLICE_ARGUMENTS(preparation->client), reason);
    }
    preparation->failed = true;
    return 1;
}

static bool is_allowed(const struct preparation *preparation, struct slice account)
{
    struct slice client;
    if (patterns_match(&preparation->rules->commutative, account)) {
        return patterns_match(&preparation->user->house, account);
    }
    return account_client(account, preparation->rules->client_depth, &client) &&
           slice_equal(client, preparation->client);
}

static int add_account(struct ledgerbatch_call *call, const char *account, uint32_t commodity)
{
    struct preparation *preparation = (struct preparation *)call;
    char reason[200];
    if (preparation->failed) {
        return 1;
    }
    if (commodity >= call->commodity_count) {
        return fail(call, "it adds an account in a commodity that there is not");
    }
    if (!is_allowed(preparation, slice_of(account))) {
        snprintf(reason, sizeof reason,
                 "it adds '%.100s', which is neither an account of this client nor a house account "
                 "of its rule",
                 account);
        return fail(call, reason);
    }
    uint32_t number = book_account(preparation->book, slice_of(account), 0, 0);
    book_cell(preparation->book, number, commodity);
    return 0;
}

static int refuse_post(struct ledgerbatch_call *call, const char *account, uint32_t commodity,
                       int64_t units)
{
    (void)account;
    (void)commodity;
    (void)units;
    return fail(call, "it posts");
}

static int refuse_contribute(struct ledgerbatch_call *call, const void *bytes, size_t size)
{
    (void)bytes;
    (void)size;
    return fail(call, "it contributes");
}

static int refuse_value(struct ledgerbatch_call *call, uint32_t commodity, int64_t units,
                        uint32_t currency, int64_t *value)
{
    (void)commodity;
    (void)units;
    (void)currency;
    *value = 0;
    return fail(call, "it asks for a price");
}

static int refuse_text(struct ledgerbatch_call *call, const char *text)
{
    (void)text;
    return fail(call, "it reports");
}

static int refuse_amount(struct ledgerbatch_call *call, uint32_t commodity, int64_t units)
{
    (void)commodity;
    (void)units;
    return fail(call, "it reports");
}

static int refuse_end(struct ledgerbatch_call *call)
{
    return fail(call, "it reports");
}

static const struct ledgerbatch_host prepare_host = { .fail = fail,
                                                      .add_account = add_account,
                                                      .post = refuse_post,
                                                      .contribute = refuse_contribute,
                                                      .value = refuse_value,
                                                      .report_text = refuse_text,
                                                      .report_amount = refuse_amount,
                                                      .report_end = refuse_end };

static int compare_accounts(const void *left, const void *right)
{
    const struct client_account *a = left;
    const struct client_account *b = right;
    int order = slice_compare(a->client, b->client);
    order = order ? order : slice_compare(a->account, b->account);
    return order ? order : slice_compare(a->symbol, b->symbol);
}

/* Lists the accounts of clients, sorted. The caller frees the list. */
static struct client_account *list_accounts(const struct book *book, const struct rules *rules,
                                            size_t *count)
{
    struct client_account *list = memory_zeroed(book->cell_count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; i < book->cell_count; i++) {
        struct cell cell = book->cells[i];
        struct client_account *next = &list[*count];
        *next = (struct client_account){ .account = book_account_name(book, cell.account),
                                         .symbol = book_symbol(book, cell.commodity),
                                         .commodity = cell.commodity };
        *count += !patterns_match(&rules->commutative, next->account) &&
                  account_client(next->account, rules->client_depth, &next->client);
    }
    qsort(list, *count, sizeof *list, compare_accounts);
    return list;
}

/* Calls `prepare` for the client of the list's first account. Sets *count to how many it has. */
static bool prepare_client(struct preparation *preparation, const struct client_account *list,
                           size_t left, size_t *count)
{
    char *name = memory_zeroed(list->client.size + 1, 1);
    char line[STEP_CRASH_LINE_SIZE];
    struct ledgerbatch_account *accounts = memory_zeroed(left, sizeof *accounts);
    for (*count = 0; *count < left && slice_equal(list[*count].client, list->client); ++*count) {
        accounts[*count] = (struct ledgerbatch_account){ .name = list[*count].account.data,
                                                         .commodity = list[*count].commodity };
    }
    memcpy(name, list->client.data, list->client.size);
    struct ledgerbatch_client client = { name, accounts, *count };
    preparation->client = list->client;
    step_crash_enter(line, "the step %s has crashed while it prepared the client '%s'",
                     preparation->user->name, name);
    int code = preparation->user->object.step->prepare(&preparation->call, &client);
    step_crash_leave();
    if (code != 0 && !preparation->failed) {
        fail(&preparation->call, "it gives no reason");
    }
    free(accounts);
    free(name);
    return !preparation->failed;
}

static bool prepare_step(struct book *book, const struct rules *rules, const struct user_step *user,
                         struct problem *problem)
{
    size_t count;
    size_t done = 0;
    struct ledgerbatch_commodity *commodities = step_tables_commodities(book);
    struct client_account *list = list_accounts(book, rules, &count);
    struct preparation preparation = { .book = book,
                                       .rules = rules,
                                       .user = user,
                                       .problem = problem,
                                       .call = { .host = &prepare_host,
                                                 .step = user->name,
                                                 .group = "",
                                                 .commodities = commodities,
                                                 .commodity_count = book->commodity_names.count,
                                                 .parameters = user->parameters,
                                                 .parameter_count = user->parameter_count } };
    bool prepared = true;
    while (prepared && done < count) {
        size_t accounts;
        prepared = prepare_client(&preparation, list + done, count - done, &accounts);
        done += accounts;
    }
    free(list);
    free(commodities);
    return prepared;
}

bool step_prepare(struct book *book, const struct rules *rules, struct problem *problem)
{
    bool prepared = true;
    for (size_t i = 0; prepared && i < rules->steps.count; i++) {
        const struct user_step *user = rules->steps.items[i].user;
        if (user && user->object.step->prepare) {
            prepared = prepare_step(book, rules, user, problem);
        }
    }
    return prepared;
}
