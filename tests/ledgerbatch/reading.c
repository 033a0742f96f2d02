/* Owns the temporary file of a journal under test, and the account of its result. */
#include "reading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/test.h"

static char result[8192];

bool reading_plan(struct plan *plan, const char *text, struct problem *problem)
{
    char path[] = "/tmp/ledgerbatch-test-XXXXXX";
    int file = mkstemp(path);
    expect(file >= 0);
    size_t size = strlen(text);
    expect(write(file, text, size) == (ssize_t)size);
    close(file);
    const char *files[] = { path };
    bool planned = plan_make(plan, files, 1, problem);
    unlink(path);
    return planned;
}

static void add_balances(const struct plan *plan)
{
    size_t used = 0;
    result[0] = 0;
    for (uint32_t cell = 0; cell < plan->clients.cell_count; cell++) {
        const struct client_cell *place = &plan->clients.cells[cell];
        const struct commodity *commodity = &plan->book.commodities[place->commodity];
        char amount[AMOUNT_TEXT_SIZE];
        int64_t sum = 0;
        for (size_t i = 0; i < plan->book.transaction_count; i++) {
            const struct transaction *transaction = &plan->book.transactions[i];
            for (uint32_t j = 0; j < transaction->posting_count; j++) {
                const struct posting *posting =
                    &plan->book.postings[transaction->first_posting + j];
                sum += posting->cell == cell ? posting->amount : 0;
            }
        }
        amount[amount_write(amount, sum, commodity->storage_scale, commodity->scale)] = 0;
        struct slice name = book_account_name(&plan->book, place->account);
        struct slice symbol = book_symbol(&plan->book, place->commodity);
        used += (size_t)snprintf(result + used, sizeof result - used, "%.*s %s %.*s\n",
                                 SLICE_ARGUMENTS(name), amount, SLICE_ARGUMENTS(symbol));
        expect(used < sizeof result);
    }
}

/* The name of the temporary file differs each time: "FILE" stands for it. */
static void add_problem(const struct problem *problem)
{
    const char *colon = strchr(problem->text, ':');
    snprintf(result, sizeof result, "%s%s", problem->has_place ? "FILE" : "",
             problem->has_place && colon ? colon : problem->text);
}

const char *reading_result_with(const struct rules *rules, const char *text)
{
    struct plan plan;
    struct problem problem;
    plan_init(&plan);
    plan.rules = *rules;
    if (reading_plan(&plan, text, &problem)) {
        add_balances(&plan);
    } else {
        add_problem(&problem);
    }
    plan_fini(&plan);
    return result;
}

const char *reading_result(const char *text)
{
    struct rules rules;
    rules_init(&rules);
    return reading_result_with(&rules, text);
}

const char *reading_csv_result(const char *text)
{
    struct rules rules;
    rules_init(&rules);
    rules.csv = true;
    return reading_result_with(&rules, text);
}
