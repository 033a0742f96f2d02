/* Owns the calls of user's steps, and the checks of what they ask for; see batch/step_call.h. */
#include "batch/step_call.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/syntax.h"
#include "memory.h"
#include "plan/accounts.h"
#include "step/step_crash.h"

#define CONTRIBUTION_SIZE_MAX ((size_t)1 << 20)
#define REPORT_SIZE_MAX       ((size_t)64 << 20)

static const struct plan *plan_of(const struct step_call *call)
{
    return call->batch->plan;
}

static const struct user_step *user_of(const struct step_call *call)
{
    return plan_user_step(plan_of(call), call->task);
}

static int __attribute__((format(printf, 2, 3)))
fail_format(struct step_call *call, const char *format, ...)
{
    if (!call->failed) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(call->reason, sizeof call->reason, format, arguments);
        va_end(arguments);
    }
    call->failed = true;
    return 1;
}

static int fail(struct ledgerbatch_call *call, const char *reason)
{
    return fail_format((struct step_call *)call, "%.200s", reason);
}

/* --- postings --- */

static int compare_cell_name(const struct plan *plan, uint32_t number, struct slice name,
                             uint32_t commodity)
{
    const struct client_cell *cell = &plan->clients.cells[number];
    int order = slice_compare(book_account_name(&plan->book, cell->account), name);
    return order ? order
                 : slice_compare(book_symbol(&plan->book, cell->commodity),
                                 book_symbol(&plan->book, commodity));
}

/* Returns the cell of a client's account in a commodity, or NO_INDEX. Its cells are sorted. */
static uint32_t find_client_cell(const struct plan *plan, uint32_t client, struct slice name,
                                 uint32_t commodity)
{
    uint32_t begin = plan->clients.items[client].first_cell;
    uint32_t end = begin + plan->clients.items[client].cell_count;
    while (begin < end) {
        uint32_t middle = begin + (end - begin) / 2;
        int order = compare_cell_name(plan, middle, name, commodity);
        if (order == 0) {
            return middle;
        }
        begin = order < 0 ? middle + 1 : begin;
        end = order < 0 ? end : middle;
    }
    return NO_INDEX;
}

static uint32_t find_house_cell(const struct step_call *call, struct slice name, uint32_t commodity)
{
    const struct user_step *user = user_of(call);
    for (size_t i = 0; i < user->house_cell_count; i++) {
        if (compare_cell_name(plan_of(call), user->house_cells[i], name, commodity) == 0) {
            return user->house_cells[i];
        }
    }
    return NO_INDEX;
}

static int compare_clients(const void *left, const void *right)
{
    return slice_compare(((const struct client *)left)->name, ((const struct client *)right)->name);
}

/* Returns the client whose account this is by its name, or NO_INDEX. */
static uint32_t find_owner(const struct plan *plan, struct slice name)
{
    struct client key = { .group = 0 };
    if (patterns_match(&plan->rules.commutative, name) ||
        !account_client(name, plan->rules.client_depth, &key.name)) {
        return NO_INDEX;
    }
    const struct client *found = bsearch(&key, plan->clients.items, plan->clients.count,
                                         sizeof *plan->clients.items, compare_clients);
    return found ? (uint32_t)(found - plan->clients.items) : NO_INDEX;
}

/* A visit may post for its client, and the `group` of a blocking step for its group. */
static bool may_post_for(const struct step_call *call, uint32_t client)
{
    if (client == NO_INDEX || call->client != NO_INDEX) {
        return client != NO_INDEX && client == call->client;
    }
    return user_step_is_blocking(user_of(call)) &&
           plan_of(call)->clients.items[client].group == call->task->subject;
}

static int add_posting(struct step_call *call, uint32_t cell, int64_t units)
{
    call->postings =
        memory_grow(call->postings, &call->capacity, call->count + 1, sizeof *call->postings);
    call->postings[call->count++] = (struct step_posting){ cell, units };
    return 0;
}

static int post(struct ledgerbatch_call *base, const char *account, uint32_t commodity,
                int64_t units)
{
    struct step_call *call = (struct step_call *)base;
    struct slice name = slice_of(account);
    if (call->failed) {
        return 1;
    }
    if (commodity >= base->commodity_count || !amount_fits(units)) {
        return fail_format(call,
                           "it posts %" PRId64 " units of commodity %u to '%.100s': there is "
                           "no such commodity, or these are too many digits",
                           units, commodity, account);
    }
    uint32_t house = find_house_cell(call, name, commodity);
    if (house != NO_INDEX) {
        return add_posting(call, house, units);
    }
    uint32_t owner = find_owner(plan_of(call), name);
    if (!may_post_for(call, owner)) {
        return fail_format(call,
                           "it posts to '%.100s', which it may not: that is no account of a client "
                           "that it has, and no house account of its rule",
                           account);
    }
    uint32_t cell = find_client_cell(plan_of(call), owner, name, commodity);
    if (cell == NO_INDEX) {
        return fail_format(call, "it posts %s to '%.100s', an account that it has not prepared",
                           base->commodities[commodity].symbol, account);
    }
    return add_posting(call, cell, units);
}

static int compare_postings(const void *left, const void *right)
{
    uint32_t a = ((const struct step_posting *)left)->cell;
    uint32_t b = ((const struct step_posting *)right)->cell;
    return (a > b) - (a < b);
}

/* Adds up the postings to each cell. Returns false if a sum has too many digits. */
static bool merge_postings(struct step_call *call)
{
    size_t kept = 0;
    if (call->count > 0) {
        qsort(call->postings, call->count, sizeof *call->postings, compare_postings);
    }
    for (size_t i = 0; i < call->count;) {
        wide sum = 0;
        uint32_t cell = call->postings[i].cell;
        for (; i < call->count && call->postings[i].cell == cell; i++) {
            sum += call->postings[i].amount;
        }
        if (!amount_fits(sum)) {
            return false;
        }
        call->postings[kept] = (struct step_posting){ cell, (int64_t)sum };
        kept += sum != 0;
    }
    call->count = kept;
    return true;
}

/* Checks that the postings add up to zero in each commodity. */
static void check_postings(struct step_call *call)
{
    const struct plan *plan = plan_of(call);
    if (!merge_postings(call)) {
        fail_format(call, "what it posts has too many digits");
        return;
    }
    size_t commodity_count = call->count > 0 ? call->call.commodity_count : 0;
    wide *sums = memory_zeroed(commodity_count + 1, sizeof *sums);
    for (size_t i = 0; i < call->count; i++) {
        sums[plan->clients.cells[call->postings[i].cell].commodity] += call->postings[i].amount;
    }
    for (size_t i = 0; i < commodity_count; i++) {
        if (sums[i] != 0) {
            char text[AMOUNT_TEXT_SIZE];
            const struct ledgerbatch_commodity *commodity = &call->call.commodities[i];
            size_t size =
                amount_write(text, sums[i], commodity->decimals, commodity->shown_decimals);
            fail_format(call, "what it posts does not balance: it adds up to %.*s %s", (int)size,
                        text, commodity->symbol);
        }
    }
    free(sums);
}

/* --- what else a step may ask for --- */

static int refuse_account(struct ledgerbatch_call *call, const char *account, uint32_t commodity)
{
    (void)account;
    (void)commodity;
    return fail(call, "it adds an account, which only `prepare` may");
}

static int contribute(struct ledgerbatch_call *base, const void *bytes, size_t size)
{
    struct step_call *call = (struct step_call *)base;
    if (call->client == NO_INDEX) {
        return fail(base, "it contributes, which only `visit` may");
    }
    if (size > CONTRIBUTION_SIZE_MAX - call->contribution.size) {
        return fail(base, "it contributes more than 1 MiB");
    }
    if (size > 0) {
        buffer_add(&call->contribution, (struct slice){ bytes, size });
    }
    return call->failed;
}

static const struct ledgerbatch_price *find_price(const struct ledgerbatch_call *call,
                                                  uint32_t commodity, uint32_t currency)
{
    for (size_t i = 0; i < call->price_count; i++) {
        if (call->prices[i].commodity == commodity && call->prices[i].currency == currency) {
            return &call->prices[i];
        }
    }
    return NULL;
}

/*
 * Computes units x price at the decimals that the currency shows, then in its units. The product
 * has at most 36 digits. Returns false if the value has too many digits.
 */
static bool compute_value(const struct ledgerbatch_commodity *commodity,
                          const struct ledgerbatch_commodity *currency,
                          const struct ledgerbatch_price *price, int64_t units, int64_t *value)
{
    unsigned decimals = commodity->decimals + price->decimals;
    wide shown = (wide)units * price->units;
    if (decimals > currency->shown_decimals) {
        unsigned dropped = decimals - currency->shown_decimals;
        shown = dropped > AMOUNT_SCALE_MAX
                    ? 0
                    : divide_rounded(shown, power_of_ten(dropped), ROUND_HALF_EVEN);
    } else if (__builtin_mul_overflow(shown, power_of_ten(currency->shown_decimals - decimals),
                                      &shown)) {
        return false;
    }
    wide stored;
    if (__builtin_mul_overflow(shown, power_of_ten(currency->decimals - currency->shown_decimals),
                               &stored) ||
        !amount_fits(stored)) {
        return false;
    }
    *value = (int64_t)stored;
    return true;
}

static int value_of(struct ledgerbatch_call *base, uint32_t commodity, int64_t units,
                    uint32_t currency, int64_t *value)
{
    struct step_call *call = (struct step_call *)base;
    *value = 0;
    if (call->failed) {
        return 1;
    }
    if (commodity >= base->commodity_count || currency >= base->commodity_count ||
        !amount_fits(units)) {
        return fail(base, "it asks for the value of what is no amount");
    }
    if (commodity == currency) {
        *value = units;
        return 0;
    }
    const struct ledgerbatch_price *price = find_price(base, commodity, currency);
    if (!price) {
        return fail_format(call, "there is no price of %.40s in %.40s up to %04u-%02u-%02u",
                           base->commodities[commodity].symbol, base->commodities[currency].symbol,
                           base->last_day / 10000, base->last_day / 100 % 100,
                           base->last_day % 100);
    }
    return compute_value(&base->commodities[commodity], &base->commodities[currency], price, units,
                         value)
               ? 0
               : fail(base, "a value has too many digits");
}

/* --- the report --- */

/* Begins a field. Returns false if the call may not report, or the report is too long. */
static bool begin_field(struct step_call *call)
{
    if (call->client != NO_INDEX) {
        fail_format(call, "it reports, which only `group` may");
    } else if (call->report.size > REPORT_SIZE_MAX) {
        fail_format(call, "it reports more than 64 MiB");
    } else if (call->is_inside_line) {
        buffer_add_byte(&call->report, ',');
    }
    call->is_inside_line = true;
    return !call->failed;
}

static int report_text(struct ledgerbatch_call *base, const char *text)
{
    struct step_call *call = (struct step_call *)base;
    if (begin_field(call)) {
        buffer_add_field(&call->report, slice_of(text));
    }
    return call->failed;
}

static int report_amount(struct ledgerbatch_call *base, uint32_t commodity, int64_t units)
{
    struct step_call *call = (struct step_call *)base;
    if (commodity >= base->commodity_count) {
        return fail(base, "it reports an amount of no commodity");
    }
    if (begin_field(call)) {
        char *room = buffer_room(&call->report, AMOUNT_TEXT_SIZE);
        call->report.size += amount_write(room, units, base->commodities[commodity].decimals,
                                          base->commodities[commodity].shown_decimals);
    }
    return call->failed;
}

static int report_end(struct ledgerbatch_call *base)
{
    struct step_call *call = (struct step_call *)base;
    if (call->client != NO_INDEX) {
        return fail(base, "it reports, which only `group` may");
    }
    buffer_add_byte(&call->report, '\n');
    call->is_inside_line = false;
    return call->failed;
}

static const struct ledgerbatch_host call_host = { .fail = fail,
                                                   .add_account = refuse_account,
                                                   .post = post,
                                                   .contribute = contribute,
                                                   .value = value_of,
                                                   .report_text = report_text,
                                                   .report_amount = report_amount,
                                                   .report_end = report_end };

/* --- the calls --- */

static void begin_call(struct step_call *call, struct batch *batch, const struct task *task,
                       uint32_t client)
{
    const struct plan *plan = batch->plan;
    const struct user_step *user = plan_user_step(plan, task);
    const struct month_prices *prices = step_tables_prices(&plan->step_tables, task->month);
    *call = (struct step_call){ .batch = batch,
                                .task = task,
                                .client = client,
                                .call = { .host = &call_host,
                                          .step = user->name,
                                          .group = plan->clients.groups[task->subject].name.data,
                                          .year = task->month / 12,
                                          .month = task->month % 12 + 1,
                                          .last_day = date_month_end(task->month),
                                          .commodities = plan->step_tables.commodities,
                                          .commodity_count = plan->book.commodity_names.count,
                                          .prices = prices->items,
                                          .price_count = prices->count,
                                          .parameters = user->parameters,
                                          .parameter_count = user->parameter_count } };
}

/* Takes the result of the call, and checks what it has asked for. */
static bool end_call(struct step_call *call, int code)
{
    if (code != 0 && !call->failed) {
        fail_format(call, "it gives no reason");
    }
    if (call->is_inside_line) {
        buffer_add_byte(&call->report, '\n');
    }
    if (!call->failed) {
        check_postings(call);
    }
    return !call->failed;
}

/* Lists the accounts of the client with a balance. The caller frees the list. */
static struct ledgerbatch_account *list_accounts(const struct batch *batch,
                                                 const struct client *client, size_t *count)
{
    const struct plan *plan = batch->plan;
    struct ledgerbatch_account *list = memory_zeroed((size_t)client->cell_count + 1, sizeof *list);
    *count = 0;
    for (uint32_t i = client->first_cell; i < client->first_cell + client->cell_count; i++) {
        const struct client_cell *cell = &plan->clients.cells[i];
        if (batch->balances[i] != 0) {
            list[(*count)++] =
                (struct ledgerbatch_account){ book_account_name(&plan->book, cell->account).data,
                                              cell->commodity, batch->balances[i] };
        }
    }
    return list;
}

/* Client names are parts of account names, but interned by themselves: they end with a zero byte.
 */
static const char *client_name(const struct plan *plan, uint32_t client)
{
    return plan->clients.items[client].name.data;
}

static bool visit_once(struct step_call *call, struct batch *batch, const struct task *task,
                       uint32_t number)
{
    const struct user_step *user = plan_user_step(batch->plan, task);
    const struct client *client = &batch->plan->clients.items[number];
    char line[STEP_CRASH_LINE_SIZE];
    size_t count;
    struct ledgerbatch_account *accounts = list_accounts(batch, client, &count);
    struct ledgerbatch_client visited = { client_name(batch->plan, number), accounts, count };
    begin_call(call, batch, task, number);
    step_crash_enter(line,
                     "the step %s has crashed at its visit of the client '%.100s', in the group "
                     "'%s', month %u-%02u, task %u",
                     user->name, visited.name, call->call.group, call->call.year, call->call.month,
                     task->seq);
    int code = user->object.step->visit(&call->call, &visited);
    step_crash_leave();
    free(accounts);
    return end_call(call, code);
}

static bool group_once(struct step_call *call, struct batch *batch, const struct task *task,
                       const struct step_contributions *contributions)
{
    const struct plan *plan = batch->plan;
    const struct user_step *user = plan_user_step(plan, task);
    const struct group *group = &plan->clients.groups[task->subject];
    char line[STEP_CRASH_LINE_SIZE];
    struct ledgerbatch_contribution *list = memory_zeroed(contributions->count + 1, sizeof *list);
    for (size_t i = 0; i < contributions->count; i++) {
        uint32_t member = plan->clients.members[group->first_member + i];
        list[i] = (struct ledgerbatch_contribution){ client_name(plan, member),
                                                     contributions->items[i].data,
                                                     contributions->items[i].size };
    }
    begin_call(call, batch, task, NO_INDEX);
    step_crash_enter(line,
                     "the step %s has crashed in its function for the group '%s', month %u-%02u, "
                     "task %u",
                     user->name, call->call.group, call->call.year, call->call.month, task->seq);
    int code = user->object.step->group(&call->call, list, contributions->count);
    step_crash_leave();
    free(list);
    return end_call(call, code);
}

static bool is_same_text(const struct buffer *a, const struct buffer *b)
{
    return slice_equal(buffer_slice(a), buffer_slice(b));
}

/* Compares two calls with the same arguments, the second of which is ended here. */
static bool compare_calls(struct step_call *call, struct step_call *again)
{
    bool is_same = call->failed == again->failed && call->count == again->count &&
                   is_same_text(&call->contribution, &again->contribution) &&
                   is_same_text(&call->report, &again->report);
    for (size_t i = 0; is_same && i < call->count; i++) {
        is_same = call->postings[i].cell == again->postings[i].cell &&
                  call->postings[i].amount == again->postings[i].amount;
    }
    if (!is_same) {
        call->failed = false;
        fail_format(call, "it is not deterministic: two calls with the same arguments differ");
    }
    step_call_fini(again);
    return !call->failed;
}

bool step_call_visit(struct step_call *call, struct batch *batch, const struct task *task,
                     uint32_t client)
{
    bool done = visit_once(call, batch, task, client);
    if (batch->calls_steps_twice) {
        struct step_call again;
        (void)visit_once(&again, batch, task, client);
        done = compare_calls(call, &again);
    }
    return done;
}

bool step_call_group(struct step_call *call, struct batch *batch, const struct task *task,
                     const struct step_contributions *contributions)
{
    bool done = group_once(call, batch, task, contributions);
    if (batch->calls_steps_twice) {
        struct step_call again;
        (void)group_once(&again, batch, task, contributions);
        done = compare_calls(call, &again);
    }
    return done;
}

void step_call_fini(struct step_call *call)
{
    free(call->postings);
    buffer_fini(&call->contribution);
    buffer_fini(&call->report);
}
