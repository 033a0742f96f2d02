/*
 * Owns the SmallBank generator. As in the published benchmark there are six kinds of transaction,
 * and 40 per cent of all transactions touch two customers. A hot set of 100 customers gets a
 * quarter of all. Cash is posted to one house account, Bank:Cash. Amounts are in cents.
 */
#include "generate/smallbank.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/syntax.h"
#include "memory.h"

#define HOT_CUSTOMERS  100
#define HOT_PER_CENT   25
#define FIRST_YEAR     2020
#define DAYS_A_MONTH   28
#define OPENING_MIN    10000
#define OPENING_SPREAD 490000
#define OVERDRAFT_FEE  100

struct generator {
    const struct generate_options *options;
    uint64_t state;
    int64_t *checking, *savings; /* by customer */
    unsigned long number;        /* of the transaction */
};

/* Returns the next number of splitmix64, which depends only on the seed. */
static uint64_t next_random(struct generator *generator)
{
    uint64_t z = generator->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint64_t random_below(struct generator *generator, uint64_t bound)
{
    return next_random(generator) % bound;
}

static unsigned long pick_customer(struct generator *generator)
{
    unsigned long customers = generator->options->customers;
    bool hot = random_below(generator, 100) < HOT_PER_CENT;
    uint64_t bound = hot && customers > HOT_CUSTOMERS ? HOT_CUSTOMERS : customers;
    return (unsigned long)random_below(generator, bound);
}

/* Picks a second customer; if there is only one customer, it is the same. */
static unsigned long pick_other(struct generator *generator, unsigned long first)
{
    unsigned long other = pick_customer(generator);
    return other != first ? other : (first + 1) % generator->options->customers;
}

static void print_amount(int64_t cents)
{
    printf("%s%lld.%02lld USD\n", cents < 0 ? "-" : "",
           (long long)(cents < 0 ? -cents : cents) / 100,
           (long long)(cents < 0 ? -cents : cents) % 100);
}

static void print_heading(const struct generator *generator, unsigned long place,
                          unsigned long total, const char *text)
{
    char date[11] = { 0 };
    uint64_t days = (uint64_t)generator->options->months * DAYS_A_MONTH;
    uint64_t day = total ? place * days / total : 0;
    uint32_t month = (uint32_t)(day / DAYS_A_MONTH);
    date_write(date, (FIRST_YEAR + month / 12) * 10000 + (month % 12 + 1) * 100 +
                         (uint32_t)(day % DAYS_A_MONTH) + 1);
    printf("\n%s * (%lu) %s\n", date, generator->number, text);
}

static void change_balance(struct generator *generator, unsigned long customer, bool is_savings,
                           int64_t cents)
{
    int64_t *balance = is_savings ? generator->savings : generator->checking;
    balance[customer] += cents;
    printf("    C%06lu:%s  ", customer + 1, is_savings ? "Savings" : "Checking");
    print_amount(cents);
}

static void change_cash(int64_t cents)
{
    fputs("    Bank:Cash  ", stdout);
    print_amount(cents);
}

static void amalgamate_accounts(struct generator *generator, unsigned long from)
{
    unsigned long to = pick_other(generator, from);
    int64_t checking = generator->checking[from];
    int64_t savings = generator->savings[from];
    change_balance(generator, from, true, -savings);
    change_balance(generator, from, false, -checking);
    change_balance(generator, to, false, checking + savings);
}

static void send_payment(struct generator *generator, unsigned long from)
{
    unsigned long to = pick_other(generator, from);
    int64_t cents = (int64_t)random_below(generator, 5000) + 1;
    change_balance(generator, from, false, -cents);
    change_balance(generator, to, false, cents);
}

/* Queries both accounts: posts zeros, so that it has its place in the client's order. */
static void query_balances(struct generator *generator, unsigned long customer)
{
    change_balance(generator, customer, false, 0);
    change_balance(generator, customer, true, 0);
}

static void exchange_cash(struct generator *generator, unsigned long customer, bool is_savings,
                          int64_t cents)
{
    change_balance(generator, customer, is_savings, cents);
    change_cash(-cents);
}

static void write_check(struct generator *generator, unsigned long customer)
{
    int64_t cents = (int64_t)random_below(generator, 10000) + 1;
    if (generator->checking[customer] + generator->savings[customer] < cents) {
        cents += OVERDRAFT_FEE;
    }
    exchange_cash(generator, customer, false, -cents);
}

static void transact_savings(struct generator *generator, unsigned long customer)
{
    int64_t cents = (int64_t)random_below(generator, 20000) - 8000;
    exchange_cash(generator, customer, true, cents);
}

static void print_transaction(struct generator *generator, unsigned long place)
{
    static const struct {
        unsigned up_to; /* per cent, running total */
        const char *text;
    } mix[] = { { 15, "Amalgamate" },  { 30, "Balance" },         { 45, "DepositChecking" },
                { 70, "SendPayment" }, { 85, "TransactSavings" }, { 100, "WriteCheck" } };
    uint64_t draw = random_below(generator, 100);
    unsigned long customer = pick_customer(generator);
    size_t kind = 0;
    while (draw >= mix[kind].up_to) {
        kind++;
    }
    generator->number++;
    print_heading(generator, place, generator->options->transactions, mix[kind].text);
    switch (kind) {
    case 0:
        amalgamate_accounts(generator, customer);
        break;
    case 1:
        query_balances(generator, customer);
        break;
    case 2:
        exchange_cash(generator, customer, false, (int64_t)random_below(generator, 20000) + 1);
        break;
    case 3:
        send_payment(generator, customer);
        break;
    case 4:
        transact_savings(generator, customer);
        break;
    default:
        write_check(generator, customer);
        break;
    }
}

static void open_accounts(struct generator *generator)
{
    for (unsigned long i = 0; i < generator->options->customers; i++) {
        int64_t checking = OPENING_MIN + (int64_t)random_below(generator, OPENING_SPREAD);
        int64_t savings = OPENING_MIN + (int64_t)random_below(generator, OPENING_SPREAD);
        generator->number++;
        print_heading(generator, 0, 0, "Opening balances");
        change_balance(generator, i, false, checking);
        change_balance(generator, i, true, savings);
        change_cash(-checking - savings);
    }
}

bool generate_smallbank(const struct generate_options *options, struct problem *problem)
{
    struct generator generator = { .options = options, .state = options->seed };
    generator.checking = memory_zeroed(options->customers, sizeof *generator.checking);
    generator.savings = memory_zeroed(options->customers, sizeof *generator.savings);
    printf("; SmallBank: %lu customers, %lu transactions, %lu months, seed %lu\n",
           options->customers, options->transactions, options->months, options->seed);
    open_accounts(&generator);
    for (unsigned long i = 0; i < options->transactions; i++) {
        print_transaction(&generator, i);
    }
    free(generator.checking);
    free(generator.savings);
    if (ferror(stdout) || fflush(stdout) != 0) {
        return problem_set(problem, EXIT_CODE_IO, "standard output: %s", strerror(errno));
    }
    return true;
}
